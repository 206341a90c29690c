"""Check what a client sent against the declaration of the verb; nothing unchecked reaches an action. Names may be in
snake_case, in camelCase or with hyphens; null counts as absent. Errors: invalid_argument, in words of ours, which name
the argument as the caller wrote it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping

from outlive import limits
from outlive import verbs as verbs_module
from outlive.config import Config
from outlive.core.members import number_of
from outlive.core.nearest import asked_for, letters_of
from outlive.core.records import CONTROL
from outlive.core.records import EXEC as EXEC_RIGHT
from outlive.core.rights import Rights
from outlive.errors import OutliveError, invalid
from outlive.jobs.starting.plan import Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.mcp.tools import values
from outlive.mcp.tools.offer import (
    EXEC,
    PROCESS,
    RUN,
    WAIT_ARGUMENTS,
    accepted,
    default_of,
    defaults_of,
    process_verbs,
    types,
)
from outlive.verbs import spelling
from outlive.verbs.spec import BRIEF, DETAIL, FULL, MS, SECONDS, Verb, check_texts, is_stood_for
from outlive.verbs.spelling import MCP, spelled


class Reader:
    """Reads the arguments of one verb, which messages call `shown`: `exec`, `process log`. `defaults` by name over MCP,
    in the units of the action, replace the declared ones. `elsewhere` maps the letters of a name to the calls that take
    it."""

    def __init__(
        self,
        verb: Verb,
        shown: str,
        *,
        defaults: Mapping[str, object] | None = None,
        elsewhere: Mapping[str, list[str]] | None = None,
    ) -> None:
        self.verb = verb
        self.shown = shown
        self._defaults = defaults or {}
        self._elsewhere = elsewhere or {}
        self._args = {arg.mcp: arg for arg in accepted(verb)}
        self._names = {letters_of(name): arg for arg in self._args.values() for name in (*arg.aliases, arg.mcp)}
        self._fallbacks: dict[str, object] = {}
        for arg in (*self._args.values(), *self.verb.args):  # two may share a parameter: the one over MCP counts
            self._fallbacks.setdefault(arg.name, self._defaults.get(arg.mcp, default_of(arg)))
        self._mutable = [name for name, value in self._fallbacks.items() if isinstance(value, (list, dict))]

    def read(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return every argument of the action by its parameter, with defaults. Errors: invalid_argument."""
        given_values = self.given(given)
        there = [arg for arg in self._args.values() if arg.name in given_values]
        missing = [
            arg for arg in self._args.values() if arg.required and arg not in there and not is_stood_for(arg, there)
        ]
        if missing:
            raise spelled(self._missing(missing[0].mcp), MCP, self._args.values(), self.written(given))
        return {**self._fallbacks, **{name: copy.copy(self._fallbacks[name]) for name in self._mutable}, **given_values}

    def given(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments that were sent, by the parameter. Errors: invalid_argument."""
        sent = self._named(given)
        try:
            # Before pydantic, which has words of its own for half a character; and after it what it
            # made: an array or object may have been sent as the text of one
            self._check_texts(sent)
            checked = {name: values.checked(arg, sent[name]) for name, arg in self._args.items() if name in sent}
            self._check_texts({name: value for name, value in checked.items() if value is not sent[name]})
        except OutliveError as error:
            raise spelled(error, MCP, self._args.values(), self.written(given)) from None
        return {self._args[name].name: value for name, value in checked.items()}

    def _check_texts(self, by_name: Mapping[str, object]) -> None:
        args = [self._args[name] for name in by_name]
        check_texts(args, {arg.name: by_name[arg.mcp] for arg in args}, escaped=False)

    def written(self, given: Mapping[str, object]) -> dict[str, str]:
        """Return how the caller spelled the arguments that it sent, by parameter."""
        return {self._names[letters_of(name)].name: name for name in given if letters_of(name) in self._names}

    def _named(self, given: Mapping[str, object]) -> dict[str, object]:
        unknown = [name for name, value in given.items() if value is not None and letters_of(name) not in self._names]
        if unknown:
            raise self._unknown(unknown)
        sent: dict[str, object] = {}
        spelled: dict[str, str] = {}
        for name, value in given.items():
            if value is None:
                continue
            arg = self._names[letters_of(name)]
            if arg.mcp in sent and sent[arg.mcp] != value:
                both = f"{spelled[arg.mcp]} and {name}"
                hint = "Send one: each names the job, which keeps its title." if arg.name == "job" else "Send one."
                raise invalid(name, f"{both} mean the same argument and have different values", hint=hint)
            sent[arg.mcp], spelled[arg.mcp] = value, name
        return sent

    def _missing(self, name: str) -> OutliveError:
        hint = "`process` action=list shows the jobs." if name == "job_id" else values.example(self._args[name])
        hint = " ".join(filter(None, (hint, self._args[name].missing)))
        return invalid(name, f"{self.shown} needs {name}", hint=hint)

    def _unknown(self, names: list[str]) -> OutliveError:
        if len(names) == 1:
            return invalid(names[0], f"{names[0]} is not an argument of {self.shown}", hint=self._advice(names[0]))
        told = names[:_MOST_UNKNOWN]
        listed = ", ".join(told) + (f" and {len(names) - len(told)} more" if len(names) > len(told) else "")
        advice: dict[str, list[str]] = {}
        for name in told:
            advice.setdefault(self._advice(name), []).append(name)
        hint = " ".join(f"{', '.join(alike)}: {_of_several(said, len(alike))}" for said, alike in advice.items())
        return invalid(names[0], f"{listed} are not arguments of {self.shown}", hint=hint)

    def _advice(self, name: str) -> str:
        names = [arg.mcp for arg in self._args.values() if arg.hidden is not True]
        near = spelling.argument(name, names, spelling=False)
        owners = self._elsewhere.get(letters_of(name), [])
        if near is None and owners:  # a correct name, sent to the wrong action
            return f"It belongs to {', '.join(owners)}."
        near = near or spelling.argument(name, names)
        if near is None:
            return f"Leave it out; the schema of the tool lists what {self.shown} takes."
        kind = self._args[near].kind
        return f"Did you mean {near} ({kind})?" if kind in (MS, SECONDS) else f"Did you mean {near}?"


def _of_several(said: str, count: int) -> str:
    return said if count == 1 else said.replace("Leave it out", "Leave them out").replace("It belongs", "They belong")


_MOST_UNKNOWN = 10  # named in an error


class Tools:
    """The tools that this server offers, and the readers of their arguments. `verbs` stand in for those of the
    tools, by action."""

    def __init__(self, offers: Iterable[str], config: Config, verbs: Mapping[str, Verb] | None = None) -> None:
        self.offers = frozenset(offers)
        known = {RUN: verbs_module.load(RUN), **process_verbs(), **(verbs or {})}
        self.run = run = known.pop(RUN)
        self.process = known if PROCESS in self.offers else {}
        self.exec_alone = PROCESS not in self.offers
        self.level = EXEC_RIGHT if EXEC in self.offers else CONTROL
        self._actions = {letters_of(name): name for name in self.process}
        self._limited = config.is_set("exec", "timeout_sec")
        elsewhere = self._owners_of_arguments()
        self._exec = Reader(run, EXEC, defaults=defaults_of(run, config), elsewhere=elsewhere)
        self._readers = {
            name: Reader(verb, f"{PROCESS} {name}", defaults=defaults_of(verb, config), elsewhere=elsewhere)
            for name, verb in self.process.items()
        }

    def read(self, tool: str, given: Mapping[str, object], *, handle: bool = False) -> tuple[Verb, dict[str, object]]:
        """Return the verb of a call and its arguments. `handle`: the caller can follow a job without the process tool.
        Errors: invalid_argument."""
        if tool == EXEC:
            return self.run, self._without_limit(self._read_exec(given, handle), given)
        name = self._action(given.get("action"))
        rest = {key: value for key, value in given.items() if key != "action"}
        if name == "spawn":
            return self.run, self._without_limit({**self._exec.read(rest), "background": True}, rest)
        return self.process[name], self._readers[name].read(rest)

    def waits(self, tool: str, given: Mapping[str, object]) -> bool:
        """Return whether a call waits for conditions, as `wait` and `exec` with `until` do; not of what cannot be
        read."""
        try:
            verb, args = self.read(tool, given, handle=True)
        except OutliveError:
            return False
        return verb.name == "wait" or bool(args.get("until"))

    def written(self, tool: str, given: Mapping[str, object]) -> dict[str, str]:
        """Return how the caller of a call that was read spelled its arguments, by parameter."""
        name = "spawn" if tool == EXEC else self._action(given.get("action"))
        return (self._exec if name == "spawn" else self._readers[name]).written(given)

    def detail(self, given: Mapping[str, object]) -> str:
        """Return the size of the answer that a call asks for. Values that a call refuses count as the default."""
        asked = next((value for name, value in given.items() if letters_of(name) == DETAIL.mcp), None)
        return FULL if str(asked).lower() == FULL else BRIEF

    def shown_by_default(self) -> Timing:
        return StartCall.taken_from(self._exec.read({"command": ""})).asked

    def _read_exec(self, given: Mapping[str, object], handle: bool) -> dict[str, object]:
        if not self.exec_alone:
            return self._exec.read(given)
        ignored = {letters_of(name) for name in WAIT_ARGUMENTS}
        args = self._exec.read({key: value for key, value in given.items() if letters_of(key) not in ignored})
        if handle:
            return args
        return {**args, "wait": True, "background": False, "yield_ms": limits.MAX_DURATION_MS}

    def _without_limit(self, args: dict[str, object], given: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments with no time limit for a job in the background, usually a server, unless the call or the
        configuration sets one."""
        sent = {name: value for name, value in given.items() if value is not None}
        if not args.get("background") or self._limited or "timeout_ms" in self._exec.written(sent):
            return args
        return {**args, "timeout_ms": 0}

    def _action(self, given: object) -> str:
        if given is None:
            raise invalid(
                "action", "process needs an action", hint='For example action="list"; action="help" lists them all.'
            )
        wanted = letters_of(str(given).strip())
        if wanted in self._actions:
            return self._actions[wanted]
        if EXEC in self.offers and wanted == "spawn":
            return "spawn"
        raise invalid(
            "action", f"{str(given)[:60]!r} is not an action of process", hint=self._advice(str(given), wanted)
        )

    def _advice(self, given: str, wanted: str) -> str:
        """Return what to send instead of an unknown action; all names only if they are asked for."""
        rights = Rights(level=self.level)
        allowed = [action for action, verb in self.process.items() if rights.allows(verb.right)]
        known = [*self.process, RUN] if EXEC in self.offers else allowed
        near = RUN if wanted == EXEC else spelling.verb(given[:60], known)
        if near == RUN and EXEC in self.offers:
            return "Use the tool exec; process spawn starts a job in the background."
        return asked_for(near, 'action="help" lists the actions.')

    def _owners_of_arguments(self) -> dict[str, list[str]]:
        """Return the calls that take an argument, by the letters of its name."""
        owners: dict[str, list[str]] = {}
        calls = [(EXEC, self.run)] if EXEC in self.offers else []
        for shown, verb in [*calls, *((f"process {name}", verb) for name, verb in self.process.items())]:
            for arg in accepted(verb):
                for name in {letters_of(arg.mcp), *map(letters_of, arg.aliases)}:
                    owners.setdefault(name, []).append(shown)
        return owners


def clamp(
    verb: Verb, args: dict[str, object], longest_ms: Callable[[], int]
) -> tuple[dict[str, object], dict[str, int]]:
    """Return the arguments with the waiting time cut to what the client allows, and what the answer says about the cut.
    `longest_ms` is asked for what is longer than MCP_CALL_MS alone."""
    name = waiting_argument(verb, args)
    if name is None:
        return args, {}
    given, most = args[name], limits.MCP_CALL_MS
    wanted = given if isinstance(given, int) else None
    if types(verb):
        args = {**args, **{other: min(number_of(args, other), most) for other in ("wait_ms", "timeout_ms")}}
    elif wanted is None or wanted > most:
        most = longest_ms()
    if wanted is None and name == "wait_ms":  # the default depends on the grace
        wanted = number_of(args, "grace_ms") + limits.KILL_WAIT_EXTRA_MS
    if wanted is not None and wanted <= most:
        return args, {}
    report = {} if wanted is None else {"requested_ms": wanted, "effective_ms": most}
    return {**args, name: most}, report


def without_limit(verb: Verb, args: dict[str, object], written: Mapping[str, str]) -> dict[str, object]:
    """Return the arguments of a call for which no client waits: it lasts until it has an answer, unless its caller gave it
    a time, as one of `written`."""
    name = waiting_argument(verb, args)
    return args if name is None or name in written else {**args, name: limits.MAX_DURATION_MS}


def waiting_argument(verb: Verb, args: Mapping[str, object]) -> str | None:
    """Return the parameter that bounds the duration of the call. `timeout_ms` of a verb that starts jobs is the
    job's."""
    if verb.name in ("poll", "wait"):
        return "timeout_ms" if "timeout_ms" in args else None
    if types(verb):  # first the job reads it, then it reacts
        return max("wait_ms", "timeout_ms", key=lambda name: number_of(args, name))
    name = "wait_ms" if verb.name == "kill" else "yield_ms"
    return None if name not in args or (args.get("background") and not args.get("until")) else name
