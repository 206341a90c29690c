"""Wait for jobs."""

from __future__ import annotations

from outlive.answers.reading import Wait
from outlive.core.records import READ
from outlive.verbs.shared_args import CONDITIONS
from outlive.verbs.spec import INT, ITEMS, JOB, MAX_BYTES, MS, RAW, SHOW, SINCE_SEQ, STR, STRS, Arg, Verb

VERB = Verb(
    "wait",
    "Wait until a job ends or another condition holds: matching output, a port, a file, silence.",
    "outlive.verbs.wait:wait",
    args=(
        Arg("job", STRS, "The job or jobs; without one, whichever of yours ends first (CLI: of this directory).", default=(), cli="JOB", mcp="job_id",
            aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help="also a list, or none: the first of yours to end"),
        Arg("until", ITEMS, "What to wait for, any of: exit, output, input (a prompt), {regex, stream}, {fail_regex} "
            "(ends it early), {port, host, any}, {http: URL, status, any}, {file}, {idle_ms}. port and http hold for a listener of the job, "
            "with any: true for anybody's. CLI: Write regex=PATTERN, port=8080, 'port=8080 any' and so on.",
            default=("exit",), mcp_default=("exit", "input"), metavar="CONDITION",
            mcp_help=f"{CONDITIONS} (default exit, input)"),
        Arg("timeout_ms", MS, "Answer after this long in any case (CLI: without limit by default).", minimum=0,
            mcp_default=30_000, metavar="DURATION", mcp_help="answer after so long (default 30000)"),
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
