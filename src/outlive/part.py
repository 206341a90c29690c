"""What a part may add to the heart: one class, whose names all have a default that adds nothing.

A part is a folder below `parts/`, which holds all that it is; its declaration is `PART` in the folder's `__init__.py`, and
stands in the one list of `parts/__init__.py`. The heart asks the list, and knows no part by name. A declaration names
code of the part ("module:name"): it is read where nothing of the part runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from outlive.core.record import Value

if TYPE_CHECKING:  # TAB loads this, and a supervisor of a job with limits
    from outlive import answers, config
    from outlive.answers.advice import Advice
    from outlive.core import records
    from outlive.jobs import context
    from outlive.jobs.conditions import condition as conditions
    from outlive.render import screen, sources
    from outlive.store import job_dir
    from outlive.store.inspection import inspection
    from outlive.store.output import line_index, merged

# What a declaration names for the types alone: it is read where nothing of that is loaded
AwaitedEnd: TypeAlias = "conditions.AwaitedEnd"
Config: TypeAlias = "config.Config"
Context: TypeAlias = "context.Context"
Decoding: TypeAlias = "sources.Decoding"
Definition: TypeAlias = "records.Definition"
Fields: TypeAlias = "answers.Fields"
Inspection: TypeAlias = "inspection.Inspection"
JobDir: TypeAlias = "job_dir.JobDir"
Lines: TypeAlias = "line_index.Lines"
Output: TypeAlias = "merged.Output"
Screen: TypeAlias = "screen.Screen"
Source: TypeAlias = "sources.Source"
State: TypeAlias = "records.State"
Text: TypeAlias = "sources.Text"
View: TypeAlias = "sources.View"


class Act(Value):
    """What a caller is about to do. `verb`: as typed, or what comes of it (denied, ask). `facts`: what else there is to say
    of it; those that are None are left out."""

    ctx: Context
    verb: str
    job_id: str | None = None
    facts: Mapping[str, object] = {}
    definition: Definition | None = None  # of a job that is to be made or started
    overrides: Mapping[str, str] = {}  # the variables that were given for it, with those of its files


class Look(Value):
    """A look at a job, for an answer of a call."""

    ctx: Context
    inspection: Inspection
    job: JobDir
    output: Output
    silent_ms: int | None = None  # since when it has printed nothing; None: not known, or there is more to say


class LogCall(Value):
    """A call of `log`. `stream`: 0 or 1; None: both, merged. `given`: its arguments by their names."""

    ctx: Context
    definition: Definition
    output: Output
    stream: int | None
    lines: Lines
    given: Mapping[str, Any]


class Selected(Value):
    """The jobs that a call is about, as far as the caller may see them. `hint`: what a list says of them, or of there being
    none. `name`: what they are together, for a sentence: "the group web". `in_order`: a list has them in this order."""

    job_ids: Collection[str]
    hint: str
    name: str = ""
    in_order: bool = False


class Said(Value):
    """What a part says of a job. `fields`: a record of the class that the part declares; None: they are not there."""

    fields: Fields | None
    advice: Sequence[Advice] = ()


class Need(Value):
    """Another job that a job waits for before it starts."""

    job_id: str
    name: str = ""  # of the other job, when it was asked for
    condition: str = ""  # what has to hold for it, in a few words; "": that it ended well
    holds: bool = False  # it does, or did


class Turns(Value):
    """Jobs of which only so many run at a time: those whose turn it is, and the line of those that wait for theirs."""

    name: str
    at_once: int
    running: Sequence[str]  # their ids; "" stands for a job that was not asked about
    waiting: Sequence[str]  # the same; the next one is first
    held_back: str = ""  # why the next one does not start, though not so many run: a sentence; "": it is for no reason


class Hold(Value):
    """A person who holds the keyboard of a job's terminal. `since`: a time stamp."""

    held_by: str
    since: str
    hint: str  # for a program: what to do meanwhile
    warning: str  # for a program that has typed nevertheless


