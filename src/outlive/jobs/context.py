"""Who calls, over which store; and what one call is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from outlive.config import Config
from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.core.rights import Rights
from outlive.system import own_programs

if TYPE_CHECKING:  # TAB loads this, and needs no store
    from outlive.store.inbox import Inbox
    from outlive.store.root import Store


_NONE: Mapping[str, str | None] = {}


def note_workspaces(config: Config, env: Mapping[str, str], *workspaces: str | None) -> None:
    """Take note of where jobs in sandboxes work, from where outlive itself then runs nothing."""
    own_programs.know([*workspaces, *config.workspaces(env)], config.programs())


class Principal(Value):
    """Who calls, over which store, with which configuration and rights: what is known before a call, and does not
    change in it.

    Jobs are looked up and enumerated in `jobs/lookup.py` alone, which keeps the wall.
    """

    store: Store
    config: Config
    face: str  # "cli" | "mcp"
    owner: str  # the name that the caller's jobs belong to
    # The key of the read position that MCP keeps for each client; None: none is kept, and reading starts at 0
    client: str | None
    cwd: str | None  # the directory of a job that names none
    env: dict[str, str]  # what a job inherits
    launcher: Any  # of launch.from_cli or launch.fork_server_client
    # The words that run a shell string, or what looks them up: most calls start nothing
    shell_words: tuple[str, ...] | Callable[[], tuple[str, ...]]
    inbox: Inbox | None = None  # the notices of the caller's jobs; the command line has none
    scope: str | None = None  # is recorded with the jobs that the caller makes
    wall: str | None = None  # the scope whose jobs alone exist for this caller; None: all jobs do
    rights: Rights = Rights()  # what the caller may do, and in which directory
    token: str | None = None  # the name of the caller's token, over HTTP
    at_terminal: bool = False  # a person at the page of `outlive ui`, who types into every job, as at a terminal

    @cached_property
    def shell(self) -> tuple[str, ...]:
        return self.shell_words if isinstance(self.shell_words, tuple) else self.shell_words()


class GateDecision(Value):
    """What a gate (starting/gate.py) decided about a job, and by which rule."""

    decision: str  # allow | ask | deny
    rule: str | None


class Titled(Value):
    """The job that a title named in this call, and a sentence if other jobs have the title too."""

    job_id: str
    sentence: str | None


class Context:
    """One call: who calls, what is called, and what is found out on its way."""

    def __init__(
        self,
        caller: Principal,
        verb: str | None = None,
        *,
        detail: str = "full",
        flags: Mapping[str, str | None] = _NONE,
    ) -> None:
        note_workspaces(caller.config, caller.env, caller.cwd, caller.rights.workdir)
        self.caller = caller
        # What most verbs need of it
        self.store, self.config, self.inbox = caller.store, caller.config, caller.inbox
        self.face, self.cwd, self.env = caller.face, caller.cwd, caller.env
        self.verb = verb  # as typed: "kill", "token add"
        self.detail = detail  # the size of the answer: brief shows no snapshot
        self.flags = flags  # --root and --config as typed; None where they were not

        # --- set by the face before the verb runs ---
        # Runs a function that may wait beside the call, and goes on with it after the answer; None: nothing does.
        # Read where a start waits for approval
        self.later: Callable[[Callable[[], None]], None] | None = None
        # Asks the user of the client about a job; returns whether the answer of this call is the question.
        # Called where a start waits for approval
        self.asks: Callable[[Definition], bool] | None = None

        # --- set on the way of the verb, read by the face: while the call lasts, or for its answer ---
        # How much is done, of how much (None: not known), of what. Set by verbs that take long; shown to a person, and
        # to the client as progress
        self.progress: Callable[[], tuple[int, int | None, str]] | None = None
        self.awaited: list[str] = []  # set by `wait`: the jobs that it waits for. ^C names them, and progress
        # The job that this call started. Set where it is made, or found by its id; read by ^C, by progress, by what
        # notes a call without an answer, and by an error that must name the job
        self.job_id: str | None = None
        self.sent: Callable[[bool], None] | None = None  # set by `notices`; called with whether the answer was written
        # Sentences that the answer adds to its hint. Added where something was not done as asked, or not recorded
        self.warnings: list[str] = []

        # --- set and read on the way of the verb ---
        self.decision: GateDecision | None = None  # of a gate: set where a start is checked, for the audit record
        self.titles: dict[str, Titled] = {}  # by title; set by `lookup`, which looks once; said by the answer
        self.of_others: dict[str, str] = {}  # whose each job of another session is, by id; as `titles`
        # Whether a session has ended, by the name of its inbox: `ownership` finds it out once in a call
        self.ended_sessions: dict[str, bool] = {}
        self.shows: set[str] = set()  # the jobs of which `known_to_session` holds what this call shows
        self.left = False  # set by `notices.leave` once it has noted that this call ended without an answer

    def said(self, answered: object, *, titles: bool = True) -> list[str]:
        """Return the sentences of this call that its answer adds to its hint. `answered`: the id of the answer's job.
        With `titles` they say which job a title named."""
        # The answer may be about another job than the call named: what a run is compared with, or was started again
        this = answered if len(self.of_others) == 1 else None
        of_others = [
            f"{'This job' if this == job_id else f'Job {job_id}'} belongs to {whose}, not to this session."
            for job_id, whose in self.of_others.items()
        ]
        return [*(self.named_by_title() if titles else ()), *of_others, *self.warnings]

    def named_by_title(self) -> list[str]:
        """Return a sentence for each title that named one of several jobs in this call."""
        return [one.sentence for one in self.titles.values() if one.sentence is not None]
