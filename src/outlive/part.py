"""What a part may add to the heart: one class, whose names all have a default that adds nothing.

A part is a folder below `parts/`, which holds all that it is; its declaration is `PART` in the folder's `__init__.py`, and
stands in the one list of `parts/__init__.py`. The heart asks the list, and knows no part by name. What a part needs of
its own code, it names ("module:name") or imports inside a method: a declaration is read where nothing of the part runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:  # TAB loads this, and a supervisor of a job with limits
    from outlive import answers, config
    from outlive.answers.advice import Advice
    from outlive.core import records
    from outlive.core.rights import Rights
    from outlive.errors import OutliveError
    from outlive.jobs import context
    from outlive.render import screen, sources, view
    from outlive.store import job_dir
    from outlive.store.inspection import inspection
    from outlive.store.output import line_index, merged

# What a declaration names for the types alone: it is read where nothing of that is loaded
Config: TypeAlias = "config.Config"
Context: TypeAlias = "context.Context"
Decoding: TypeAlias = "sources.Decoding"
Definition: TypeAlias = "records.Definition"
Fields: TypeAlias = "answers.Part"
Inspection: TypeAlias = "inspection.Inspection"
JobDir: TypeAlias = "job_dir.JobDir"
Lines: TypeAlias = "line_index.Lines"
Output: TypeAlias = "merged.Output"
Screen: TypeAlias = "screen.Screen"
Source: TypeAlias = "sources.Source"
State: TypeAlias = "records.State"
Text: TypeAlias = "sources.Text"
View: TypeAlias = "view.View"
Tool: TypeAlias = "dict[str, object]"  # as it stands in `tools/list`


class Act(NamedTuple):
    """What a caller is about to do. `verb`: as typed, or what comes of it (denied, ask). `facts`: what else there is to say
    of it, of which None is nothing."""

    ctx: Context
    verb: str
    job_id: str | None = None
    facts: Mapping[str, object] = {}
    definition: Definition | None = None  # of a job that is to be made or started
    overrides: Mapping[str, str] = {}  # the variables that were given for it, with those of its files


class Look(NamedTuple):
    """A look at a job, for an answer of a call."""

    ctx: Context
    inspection: Inspection
    job: JobDir
    output: Output
    silent_ms: int | None = None  # since when it has printed nothing; None: not known, or there is more to say


class LogCall(NamedTuple):
    """A call of `log`. `stream`: 0 or 1; None: both, merged. `given`: its arguments by their names."""

    ctx: Context
    definition: Definition
    output: Output
    stream: int | None
    lines: Lines
    given: Mapping[str, Any]


class Selected(NamedTuple):
    """The jobs that a call is about, as far as the caller may see them. `hint`: what a list says of them, or of there being
    none. `name`: what they are together, for a sentence: "the group web"."""

    job_ids: Collection[str]
    hint: str
    name: str = ""


class Said(NamedTuple):
    """What a part says of a job. `fields`: a record of the class that the part declares; None: they are not there."""

    fields: Fields | None
    advice: Sequence[Advice] = ()


class Hold(NamedTuple):
    """A person who holds the keyboard of a job's terminal. `since`: a time stamp."""

    held_by: str
    since: str
    hint: str  # for a program: what to do meanwhile
    warning: str  # for a program that has typed nevertheless


class Beside(NamedTuple):
    """What a part says beside what a job used."""

    figure: str  # time | memory | processes, beside which it stands; "": none of these
    line: str  # for a model
    short: str  # for a person, behind the figure


