"""Who calls, over which store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from outlive.answers import advice
from outlive.config import Config
from outlive.core.record import Record
from outlive.core.records import Definition
from outlive.core.rights import Rights
from outlive.system import own_programs

if TYPE_CHECKING:  # TAB loads this, and needs no store
    from outlive.store.inbox import Inbox
    from outlive.store.root import Store


_NONE: Mapping[str, str | None] = {}


def know(config: Config, env: Mapping[str, str], *workspaces: str | None) -> None:
    """Take note of where jobs in sandboxes work, from where outlive itself then runs nothing."""
    own_programs.know([*workspaces, *config.workspaces(env)], config.programs())


class Context(Record, frozen=False, kw_only=False):
    """What a verb knows of its caller.

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
    rights: Rights | None = None  # what the caller may do, and in which directory; None: all
    # The most that this caller's jobs may do: {"mode", "network"} of a sandbox, both may be missing
    ceiling: dict[str, str] | None = None
    token: str | None = None  # the name of the caller's token, over HTTP
    verb: str | None = None  # as typed: "kill", "token add"
    flags: Mapping[str, str | None] = _NONE  # --root and --config as typed; None where they were not
    detail: str = "full"  # the size of the answer: brief shows no snapshot

    def __post_init__(self) -> None:
        workdir = None if self.rights is None else self.rights.workdir
        know(self.config, self.env, self.cwd, workdir)
        self.decision: dict[str, str] = {}  # of the policy: decision and rule, for the audit record
        self.warnings: list[str] = []  # sentences that the answer adds to its hint
        # Title → id of the job that it named in this call, and a sentence if other jobs have it too
        self.titles: dict[str, tuple[str, str | None]] = {}
        # Whether a session has ended, by the name of its inbox, as far as this call has found out
        self.ended_sessions: dict[str, bool] = {}
        # Id → whose it is, of each job of another session that this call named
        self.of_others: dict[str, str] = {}
        # What a person is told of a call that takes long: how much is done, of how much (None: not known), of what
        self.progress: Callable[[], tuple[int, int | None, str]] | None = None
        # Runs a function that may wait beside the call, and goes on with it after the answer; None: nothing does
        self.later: Callable[[Callable[[], None]], None] | None = None
        # Asks the user of the client about a job; returns whether the answer of this call is the question
        self.asks: Callable[[Definition], bool] | None = None
        # Is told whether the answer was written, where that is noted
        self.sent: Callable[[bool], None] | None = None
        self.job_id: str | None = None  # the job that this call started, once known: ^C names it
        self.left = False  # whether it was noted that this call ended without an answer
        self.awaited: list[str] = []  # the jobs that this call waits for, once known: ^C names them too

    @property
    def shell(self) -> tuple[str, ...]:
        if not isinstance(self.shell_words, tuple):
            self.shell_words = self.shell_words()
        return self.shell_words

    def warned(self, answer: dict[str, object], *, titles: bool = True) -> dict[str, object]:
        """Return the answer with the warnings of this call before its hint. With `titles` they say
        which job a title named."""
        # The answer may be about another job than the call named: what a run is compared with, or was started again
        this = answer.get("job_id") if len(self.of_others) == 1 else None
        of_others = [
            f"{'This job' if this == job_id else f'Job {job_id}'} belongs to {whose}, not to this session."
            for job_id, whose in self.of_others.items()
        ]
        said = [*(self.named_by_title() if titles else ()), *of_others, *self.warnings]
        return advice.noted(answer, said)

    def named_by_title(self) -> list[str]:
        """Return a sentence for each title that named one of several jobs in this call."""
        return [sentence for _, sentence in self.titles.values() if sentence is not None]