class Part:
    """What a part adds."""

    name: str  # of its folder
    needs: tuple[str, ...] = ()  # the parts without which it is not there

    # --- read in every caller, a command line or a server, when a name is looked up ---

    # Verb as typed → "module:NAME" of its declaration (verbs/spec.py). A verb of the command line
    verbs: Mapping[str, str] = {}
    # The same for verbs that a server offers too: their declarations import no function of a verb
    actions: Mapping[str, str] = {}
    # Verb as typed → "module:function" of what --follow shows: (Context, Verb, global options, **arguments) -> exit status
    follows: Mapping[str, str] = {}
    # What those are for, behind their names in the description of `process`: "a pty job's terminal"
    about_actions: str = ""

    # --- read in a caller, when the configuration is read, or a job of a host is started, read or ended ---

    # Section of the configuration with a table for each name → "module:function" that takes (name, table, its place in the
    # file) and returns the settings. The list of parts names the section too. Errors: config_error
    sections: Mapping[str, str] = {}
    # Section of the configuration → "module:KEYS" of what may be set in it: key → Setting (config/__init__.py). The list of
    # parts names the section too, unless it is one of the heart's, to which these keys are added
    settings: Mapping[str, str] = {}
    # "section.key" of an array of tables → "module:function" that takes (entry, this name, its number from 1 on) and returns
    # what is kept of it. Errors: config_error, invalid_argument
    tables: Mapping[str, str] = {}
    # Section of the configuration → "module:GATE" (jobs/starting/gate.py) of what decides about the jobs of callers who have it
    gates: Mapping[str, str] = {}
    # "module:HOLDING" (jobs/starting/gate.py) of what holds jobs back until a person has answered. One part has it
    holding: str = ""
    # "module:BOUNDARY" (jobs/starting/boundary.py) of what decides what jobs may reach. One part has it
    boundary: str = ""
    # Kind of host → "module:ENGINE" (launch/engine.py)
    engines: Mapping[str, str] = {}

    # Member of `meta.json` → "module:function" of what starts the supervisors of a job that has it, in the place of the
    # caller's own launcher: takes (Caller, Definition), and returns what has `send` as a Pair has it
    # (supervisor/fork_protocol.py), and `close`; None: the caller's own starts them. It is asked right before the start.
    # Errors: launch_failed; then nothing was started
    launchers: Mapping[str, str] = {}
    # Section of the configuration → "module:function" of what its code in a supervisor needs to note something elsewhere
    # (supervisor/added.py): takes (Config, environment of the caller), and returns an object of JSON; None: it notes
    # nothing. It is asked right before a job is handed to a supervisor, to the mirror of one on another machine, or to Slurm
    for_supervisor: Mapping[str, str] = {}
    # What its code needs that works for other jobs in a supervisor whose own job is over (HOUSEKEEPING in the list of parts):
    # "module:function" that takes Config, and returns an object of JSON; None: it does nothing then. It is asked right before a
    # job is handed to a supervisor. One part has it
    housekeeping: str = ""
    # Section of the configuration → "module:function" that takes note of what a caller is about to do (Act), or refuses it: in
    # the process of the caller (a command line or a server), after everything was checked and right before it is done. A
    # process that is killed in the middle has called it. Errors: any; then nothing is done
    about_to: Mapping[str, str] = {}
    # The same of a job that never ran, though `about_to` was called for its start: takes (Context, its id, the error). The
    # process of the caller knows why: the job has no supervisor
    never_started: Mapping[str, str] = {}

    # --- a job that it has something to do with ---

    # "module:class" of an OfJob (part.py). It is loaded for a job that has a member of the part in `meta.json`, or for
    # each job if the part keeps none. A process that is going to wait for long loads all of them before it does
    of_job: str = ""
    # Argument of a verb that makes a job, or of list, poll, log, tail, wait, usage, kill or remove → "module:ARGUMENTS" that
    # stand behind it: a tuple of Arg (verbs/spec.py). Those behind `job` are of each verb that can be about several jobs
    arguments: Mapping[str, str] = {}
    # "module:class" of the fields that it adds to what answers say of a job (answers/__init__.py)
    fields: str = ""
    # The same of the fields that say what a job was given: only answers that describe the job, or what it used, have these
    given: str = ""
    # The same of the fields that it adds to the entries of a list
    listed: str = ""
    # Modules that an answer needs which comes after a long wait: it loads them before, since an update may replace files
    after_waits: tuple[str, ...] = ()

    # --- "module:function", asked in a caller where an argument of a call is given: takes (Context, the arguments) ---

    # Argument of a verb that makes a job → what the part keeps of its arguments: members of `meta.json`, each of which the
    # list of parts names. It is asked before anything is made, and also where the argument is not given, but its default
    # stands in [exec] of the configuration. Errors: invalid_argument
    kept: Mapping[str, str] = {}
    # Argument of run → what is done in place of a command: returns a Started (answers/starting.py). Errors: those of run
    run_instead: Mapping[str, str] = {}
    # Argument → which jobs it selects. list shows only these, of all directories and clients (Selected); wait, log, usage, kill
    # and remove take these in place of `job`. Errors: invalid_argument
    selected: Mapping[str, str] = {}
    # Condition of a wait → "module:KIND" (jobs/conditions/kind.py) of what may be given, and what looks whether it holds. It
    # looks at the machine, not at the job: a caller with rights needs that to control, and another part may limit what it
    # may have looked at (jobs/starting/boundary.py)
    conditions: Mapping[str, str] = {}
    # Argument of `log` → "module:function" of what it shows then: takes (LogCall, the value), and returns LogLines
    # (answers/reading.py)
    log_lines: Mapping[str, str] = {}

    # --- "module:function", asked in a caller of a job's output ---

    # Finds the text of an output that is not UTF-8: takes the encoding that a call gave (None: it gave none), and returns a
    # function that takes an Output, and returns a Text (render/sources.py), None if it is UTF-8. It is asked by each call that
    # shows output. Errors: invalid_argument (`encoding`)
    decoding: str = ""
    # Shown in place of bytes that are no text: takes (their beginning, which is not ASCII; how many they are); None: they are
    in_place_of: str = ""
    # How to read the bytes that an answer shows as U+FFFD, because they are not UTF-8: takes (Context, Output). None: nothing
    not_utf_8: str = ""
    # What is shown (Shown, answers/output.py) of [since, stop) of an output that is longer than the view has room for: takes
    # (Source, since, stop, View, failed=it is that of a command that did). None: its beginning and its end
    chosen: str = ""
    # The line of a failed command's output that says why: takes (Output, Config). None: there is none
    telling: str = ""

    # --- "module:function", asked in a caller of a job with a terminal ---

    # The Screen as it is now, or was at an output position: takes (Inspection, Output, the position or None). It is asked when
    # a program that is shown fills the terminal, and after Enter was pressed behind a text. Where the cursor is, a supervisor
    # asks too: EMULATOR in the list of parts
    screen: str = ""
    # File in the directory of a running job → who holds the keyboard of its terminal (Hold), if that is there: takes JobDir.
    # None: no person does. It is asked for each answer about such a job, and after a call has written to one
    keyboard: Mapping[str, str] = {}
    # How to answer what the job asks: takes (Inspection, hidden=what is typed is not shown, as of a password). None: with the
    # verbs of the heart. It is asked for an answer about a job that waits for input
    how_to_answer: str = ""

    # --- "module:function", asked in a caller of several jobs ---

    # Whose turn it is: takes Inspections of jobs that have not ended, or of which something lives, and returns a list of Turns.
    # A page that shows jobs asks once a second
    turns: str = ""

    # --- read where an answer is shown ---

    # Member of an answer → "module:function" that takes the answer and `process`, and returns the lines in which that is read.
    # `process`: None: by a person; else by a model, to which the tool of this name is offered or not
    lines_of: Mapping[str, str] = {}
    # Member of an answer → "module:function" that takes the answer, and returns for what its job waits, which has not started:
    # "it waits for 2 jobs"
    why_not_started: Mapping[str, str] = {}
    # Type of an answer of one of its verbs → "module:function" that takes the answer, the Style (cli/text.py) and `verbose`
    # (everything is wanted), and returns the text for a person
    for_person: Mapping[str, str] = {}
    # The same for a model: "module:function" that takes the answer, and returns what it shows of the job, and lines of ours
    for_model: Mapping[str, str] = {}

    # --- read by `outlive doctor` ---

    # Name → "module:function" of a check of `outlive doctor`, which takes a CheckContext and returns a Finding (parts/finding.py)
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

    # What it adds to the capabilities that a server declares: members of members, of which several parts may add to one
    capabilities: Mapping[str, Mapping[str, object]] = {}
    # The same with the option --channel
    with_channel: Mapping[str, Mapping[str, object]] = {}

    # --- "module:function", asked in a server, where the SDK may not be loaded yet ---

    # The list of tools as it is shown to a client: takes (the list, the client's capabilities, its Rights)
    tools: str = ""
    # Whether it can give a job of this machine a sandbox: takes Config. Else a list of tools does not have its arguments
    can_sandbox: str = ""
    # Whether a client with these capabilities reads the object of an answer in `_meta`, where the text alone is sent
    reads_object: str = ""
    # How many ms a call of a client may last: takes (its name, environment and directory of the server). None: not known. It
    # is asked at the client's first call
    longest_call_ms: str = ""


