"""Declare a verb: its arguments, its result and its help, once.

The parser of the command line, the tool schemas of MCP, the docs and `schema/` are made from these declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from outlive import limits
from outlive.answers import Answer
from outlive.core.members import parse_json
from outlive.core.object_reference import resolve_name
from outlive.core.record import Value
from outlive.core.records import SHOWS
from outlive.errors import ENDED_JOBS, argument, invalid

# What a value may be. CLI words are converted by `cli/parse.py`, MCP values are checked by
# `mcp/tools/arguments.py`.
STR = "string"
RUN = "run"  # a word, or true (MCP), which means `previous`
INT = "integer"
FLOAT = "number"
BOOL = "boolean"
STRS = "strings"  # CLI: the flag again and again. MCP: an array
MS = "milliseconds"  # CLI: a bare number or 5s, 30m, 2h. MCP: a number
SECONDS = "seconds"  # MCP only: a number, fractions allowed. The verb gets milliseconds
BYTES = "bytes"  # a number, or 64K, 500M, 2G
ENV = "env"  # CLI: NAME=VALUE again and again. MCP: an object of strings
OBJECT = "object"  # CLI: NAME=VALUE again and again. MCP: an object; the verb checks the values of both
ITEMS = "items"  # CLI: words, the flag again and again; JSON objects as text. MCP: an array of strings and objects
WORDS = "words"  # CLI: the rest of the command line. MCP: a string, or an array of strings
PATH = "path"  # a path; the CLI makes it absolute against its own directory


_DERIVED: Any = None  # from another value: __post_init__


class Arg(Value):
    """One argument of a verb.

    `cli` and `mcp` are the names on that face: by default `name` itself (with hyphens and `--` in front on the command
    line), "" for an argument that the face does not offer. A name without `--` is a positional.

    The schemas of the tools cost every conversation, so `hidden`, `mcp_help` and `section` say what a model is shown of
    an argument."""

    name: str  # of the parameter of the verb's function
    kind: str
    help: str
    default: Any = None  # the value when the caller leaves the argument out
    required: bool = False
    cli: str = _DERIVED
    mcp: str = _DERIVED
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    mcp_default: Any = _DERIVED
    metavar: str | None = None
    hidden: bool | str = False  # accepted but not listed; "mcp": not listed there alone
    mcp_help: str | None = None  # in place of `help` in the schema; "": the name says it all
    section: str | None = None  # of the configuration, without which it has no use and is not listed
    typed: bool = False  # the text goes to the input of a job, where a NUL character is one like any other
    short: str = ""  # another name of the flag on the command line, such as -f
    missing: str | None = None  # the hint of the error if it is required and left out
    stands_for: str = ""  # the name of a required argument, which may be missing where this is given

    def __post_init__(self) -> None:
        derived = {"cli": "--" + self.name.replace("_", "-"), "mcp": self.name, "mcp_default": self.default}
        vars(self).update({name: value for name, value in derived.items() if getattr(self, name) is None})


def check_texts(args: Iterable[Arg], values: Mapping[str, object], *, escaped: bool) -> None:
    """Raise invalid_argument for a text among `values`, by parameter, that no system call takes: it would end the
    supervisor that met it, and each one that took its place.

    Refused are a NUL character, except in what is typed, and half of a surrogate pair, which is not a character.
    `escaped`: the halves U+DC80 to U+DCFF stand for bytes that are not UTF-8, as in the words of a command line
    (os.fsdecode)."""
    for arg in args:
        value = values.get(arg.name)
        if isinstance(value, str):
            if not value.isascii() or "\0" in value or arg.kind == ITEMS:
                _check_text(arg, value, escaped)
        elif isinstance(value, (list, tuple, dict)):
            for text in _texts_in(value):
                _check_text(arg, text, escaped)


def _texts_in(value: object) -> Iterator[str]:
    """Yield every text in a value as JSON has them, names of members too."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            left += one


def _check_text(arg: Arg, text: str, escaped: bool) -> None:
    if "\0" in text and not arg.typed:
        hint = "No program, path or variable can be given one. In a pattern write \\x00."
        raise invalid(arg.name, f"{argument(arg.name)} contains a NUL character", hint=hint)
    try:
        text.encode("utf-8", "surrogateescape" if escaped else "strict")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        message = f"{argument(arg.name)} contains half a character: {half} without the other half of its surrogate pair"
        raise invalid(arg.name, message, hint="Send the whole character, or leave it out.") from None
    if arg.kind == ITEMS and text.lstrip()[:1] == "{":  # an object as JSON text, where \u0000 hides
        try:
            value = parse_json(text)
        except ValueError:
            return
        for inner in _texts_in(value):
            if inner != text:
                _check_text(arg, inner, escaped)


# The sizes of an answer. The faces apply it (`envelope.sized`); an action never sees it.
BRIEF, FULL = "brief", "full"
DETAIL = Arg(
    "detail",
    STR,
    "brief: what to act on. full: every member.",
    default=FULL,
    mcp_default=BRIEF,
    choices=(BRIEF, FULL),
    hidden="mcp",
)


def zero_means(arg: Arg) -> str | None:
    """Return what 0 does, as the help of a duration or a count says it: "0: never."."""
    clauses = arg.help.replace(". ", "; ").split("; ")
    said = next((clause for clause in clauses if clause.startswith("0")), None)
    return said and f"{said.partition(' (')[0].rstrip('.')}."


