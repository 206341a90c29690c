"""The one list of parts: what outlive can do besides keeping jobs. A part whose folder is missing is not there, and
neither are those that need it; everything else works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from outlive.core.object_reference import resolve_name

if TYPE_CHECKING:  # a supervisor asks this list for names alone
    from outlive.part import (
        AwaitedEnd,
        Config,
        Context,
        Definition,
        Fields,
        Hold,
        JobDir,
        Need,
        OfJob,
        Part,
        Selected,
        State,
    )

NAMES = (
    "cleanup",
    "completion",
    "schema",
    "demo",
    "terminal",
    "sandbox",
    "hosts",
    "http",
    "failures",
    "approvals",
    "policy",
    "top",
    "page",
    "clients",
    "doctor",
    "audit",
    "limits",
    "push",
    "reports",
    "encodings",
    "masks",
    "queues",
    "ports",
    "groups",
    "after",
    "outside",
    "follow",
)  # the order in which they are asked
# Member of `meta.json` → the part that keeps it there
KEEPERS = {
    "report": "reports",
    "resources": "limits",
    "systemd_scope": "limits",
    "approval": "approvals",
    "sandbox": "sandbox",
    "queue": "queues",
    "ports": "ports",
    "group": "groups",
    "after": "after",
    "chain": "after",
}
_KEEPING = frozenset(KEEPERS.values())
# Members of `meta.json` of a job that starts when the part lets it (jobs/starting/gate.py): it is not started without the part
HELD = ("approval",)
# Those of a job that waits on this machine, if they are of a job of a host, before the host gets it.
# Where nothing is left to wait for, the member of `state.json` is an empty list
WAIT_HERE = ("after", "chain")
# The module whose `main` gives such a job to its host at its turn, in a process that its supervisor starts
AT_TURN = "outlive.parts.after.turn"
# Section of the configuration → the part that has its keys (`settings`)
SECTIONS = {
    "sandbox": "sandbox",
    "audit": "audit",
    "policy": "policy",
    "mcp": "masks",
    "ports": "ports",
    "gc": "cleanup",
}
# Section of the configuration with a table for each name → the part that reads them (`sections`)
TABLES = {"hosts": "hosts", "queue": "queues"}
# Parts with code for supervisors: after, approvals, limits, ports and queues do something for a job that has such a member
# (supervisor/added.py), which is not started without; audit notes what a supervisor did (supervisor/added.py). A job
# waits for a slot of its queue last: it holds the slot from then on
IN_SUPERVISOR = ("after", "limits", "ports", "audit", "queues", "approvals")
# The part that starts the command of a job with such a member in a sandbox: its module `in_supervisor` has CONFINEMENT
# (supervisor/confinement.py) and LOOK (store/inspection/workspace.py). It is not started without
CONFINES = "sandbox"

# The module of a part whose `work` is done for other jobs in each supervisor, or in the guardian that took over, when its own job
# is over (supervisor/pair_supervisor.py). It is loaded before any job is known, and is lean as the supervisor itself
HOUSEKEEPING = "outlive.parts.cleanup.in_supervisor"

# The module of a part whose `render` says where the cursor is, in a fork of the supervisor of a job with a terminal
# (supervisor/input/terminal.py), which guesses without the part
EMULATOR = "outlive.parts.terminal.drawing"

# Values of arguments that are not given
_NOT_GIVEN: tuple[object, ...] = (None, 0, ())

# What declarations name that an answer may need
_IN_ANSWERS = (
    *("of_job", "lines_of", "for_person", "about_to", "never_started", "log_lines", "launchers", "housekeeping"),
    *("decoding", "in_place_of", "not_utf_8", "chosen", "telling", "screen", "keyboard", "how_to_answer"),
)

# Of an answer: what it shows of a job, and lines of ours about it
Text: TypeAlias = Callable[[Mapping[str, object]], tuple[str, list[str]]]


@cache
def every() -> tuple[Part, ...]:
    """Return the parts that are there."""
    found: dict[str, Part] = {}
    for name in NAMES:
        try:
            found[name] = import_module(f"outlive.parts.{name}").PART
        except ModuleNotFoundError as error:
            if error.name != f"outlive.parts.{name}":
                raise
    while lacking := [name for name, part in found.items() if not found.keys() >= {*part.needs}]:
        del found[lacking[0]]
    return tuple(found.values())


def lines(answer: Mapping[str, object], *, process: bool | None = None) -> list[str]:
    """Return the lines in which the fields of parts in an answer are read. `process`: None: by a person; else by a model,
    to which the tool of this name is offered or not."""
    return [line for function in _asked("lines_of", answer.get) for line in function(answer, process=process)]


def why_not_started(answer: Mapping[str, object]) -> str | None:
    """Return for what the job of an answer waits, which has not started; None if it waits for a start by `start`."""
    return next((function(answer) for function in _asked("why_not_started", answer.get)), None)


def for_person(type_: str) -> Callable[..., str] | None:
    """Return what makes the text for a person of answers of this type; None if no part has it."""
    return next(iter(_asked("for_person", type_.__eq__)), None)


def for_model(type_: str) -> Text | None:
    """Return what makes the text for a model of answers of this type; None if no part has it."""
    return next(iter(_asked("for_model", type_.__eq__)), None)


def keyboard(job: JobDir) -> Hold | None:
    """Return who holds the keyboard of a running job's terminal; None if no person does."""
    return next(filter(None, (holder(job) for _, holder in functions_for("keyboard", job.has))), None)


