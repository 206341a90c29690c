"""What reads a job: what it printed, what happened to it."""

from outlive import limits
from outlive.answers.reading import Events, Log, Polled, Tail, Wait
from outlive.core.records import READ, STREAMS
from outlive.verbs.shared_args import CONDITIONS, with_those_of_parts
from outlive.verbs.spec import (
    BOOL,
    BUDGET,
    INT,
    ITEMS,
    JOB,
    MAX_BYTES,
    MS,
    RAW,
    SHOW,
    SINCE_SEQ,
    STR,
    STRS,
    Arg,
    Verb,
)

POLL = Verb(
    "poll",
    "Read new output since a position, and the state.",
    "outlive.verbs.poll:poll",
    group="Read and wait",
    args=(JOB, *with_those_of_parts((
        SINCE_SEQ,
        Arg("timeout_ms", MS, "Wait at most this long for output, a prompt or the end; 0: not at all.", default=0, minimum=0,
            metavar="DURATION", mcp_help="wait for news so long"),
        MAX_BYTES,
        RAW,
        SHOW,
    )),),
    right=READ,
    result=Polled,
)  # fmt: skip
LOG = Verb(
    "log",
    "Read output by line, by position, or search it.",
    "outlive.verbs.log:log",
    group="Read and wait",
    long=True,
    args=(*with_those_of_parts((
        JOB,
        Arg("offset", INT, "First line, from 0; -5: the fifth from the end.", metavar="LINE",
            mcp_help="from 0; -5: the last 5 (default: the end)"),
        Arg("limit", INT, f"How many lines (default: the last {limits.LOG_LINES}).", minimum=0, metavar="N",
            mcp_help=f"(default {limits.LOG_LINES}; from offset on: all)"),
        SINCE_SEQ,
        Arg("stream", STR, "Which stream; positions and lines are then those of that stream's log.", default="both",
            choices=tuple(STREAMS), mcp_help="(default both)"),
        Arg("search", STR, "Show only lines that match this RE2 pattern, with their numbers.", metavar="PATTERN",
            mcp_help="lines matching this RE2"),
        Arg("context", INT, f"Lines around each match (default {limits.SEARCH_CONTEXT_LINES}).", minimum=0,
            maximum=100, metavar="N", hidden="mcp"),
        MAX_BYTES,
        RAW,
        Arg("times", BOOL, "Say when each line was printed.", default=False, hidden="mcp"),
        Arg("follow", BOOL, "Show the last 10 lines, or from --limit, --offset or --since-seq on, then what is printed, until the "
            "job, or each of the jobs, has ended; no answer follows. Of --search only the lines that match.", default=False, mcp="", short="-f"),
        Arg("propagate", BOOL, "With --follow: exit with the job's exit code.", default=False, mcp=""),
    )),),
    right=READ,
    result=Log,
)  # fmt: skip
TAIL = Verb(
    "tail",
    "Read the last lines of both streams as exact text.",
    "outlive.verbs.log:tail",
    group="Read and wait",
    args=(JOB, *with_those_of_parts((
        Arg("tail_lines", INT, "Lines of each stream.", default=limits.TAIL_LINES, minimum=0, metavar="N",
            aliases=("limit",), hidden="mcp"),
        Arg("max_bytes", INT, "Most bytes of each stream.", default=limits.TAIL_BYTES,
            mcp_default=limits.MCP_SHOWN_BYTES // 2, minimum=1,
            maximum=limits.MAX_SHOWN_BYTES, metavar="N", mcp_help=MAX_BYTES.mcp_help),
        Arg("stream", STR, "Which stream.", default="both", choices=tuple(STREAMS), mcp_help="(default both)"),
    )),),
    right=READ,
    result=Tail,
)  # fmt: skip
WAIT = Verb(
    "wait",
    "Wait until a job ends or another condition holds: matching output, a port, a file, silence.",
    "outlive.verbs.wait:wait",
    group="Read and wait",
    waits=True,
    args=(
        *with_those_of_parts((
            Arg("job", STRS, "The job or jobs; without one, whichever of yours ends first (CLI: of this directory).", default=(), cli="JOB", mcp="job_id",
                aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help="also a list; none: your first to end"),
        )),
        Arg("until", ITEMS, "What to wait for, any of: exit, output, input (a prompt), {regex, stream}, {fail_regex} "
            "(ends it early), {port, host, any}, {http: URL, status, any}, {file}, {idle_ms}. port and http hold for a listener of the job, "
            "with any: true for anybody's. CLI: Write regex=PATTERN, port=8080, 'port=8080 any' and so on.",
            default=("exit",), mcp_default=("exit", "input"), metavar="CONDITION",
            mcp_help=f"{CONDITIONS} (default exit, input)"),
        Arg("timeout_ms", MS, "Answer after this long in any case (CLI: without limit by default).", minimum=0,
            mcp_default=30_000, metavar="DURATION", mcp_help="up to 50000 (default 30000)"),
        Arg("mode", STR, "Of several jobs: any one, or all.", default="any", choices=("any", "all"),
            mcp_help="of several jobs (default any)"),
        Arg("since_seq", INT, "Where output and matches count from; without it a match counts from the job's start.",
            minimum=0, aliases=("sinceSeq",), metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("poll_ms", MS, "Accepted, without effect: waiting is woken by events.", mcp="", cli="--poll-ms",
            hidden=True),
        MAX_BYTES,
        RAW,
        SHOW,
    ),
    right=READ,
    result=Wait,
    detail="The job's exit code is in the answer; the exit status of this command is 0 whatever it was.\n\n"
    "Conditions, for example: --until port=8080 --until port=localhost:8081 --until regex='ready in .* ms' --until fail_regex=ERROR; or "
    "http=http://127.0.0.1:8080/, file=build/app, idle=5s. With more: '{\"regex\":\"ready\",\"stream\":\"stderr\"}'.",
)  # fmt: skip
EVENTS = Verb(
    "events",
    "Show what happened to a job: start, watch hits, prompts, signals, notifications, end.",
    "outlive.verbs.events:events",
    group="Read and wait",
    args=(
        JOB,
        Arg("since_seq", INT, "Only events from this position of the output on.", minimum=0, aliases=("sinceSeq",),
            metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("since_event", INT, "Only events after this one (a next_event of an earlier answer).", minimum=0,
            metavar="N", hidden="mcp"),
        Arg("limit", INT, "At most this many; 0: all.", default=limits.EVENTS,
            mcp_default=limits.MCP_EVENTS, minimum=0, metavar="N",
            mcp_help="at most"),
        BUDGET,
        Arg("follow", BOOL, "Print each event as one line of JSON, and new ones as they come, until the job is over.", default=False,
            mcp="", short="-f"),
    ),
    right=READ,
    result=Events,
)  # fmt: skip