class Part:
    """What a part adds."""

    name: str  # of its folder
    needs: tuple[str, ...] = ()  # the parts without which it is not there

    # --- read in every caller, a command line or a server, when a name is looked up ---

    # Verb as typed → "module:NAME" of its declaration (verbs/spec.py). A verb of the command line
    verbs: Mapping[str, str] = {}
    # The same for verbs that a server offers too: their declarations import no function of a verb
    actions: Mapping[str, str] = {}
    # What those are for, behind their names in the description of `process`: "a pty job's terminal"
    about_actions: str = ""

    # --- read in a caller, when the configuration is read, or a job of a host is started, read or ended ---

    # Section of the configuration with a table for each name → "module:function" that takes (name, table, its place in the
    # file) and returns the settings. Errors: config_error
    sections: Mapping[str, str] = {}
    # Section of the configuration → "module:KEYS" of what may be set in it: key → Setting (config/__init__.py). The list of
    # parts names the section too
    settings: Mapping[str, str] = {}
    # "section.key" of an array of tables → "module:function" that takes (entry, this name, its number from 1 on) and returns
    # what is kept of it. Errors: config_error, invalid_argument
    tables: Mapping[str, str] = {}
    # Section of the configuration → "module:GATE" (jobs/starting/gate.py) of what decides about the jobs of callers who have it
    gates: Mapping[str, str] = {}
    # "module:BOUNDARY" (jobs/starting/boundary.py) of what decides what jobs may reach. One part has it
    boundary: str = ""
    # Kind of host → "module:ENGINE" (launch/engine.py)
    engines: Mapping[str, str] = {}

    # --- called in a caller, with its configuration ---

    def for_supervisor(self, config: Config, env: Mapping[str, str]) -> dict[str, object] | None:
        """Return what its code in a supervisor needs to note something elsewhere (supervisor/events/noting.py): an object of
        JSON. None: it notes nothing. It is asked right before a job is handed to a supervisor, to the mirror of one on
        another machine, or to Slurm. `env`: of the caller."""
        return None

    # --- a job that it has something to do with ---

    # "module:class" of an OfJob (part_of_job.py). It is loaded for a job that has a member of the part in `meta.json`, or for
    # each job if the part keeps none, and for long waits ahead
    of_job: str = ""
    # Argument of a verb that makes a job, or of list, poll, log, tail, wait, usage, kill or remove → "module:ARGUMENTS" that
    # stand behind it: a tuple of Arg (verbs/spec.py). `job` is that of the last five, which can be about several jobs
    arguments: Mapping[str, str] = {}
    # "module:class" of the fields that it adds to what answers say of a job (answers/__init__.py)
    fields: str = ""
    # The same of the fields that say what a job was given: only answers that describe the job, or what it used, have these
    given: str = ""
    # The same of the fields that it adds to the entries of a list
    listed: str = ""
    # Modules that an answer needs which comes after a long wait: it loads them before, since an update may replace files
    after_waits: tuple[str, ...] = ()

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        """Return what it keeps of the arguments of a job that is made: members of `meta.json`, each of which the list of
        parts names. It is asked in a caller, before anything is made. Errors: invalid_argument."""
        return {}

    def about_to(self, act: Act) -> None:
        """Take note of what a caller is about to do, or refuse it. It is called in the process of the caller (a command
        line or a server), after everything was checked and right before it is done: a process that is killed in the
        middle has called this. Errors: any; then nothing is done."""

    def never_started(self, ctx: Context, job_id: str, error: OutliveError) -> None:
        """Take note that a job, of which `about_to` said that it starts, never ran. It is called in the process of the
        caller, which knows why: the job has no supervisor."""

    def selected(self, ctx: Context, args: Mapping[str, object]) -> Selected | None:
        """Return the jobs that a call is about where an argument of its own is given, None where none is: those that a list
        shows alone, of all directories and clients, or that wait, log, usage, kill or remove take in place of a job.
        `args`: those of the call. Errors: invalid_argument."""
        return None

    def needs_of(self, definition: Definition) -> Collection[str]:
        """Return the ids of the jobs that a job needs: a call that ends it and them ends it first."""
        return ()

    def decoding(self, encoding: str | None) -> Decoding | None:
        """Return what finds the text of an output that is not UTF-8: a function that takes an Output, and returns a Text
        (render/sources.py), or None if it is UTF-8. It is asked in a caller, by each call that shows output. `encoding`: the
        name that this call gave; None: it gave none. Errors: invalid_argument (`encoding`)."""
        return None

    def in_place_of(self, sample: bytes, count: int) -> str | None:
        """Return what an answer shows in place of `count` bytes of output, which begin with `sample`, if they are no text;
        None if they are. It is asked in a caller, of output that no encoding was found for."""
        return None

    def not_utf_8(self, ctx: Context, output: Output) -> str | None:
        """Return how to read the bytes that an answer shows as U+FFFD, because they are not UTF-8; None: nothing is to be
        said. It is asked in a caller, for such an answer alone."""
        return None

    def chosen(self, source: Source, since: int, stop: int, view: View, *, failed: bool) -> Fields | None:
        """Return (a Shown, answers/output.py) what is shown of [since, stop) of an output that is longer than the view has room for; None: its beginning
        and its end. `failed`: it is that of a command that did."""
        return None

    def telling(self, output: Output, config: Config) -> str | None:
        """Return the line of a failed command's output that says why; None if it finds none."""
        return None

    def log_lines(self, log: LogCall) -> Fields | None:
        """Return what `log` shows (LogLines, answers/reading.py) where its own arguments are given; None where none is."""
        return None

    def screen(self, inspection: Inspection, output: Output, end: int | None) -> Screen | None:
        """Return the screen of a job's terminal as it is now, or was at output position `end`; None: it draws none. It is
        asked in a caller, when a program that is shown fills the terminal, and after Enter was pressed behind a text.
        Where the cursor is, a supervisor asks too: EMULATOR in the list of parts."""
        return None

    def keyboard(self, job: JobDir) -> Hold | None:
        """Return who holds the keyboard of a running job's terminal; None: no person does. It is asked in a caller, for
        each answer about a job with a terminal, and after a call has written to one."""
        return None

    def how_to_answer(self, inspection: Inspection, *, hidden: bool) -> str | None:
        """Return how to answer what a job with a terminal asks; None: with the verbs of the heart. `hidden`: what is
        typed is not shown, as of a password. It is asked in a caller, for an answer about a job that waits for input."""
        return None

    def lines(self, answer: Mapping[str, object]) -> list[str]:
        """Return the lines in which a person reads its fields in an answer."""
        return []

    def lines_for_model(self, answer: Mapping[str, object], *, process: bool) -> list[str]:
        """Return the lines in which a model reads its fields in an answer. `process`: the tool of this name is offered."""
        return self.lines(answer)

    def beside_usage(self, answer: Mapping[str, object]) -> Iterable[Beside]:
        """Return what stands beside the figures in an answer that says what a job used."""
        return ()

    # Type of an answer of one of its verbs → "module:function" that takes the answer, the Style (cli/text.py) and `verbose`
    # (everything is wanted), and returns the text for a person
    for_person: Mapping[str, str] = {}
    # The same for a model: "module:function" that takes the answer, and returns what it shows of the job, and lines of ours
    for_model: Mapping[str, str] = {}

    # --- read by `outlive doctor` ---

    # Name → "module:function" of a check of `outlive doctor`, which takes a Place and returns a Finding (parts/finding.py)
    checks: Mapping[str, str] = {}

    # --- read in a server, when it starts ---

    # "module:class" of an Extension (mcp/extension.py): requests that it answers in a server, and what is around the calls
    # of the two tools
    extension: str = ""
    # Method → the member of its result that is an empty list as long as the client has no job: such a request is answered
    # before the SDK is loaded
    empty_lists: Mapping[str, str] = {}
    # "module:class" of a Masking (mcp/masking.py), made with (Config, environment, store) of the server: what its clients
    # are not shown. One part has it
    masking: str = ""
    # "module:class" of an ASGI application around the one of `outlive serve`, made with (that one, Calls, Tokens,
    # AllowedHosts)
    beside_mcp: str = ""

    # --- called in a server ---

    def capabilities(self, *, channel: bool) -> Mapping[str, Mapping[str, object]]:
        """Return what it adds to the capabilities that a server declares: members of members, of which several parts may
        add to one. It is asked when the server starts, before the SDK is loaded. `channel`: this option was given."""
        return {}

    def tools(self, offered: list[Tool], capabilities: Mapping[str, object], rights: Rights) -> list[Tool]:
        """Return the list of tools as it is shown to a client with these capabilities and rights, which has asked for it:
        the SDK may not be loaded yet."""
        return offered

    def can_sandbox(self, config: Config) -> bool:
        """Return whether it can give a job of this machine a sandbox: else a list of tools does not have its arguments. It is
        asked for each list."""
        return False

    def reads_object(self, capabilities: Mapping[str, object]) -> bool:
        """Return whether a client with these capabilities reads the object of an answer in `_meta`, where the text alone
        is sent. It is asked for each answer."""
        return False

    def longest_call_ms(self, client: str, env: Mapping[str, str], cwd: str | None) -> int | None:
        """Return how many ms a call of the client of this name may last; None: not known. It is asked at its first call.
        `env`, `cwd`: of the server."""
        return None