def for_supervisor(config: Config, env: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return what the code of parts in a supervisor needs to note something elsewhere, by the names of the parts."""
    each = [(part.name, of, code) for part in every() for of, code in part.for_supervisor.items() if config.has(of)]
    given = {name: resolve_name(code)(config, env) for name, _, code in each}
    return {name: values for name, values in given.items() if values is not None}


def functions(hook: str) -> Iterator[Callable[..., Any]]:
    """Yield the functions that declarations name so ("module:function" in part.py)."""
    return (resolve_name(getattr(part, hook)) for part in _declaring(hook))


def only(hook: str) -> Any:
    """Return what the declaration of one part names so ("One part has it" in part.py); None if no part has it."""
    return next(functions(hook), None)


def first(hook: str, *asked: object, **named: object) -> Any:
    """Return the first answer of these functions that is one; None if none has any."""
    return next(filter(None, (function(*asked, **named) for function in functions(hook))), None)


def functions_for(hook: str, wanted: Callable[[str], object]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions that declarations have for names that are wanted, each with its name."""
    named = (getattr(part, hook) for part in _declaring(hook))
    return ((name, resolve_name(code)) for one in named for name, code in one.items() if wanted(name))


def _asked(hook: str, wanted: Callable[[str], object]) -> Iterable[Callable[..., Any]]:
    """Return the functions that declarations have for names that are wanted, each once."""
    return dict.fromkeys(function for _, function in functions_for(hook, wanted))


def of_job(definition: Definition, declaring: str = "name") -> dict[str, OfJob]:
    """Return what parts do for a job, by the names of the parts: of those that kept something of it, and those that keep
    nothing. `declaring`: only of those whose declaration has this name."""
    keepers = _keepers(definition.kept)
    each = (one for one in _declaring(declaring) if one.of_job and (one.name in keepers or one.name not in _KEEPING))
    return {part.name: resolve_name(part.of_job)(definition) for part in each}


@cache
def _declaring(name: str) -> tuple[Part, ...]:
    return tuple(part for part in every() if getattr(part, name))


def ports_of(definition: Definition, state: State | None = None) -> dict[str, int | None]:
    """Return the ports that parts gave a job, by their names; None as long as it has not started."""
    return {name: port for one in of_job(definition).values() for name, port in one.ports(state).items()}


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what parts keep of the arguments of a job that is made. Errors: invalid_argument."""
    is_given = _given(args)
    asked = _asked("kept", lambda name: is_given(name) or ctx.config.is_set("exec", name))
    return {member: value for function in asked for member, value in function(ctx, args).items()}


def _given(args: Mapping[str, object]) -> Callable[[str], bool]:
    return lambda name: args.get(name) not in _NOT_GIVEN


def run_instead(ctx: Context, args: Mapping[str, object]) -> Fields | None:
    """Do what a call of run asks for in place of a command; return None where it asks for nothing else."""
    return next((function(ctx, args) for function in _asked("run_instead", _given(args))), None)


def selected(ctx: Context, args: Mapping[str, object]) -> Selected | None:
    """Return the jobs that a call is about by an argument of a part; None where it has none."""
    return next((function(ctx, args) for function in _asked("selected", _given(args))), None)


def needed_by(definition: Definition, state: State | None = None) -> list[Need]:
    """Return the jobs that a job needs, as parts know. `state`: how it is now."""
    return [need for one in of_job(definition).values() for need in one.needs(state)]


def ends_awaited(definition: Definition) -> list[AwaitedEnd] | None:
    """Return the ends of other jobs for which a job waits before it starts, as parts know; None if it waits for more."""
    each = [one.ends() for one in of_job(definition).values()]
    return None if None in each else [end for ends in each for end in ends or ()]


def missing(kept: Mapping[str, object]) -> list[str]:
    """Return the names of the parts that are not there, and kept one of these members of `meta.json`."""
    there = {part.name for part in every()}
    return sorted(_keepers(kept) - there)


def needed(kept: Mapping[str, object]) -> list[str]:
    """Return the names of the parts, there or not, that the supervisor of a job with these members needs."""
    keepers = _keepers(kept)
    return [name for name in IN_SUPERVISOR if name in keepers]


def waits_here(kept: Mapping[str, object]) -> bool:
    """Return whether a job of a host with these members of `meta.json` waits on this machine first."""
    return any(kept.get(member) is not None for member in WAIT_HERE)


def is_held(kept: Mapping[str, object]) -> bool:
    """Return whether a job with these members of `meta.json` starts when a part lets it."""
    return any(kept.get(member) is not None for member in HELD)


@cache
def conditions() -> dict[str, str]:
    """Return "module:NAME" of each kind of condition that a part adds, by its name."""
    return {name: code for part in every() for name, code in part.conditions.items()}


@cache
def gates() -> dict[str, str]:
    """Return "module:NAME" of each gate, by the section of the configuration that it is for."""
    return {section: code for part in every() for section, code in part.gates.items()}


def launcher(caller: object, definition: Definition) -> Any:
    """Return what starts the supervisors of a job in the place of its caller's launcher; None: that one does."""
    found = functions_for("launchers", definition.of_parts.get)
    return next(filter(None, (made(caller, definition) for _, made in found)), None)


def required(kept: Mapping[str, object]) -> list[str]:
    """Return the names of the parts that are not there, without which a job with these members would run otherwise than it
    was made."""
    held = {KEEPERS[member] for member in HELD if kept.get(member) is not None}
    return [name for name in missing(kept) if name in {*held, *IN_SUPERVISOR, CONFINES}]


def in_supervisor(part: str) -> str:
    """Return the name of the module that a supervisor loads of a part."""
    return f"outlive.parts.{part}.in_supervisor"


def confining() -> ModuleType | None:
    """Return the module of the part that confines jobs in a sandbox, which a supervisor loads; None without the part."""
    return loaded(in_supervisor(CONFINES))


def loaded(module: str) -> ModuleType | None:
    """Return a module of a part; None if the part is not there. Errors: ImportError, of a library."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        return None


def not_there(missing: Sequence[str]) -> str:
    """Return what a job was made with, if it has something of these parts."""
    if len(missing) == 1:
        return f"the part {missing[0]} of outlive, which is not installed here"
    return f"the parts {' and '.join(missing)} of outlive, which are not installed here"


def _keepers(kept: Mapping[str, object]) -> set[str]:
    return {KEEPERS[name] for name, value in kept.items() if name in KEEPERS and value is not None}


def after_waits() -> list[str]:
    """Return the modules of parts that an answer may need which comes after a long wait."""
    named = [getattr(part, hook) for hook in _IN_ANSWERS for part in _declaring(hook)]
    named_code = [code for one in named for code in ([one] if isinstance(one, str) else one.values())]
    return [*(code.partition(":")[0] for code in named_code), *(name for part in every() for name in part.after_waits)]


def follows(verb: str) -> str | None:
    """Return "module:function" of what --follow of a verb shows; None if no part has it."""
    return next((part.follows[verb] for part in _declaring("follows") if verb in part.follows), None)


@cache
def verbs() -> dict[str, str]:
    """Return "module:NAME" of each verb that a part adds, by the verb as typed."""
    return {verb: code for part in every() for verb, code in {**part.actions, **part.verbs}.items()}