def is_stood_for(arg: Arg, given: Iterable[Arg]) -> bool:
    """Return whether one of the arguments that were given stands for this one, so that it may be left out."""
    return any(one.stands_for == arg.name for one in given)


_Record = type[Answer]


class Verb(Value):
    """One verb of both faces. Its functions are declared as they are, or as `module:function`, which is loaded when it
    is used."""

    name: str  # as typed: "status", "tag set"
    help: str
    # (ctx, **arguments) -> result, which may wait (system/waiting.py); "": the verb is `program` or `follow`
    function: Callable[..., Any] | str = ""
    args: tuple[Arg, ...] = ()
    result: _Record | None = None  # what it answers (outlive/answers); None: nothing
    type: str = _DERIVED
    cli: bool = True
    detail: str = ""  # a paragraph below the usage line of --help
    right: str = ""  # that a caller over MCP needs for it (core/rights.py); "": it is not offered there
    action: str = _DERIVED  # its name over MCP
    section: str | None = None  # of the configuration, without which it has no use and is not listed over MCP
    # The rest is about the command line alone
    group: str = "Other"  # its heading in `outlive --help`
    # `module:function` that takes over the process: (arguments, global options) -> exit status
    program: str = ""
    # `module:function` for --follow, or for a terminal: (ctx, verb, global options, **arguments) -> exit status. "": what a
    # part has for its --follow (`follows`, part.py)
    follow: str = ""
    at_terminal: bool = False  # a person at a terminal gets `follow` without asking for it
    store: bool = True  # False: it answers even where the root is unsafe or full
    configuration: bool = True  # False: it answers even where the configuration is broken
    long: bool = False  # it may take long, so a person is shown how far it is
    waits: bool = False  # what ^C ends is the waiting, never the job
    reports_end: bool = False  # its answer says how a job ended; so does that of a verb that waits

    def __post_init__(self) -> None:
        action = self.name.replace(" ", "_")
        vars(self).update(type=self.type or action.replace("-", "_"), action=self.action or action)
        if self.right and self.result:  # whatever both faces answer comes in two sizes
            vars(self).update(args=(*self.args, DETAIL))

    @property
    def run(self) -> Callable[..., Any]:
        return resolve_name(self.function) if isinstance(self.function, str) else self.function


def _job(help: str, missing: str | None = None) -> Arg:
    return Arg(
        "job",
        STR,
        help,
        required=True,
        cli="JOB",
        mcp="job_id",
        aliases=("jobId", "sessionId", "session_id", "run_id", "runId", "job", "title"),
        mcp_help="id, its last 4 characters, or title",
        missing=missing,
    )


_ID = f"The job: its id, or any unique beginning or end of it (at least {limits.ID_PART_CHARS} characters)"
JOB = _job(f"{_ID}, or its name as `list` shows it: the newest job that has it.")
JOB_ID = _job(f"{_ID}. A name is refused.")
ENDED_JOB_ID = _job(JOB_ID.help, ENDED_JOBS)
MAX_BYTES = Arg(
    "max_bytes",
    INT,
    "Most bytes of output to show.",
    default=limits.SHOWN_BYTES,
    mcp_default=limits.MCP_SHOWN_BYTES,
    minimum=1,
    maximum=limits.MAX_SHOWN_BYTES,
    metavar="N",
    mcp_help="of output shown",
)
BUDGET = Arg(
    "max_bytes",
    INT,
    "Most bytes of the answer (CLI: no limit by default).",
    mcp_default=limits.MCP_SHOWN_BYTES,
    minimum=1,
    maximum=limits.MAX_SHOWN_BYTES,
    hidden="mcp",
    metavar="N",
)
SINCE_SEQ = Arg(
    "since_seq",
    INT,
    "Show output from this position on (a next_seq of an earlier answer).",
    minimum=0,
    aliases=("sinceSeq",),
    metavar="SEQ",
    mcp_help="from this next_seq",
)
RAW = Arg("raw", BOOL, "Output as it came, with escape sequences and overwritten progress.", default=False,
          hidden="mcp")  # fmt: skip
SHOW = Arg(
    "show",
    STR,
    "What is shown of output above max_bytes. auto: its end, some of its beginning, and between them the lines that "
    "report a failure; plain: its beginning and its end. By default as [output] show says: auto.",
    choices=SHOWS,
    hidden="mcp",
)
TOOLS = Arg(
    "tools",
    STR,
    "Tools to offer: exec, process, or both. exec alone answers when the command has ended; process alone runs no "
    "command, and offers neither create, start nor restart.",
    default="exec,process",
    metavar="LIST",
)
ANSWERS = Arg(
    "answers",
    STR,
    "What an answer is sent as: text, json (the object), or both. By default it depends on the client's name: text for "
    "clients that show the object to their model in place of the text, else both.",
    choices=("text", "json", "both"),
)


class GlobalOptions:
    """The global options as they were given. `verbose` counts. `notes`: sentences for the answer
    about how an option was written."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.config: str | None = None
        self.human = False
        self.verbose = 0
        self.version = False
        self.help = False
        self.notes: list[str] = []
