"""Arguments that several verbs declare alike: what a job is, what of its output an answer shows,
how long a call waits."""

from collections.abc import Iterable, Iterator

from outlive import limits, parts
from outlive.core.object_reference import resolve_name
from outlive.core.records import MATCH_TYPES, REGEX, STREAMS
from outlive.verbs.spec import BOOL, BYTES, ENV, INT, ITEMS, MS, PATH, SECONDS, SHOW, STR, STRS, WORDS, Arg

# What output is watched for. A CLI pattern is one word; the other members of a watch have flags of
# their own.
WATCHES = (
    Arg(
        "watch",
        ITEMS,
        "Output lines to report: RE2 patterns, or {pattern, match_type regex|contains, stream, once, command, file}; "
        "hits are events.",
        default=(),
        metavar="PATTERN",
        mcp_help="lines to report: RE2, or {pattern, match_type, stream, once}",
    ),
    Arg("watch_match_type", STR, "How --watch patterns match.", default=REGEX, choices=MATCH_TYPES, mcp=""),
    Arg("watch_stream", STR, "Stream that is searched.", default="both", choices=tuple(STREAMS), mcp=""),
    Arg("watch_once", BOOL, "Report the first hit only.", default=False, mcp=""),
    Arg("watch_command", STR, "Shell command that gets each hit on its stdin.", mcp="", metavar="COMMAND"),
    Arg("watch_file", PATH, "File that gets each hit as one line.", mcp="", metavar="FILE"),
)

HOST = Arg("host", STR, "Where to run it: a host of the configuration, or local (default: the configuration's, local).",
    section="hosts", metavar="NAME", mcp_help="")  # fmt: skip

# What an answer may wait for; the list of tools says it once
CONDITIONS = (
    "answer when one holds: exit, output, input (a prompt), {regex, stream}, {fail_regex}, {port}, {http: URL}, "
    "{file}, {idle_ms}, or words: regex=RE2, port=80"
)


def with_those_of_parts(own: Iterable[Arg]) -> Iterator[Arg]:
    """Yield the arguments of a verb, behind them those that parts add."""
    added = [one for part in parts.every() for one in part.arguments.items()]
    for arg in own:
        yield arg
        for behind, code in added:
            if behind == arg.name:
                yield from resolve_name(code)


# What a job is: the arguments that create keeps for later, and run and restart use at once.
_OWN = (
    Arg("command", WORDS, "The command: a shell string, or several words that run as they stand.", required=True,
        cli="COMMAND", metavar="COMMAND [ARG...]", mcp_help="A shell string, or words that run as they stand"),
    Arg("script", STR, "File with the shell string, instead of COMMAND; -: this command's stdin. At most 8 MiB.", mcp="",
        metavar="FILE|-", stands_for="command"),
    Arg("cwd", STR, "Directory to run in; must exist (default: the current one). A `cd` or `export` of another job does not "
        "last.", mcp="workdir", aliases=("cwd",), metavar="DIR",
        mcp_help="default: the server's; `cd` and `export` do not last"),
    Arg("env", ENV, "Environment variables to set, literal values.", metavar="NAME=VALUE", mcp_help="name: value"),
    Arg("env_file", STRS, "File of NAME=VALUE lines; a later file wins, --env wins over files.", default=(), mcp="",
        metavar="FILE"),
    Arg("mask", STRS, "Names of variables whose values are shown as *** (in output too) and never stored.", default=(), metavar="NAME",
        mcp_help="secret names in env"),
    Arg("timeout_ms", MS, "End the job after this long; 0: never.", default=0, minimum=0, cli="--timeout", mcp="",
        metavar="DURATION"),
    Arg("timeout_ms", SECONDS, "End it after so many seconds; 0, or background: never.", minimum=0, cli="",
        mcp="timeout", aliases=("timeoutSeconds", "timeout_seconds"), mcp_default=limits.MCP_TIMEOUT_S),
    Arg("idle_timeout_ms", MS, "End the job after so long without output; 0: never.", default=0, minimum=0,
        cli="--idle-timeout", metavar="DURATION", hidden="mcp"),
    Arg("kill_after_ms", MS, "Time between SIGTERM and SIGKILL when a time-out ends the job; 0: SIGKILL at once.",
        default=0, minimum=0, cli="--kill-after", mcp_default=limits.MCP_KILL_AFTER_MS, hidden="mcp",
        metavar="DURATION"),
    Arg("pty", BOOL, "Run the command in a terminal (120x30), for programs that ask, edit or draw.", default=False,
        mcp_help="A terminal: for programs that ask, edit or draw"),
    Arg("stdin", STR, "open: write works. closed: end of file at once. CLI also: - (this command's stdin), @FILE.",
        default="closed", metavar="open|closed|-|@FILE", mcp_help="open: write works; closed (default): end of file"),
    Arg("stdin_data", STR, "Text the command reads on its stdin.", metavar="TEXT", mcp_help="text it reads", typed=True),
    Arg("notify_command", STR, "Shell command that gets the job.finished event on its stdin.", hidden="mcp",
        metavar="COMMAND"),
    Arg("notify_file", PATH, "File that gets the job.finished event as one line.", hidden="mcp", metavar="FILE"),
    *WATCHES,
    Arg("tags", STRS, "Tags, such as project.build.", default=(), cli="--tag", metavar="TAG", mcp_help="such as project.build"),
    Arg("title", STR, "Short name for lists.", metavar="TEXT", mcp_help="for lists"),
    Arg("description", STR, "The title of a job that has none, cut to its length; other tools have it.", cli="", hidden=True),
    Arg("shell", STR, 'Program and flags that run a shell string, such as "bash -lc".', cli="--shell-wrapper",
        metavar="PROG FLAGS", hidden="mcp"),
    Arg("progress_every_ms", MS, "Rewrite updated_at this often; 0: never.", default=0, minimum=0,
        cli="--progress-every", mcp="", metavar="DURATION"),
    Arg("quota_bytes", BYTES, "Most bytes of output to keep; of more, the beginning and the end stay. 0: keep all (default: "
        "the configuration's, 10G).", minimum=0, hidden="mcp", metavar="SIZE"),
    Arg("dedupe_key", STR, "If a job with this key runs in this directory, answer with it instead of starting another.",
        metavar="KEY", hidden="mcp"),
    Arg("systemd_scope", BOOL, "Put the job into a transient systemd scope of its own, which outlives a logout and the "
        "restart of the service that starts it (default: the configuration's, off).", mcp=""),
    Arg("no_systemd_scope", BOOL, "Make no systemd scope, whatever the configuration says.", mcp=""),
    HOST,
)  # fmt: skip
DEFINITION = (*with_those_of_parts(_OWN),)