class OfJob:
    """What a part does for one job in a caller, a command line or a server: for a job that has a member of the part in `meta.json`, or for each job if the part keeps none. By
    default it does nothing."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def check(self) -> None:
        """Refuse a job that is to be made, or made again, and could not do what it asks for. It is asked before anything is
        made. Errors: invalid_argument."""

    def facts(self) -> Iterable[tuple[str, str]]:
        """Return label and text of what a person is shown of the job who is asked whether it may run."""
        return ()

    def needs(self, state: State | None = None) -> Iterable[Need]:
        """Return the jobs that the job waits for, or waited for, before it starts: a call that ends it and them ends it first.
        `state`: how it is now; without it nothing is said to hold."""
        return ()

    def ends(self) -> Sequence[AwaitedEnd] | None:
        """Return the ends of other jobs for which the job waits before it starts; None if it waits for more than such."""
        return ()

    def ports(self, state: State | None) -> Mapping[str, int | None]:
        """Return the ports that the job was given, by the names by which a condition may ask for one; None as long as it has
        not started (`state` None: there is none yet)."""
        return {}

    def given_to(self, inspection: Inspection) -> Said | None:
        """Return what the job was given, in the fields of `given`, and what of it could not be given. None: nothing."""
        return None

    def entry_of(self, inspection: Inspection) -> Fields | None:
        """Return what an entry of a list says of the job: a record of `listed`; None: nothing. It is asked for each entry."""
        return None

    def described(self, look: Look) -> Said | None:
        """Return what the part says of the job; None: nothing. It is asked for each answer about one job."""
        return None

    def wants_person(self, inspection: Inspection, job: JobDir) -> str | None:
        """Return what is to be said of a running job without a terminal that does nothing more until a person comes; None
        of others. A caller who waits for it asks after some seconds, and is answered then."""
        return None
