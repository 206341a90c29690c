"""What parts of outlive do for one job in its supervisor, which knows none of them.

Such a part stands in `IN_SUPERVISOR` of the list of parts, and has a module `in_supervisor` with `ADDED`, a subclass of
`Added`. It is loaded for a job that has something of the part in `meta.json`, before the command is spawned
(large_code.py), and is lean as the supervisor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from outlive import parts
from outlive.core.record import Value
from outlive.core.records import Definition, State
from outlive.supervisor.ending.members import Reaper
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.request import Request


class Running(Value):
    """What can be seen and done while the command runs."""

    loop: EventLoop
    state: State
    pids: Callable[[], list[int]]  # of the living processes of the job
    reaper: Reaper
    end: Callable[[str, str], None]  # end the job, with this reason and this sentence


class Waiting(Value):
    """What can be done while a job waits for its start. The job is `created`, and callers see, end and delete it."""

    loop: EventLoop
    request: Request
    state: Callable[[], State]  # as it is now
    note: Callable[
        [str, object], None
    ]  # keep this in the state, as the member of this name of the part: readers see it
    go: Callable[[], None]  # it may start
    fail: Callable[[str, str], None]  # it never runs: the reason, and a sentence


class Added:
    """What a part does for one job, in the order of these methods, each of which does nothing by default.

    A process that takes over makes another one from the same definition. It starts at `taken`, or if nothing was spawned
    yet, at `wait`. So what must not be lost is in the state: as a member of the part's own in `kept`.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def wait(self, waiting: Waiting) -> bool:
        """Begin to wait until the command may be started, and later call `go` or `fail` of it, once. False: there is nothing
        to wait for. The parts wait one after the other. Errors: OSError; then nothing is started."""
        return False

    def end_wait(self) -> None:
        """End the wait, which is over or was broken off: nothing of it is left, but what the command needs."""

    def begin(self, state: State) -> State:
        """Make what the command needs, before it is spawned. A start that was killed may have made it. Errors: OSError;
        then nothing is started."""
        return state

    def held(self) -> Mapping[str, int]:
        """Return the open files that are to stay open though this process is killed (job_fds.py), by names that begin with
        that of the part. It is asked after `begin`, and after `taken` in a process with a guardian of its own."""
        return {}

    def taken(self, state: State, held: Mapping[str, int]) -> None:
        """Go on for a command that a process started which was killed. `held`: what that one held, as far as it is still
        there: nothing of it if its guardian was killed too."""

    def words(self, state: State, command: Sequence[str]) -> list[str]:
        """Return the command as it is executed: a shell string, or its words."""
        return [*command]

    def environment(self, state: State) -> Mapping[str, str]:
        """Return the variables that the command gets whatever else was given."""
        return {}

    def prepare(self) -> None:
        """Change the process that becomes the command, or the sandbox around it, before execve(2). Errors: OSError, as of execve(2)."""

    def discard(self) -> None:
        """Take back what `begin` made: nothing was started, or the command could not be executed."""

    def started(self, state: State) -> State:
        """Return the state of the command, which runs now; no file says so yet."""
        return state

    def running(self, job: Running) -> None:
        """Look after the command, which runs."""

    def ended(self, state: State) -> State:
        """Return the state of the command, which has ended (`lost`: it is not known how). No file says so yet, and the
        command is not reaped. An end that no supervisor saw is written down by a reader, without this step."""
        return state


class AllAdded:
    """What all parts do for one job, at the steps of `Added`. They wait one after the other (starting/waiting.py)."""

    def __init__(self, each: Sequence[Added]) -> None:
        self.each = each

    def __bool__(self) -> bool:
        return bool(self.each)

    def begin(self, state: State) -> State:
        for one in self.each:
            state = one.begin(state)
        return state

    def held(self) -> Mapping[str, int]:
        return {name: fd for one in self.each for name, fd in one.held().items()}

    def taken(self, state: State, held: Mapping[str, int]) -> None:
        for one in self.each:
            one.taken(state, held)

    def words(self, state: State, command: Sequence[str]) -> list[str]:
        words = [*command]
        for one in self.each:
            words = one.words(state, words)
        return words

    def environment(self, state: State) -> Mapping[str, str]:
        return {name: value for one in self.each for name, value in one.environment(state).items()}

    def prepare(self) -> None:
        for one in self.each:
            one.prepare()

    def discard(self) -> None:
        for one in self.each:
            one.discard()

    def started(self, state: State) -> State:
        for one in self.each:
            state = one.started(state)
        return state

    def running(self, job: Running) -> None:
        for one in self.each:
            one.running(job)

    def ended(self, state: State) -> State:
        for one in self.each:
            state = one.ended(state)
        return state


def to_start(definition: Definition) -> AllAdded:
    """Return what parts do for a job that is to be started. Errors: OSError if one of these parts is not installed here: the
    job would run without what it was made with."""
    missing = [part for part in parts.needed(definition.kept) if not _is_there(part)]
    if missing:
        raise OSError(0, f"it was made with {parts.not_there(missing)}")
    return _made(definition, parts.needed(definition.kept))


def of_started(definition: Definition) -> AllAdded:
    """Return what parts that are installed here do for a job whose command may run already: it is seen to its end."""
    return _made(definition, [part for part in parts.needed(definition.kept) if _is_there(part)])


def _made(definition: Definition, names: Sequence[str]) -> AllAdded:
    return AllAdded([import_module(parts.in_supervisor(name)).ADDED(definition) for name in names])


def _is_there(part: str) -> bool:
    try:
        import_module(parts.in_supervisor(part))
    except ModuleNotFoundError:
        return False
    return True


class Notes:
    """What a part notes elsewhere for one job. A part does for each job whose request has something for it
    (`for_supervisor`, part.py). Its module `in_supervisor` has `NOTES`, a subclass of this, and is loaded before the command
    is spawned (large_code.py), or where a mirror begins. Each method does nothing by default, and raises nothing: the work goes on."""

    def __init__(self, given: dict[str, Any]) -> None:
        """`given`: what `for_supervisor` of the part returned."""

    def ended(self, job_id: str, state: State) -> None:
        """Note that the job has ended so. It is called in its supervisor, or in its mirror if it ran on another machine,
        after the end is on disk for good and before a sink is notified. A process that takes over there calls it again."""

    def deleted(self, root: str, job_id: str, bound: str) -> None:
        """Note that automatic gc deletes a job of this root because of this bound of [gc]. It is called in a supervisor
        whose own job is over, by any of its threads, right before the deletion."""


def notes_of(request: Request) -> list[Notes]:
    """Return what parts that are installed here note for the job of a request."""
    made: list[Notes] = []
    for name, given in request.parts.items():
        with suppress(ModuleNotFoundError):  # of a caller with another version of outlive; the job goes on
            made.append(import_module(parts.in_supervisor(name)).NOTES(given))
    return made