# What of the output an answer shows.
SHOWN = (
    Arg("tail_lines", INT, "Lines of each stream in snapshot.", default=limits.TAIL_LINES, minimum=0, mcp="",
        metavar="N"),
    Arg("max_bytes", INT, f"Most bytes of output shown (default: output {limits.SHOWN_BYTES}, snapshot "
        f"{limits.TAIL_BYTES} a stream).", minimum=1, maximum=limits.MAX_SHOWN_BYTES, metavar="N",
        hidden="mcp"),
    Arg("raw", BOOL, "Output as it came, with escape sequences.", default=False, hidden="mcp"),
    SHOW,
)  # fmt: skip

_BACKGROUND = Arg(
    "background", BOOL, f"Answer after {limits.BACKGROUND_LOOK_MS} ms; with until when it holds, within yield_ms.",
    default=False, cli="", aliases=("run_in_background",))  # fmt: skip

# How long run, start and restart wait before they answer.
WAITING = (
    Arg("until", ITEMS, "Answer when this holds, as in wait: exit, output, input, regex=RE2, fail_regex=RE2, port=8080, http=URL, "
        "file=PATH, idle=5s.", default=(), metavar="CONDITION",
        mcp_help=CONDITIONS),
    Arg("yield_ms", MS, "Answer after this long if the job still runs; 0: at once.", default=limits.YIELD_MS, minimum=0,
        cli="--snapshot-after", aliases=("yieldMs",), metavar="DURATION",
        mcp_help="if it still runs: answer after so long, up to 50000"),
    _BACKGROUND,
    Arg("wait", BOOL, "Answer when the job has ended, however long that takes.", default=False, mcp=""),
    Arg("propagate", BOOL, "With --wait or --follow: exit with the job's exit code.", default=False, mcp=""),
    Arg("follow", BOOL, "Show the output as it comes, until the job ends; no answer follows. ^C leaves the job running, a second "
        "one ends it.", default=False, mcp="", short="-f"),
    Arg("wait_poll_ms", MS, "Accepted, without effect: waiting is woken by events.", mcp="", cli="--wait-poll-ms",
        hidden=True),
)  # fmt: skip

# Of restart: what the call leaves open is as the job was started before.
WAITING_AGAIN = tuple(
    Arg(arg.name, arg.kind, arg.help, cli="", aliases=arg.aliases) if arg is _BACKGROUND else arg for arg in WAITING
)

# How long write, send-keys, submit and paste wait.
TEXT_FIRST = "typed before the keys or Enter"
WRITING = (
    Arg("wait_ms", MS, "Answer with what the job prints, when it asks again, ends or is silent for this long; 0: answer at "
        "once, without that.", default=0, minimum=0, mcp_default=limits.REACTION_MS, metavar="DURATION",
        mcp_help=f"answer when it asks, ends or is silent so long (default {limits.REACTION_MS})"),
    Arg("timeout_ms", MS, "How long the job may take to read what is written.", default=limits.WRITE_MS, minimum=0,
        metavar="DURATION", hidden="mcp"),
    Arg("max_bytes", INT, "Show at most so many bytes of what the job prints.", default=limits.SHOWN_BYTES,
        mcp_default=limits.MCP_SHOWN_BYTES, minimum=1, maximum=limits.MAX_SHOWN_BYTES, hidden="mcp", metavar="N"),
)  # fmt: skip
