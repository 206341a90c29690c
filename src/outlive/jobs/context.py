"""Who calls, over which store."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from outlive.config import Config
    from outlive.core.records import Definition
    from outlive.core.rights import Rights
    from outlive.errors import OutliveError
    from outlive.jobs.definition import Plan
    from outlive.jobs.waiting import Waiting
    from outlive.store.pending_notices import Inbox
    from outlive.store.root import Store


class Context:
    """What a verb knows of its caller.

    `owner` is the name that the caller's jobs belong to. `client` is the key of the read position
    that MCP keeps for each client; with None no position is kept, and reading starts at 0. `inbox`
    holds the notices of the caller's jobs; the command line has none. `scope`
    is recorded with the jobs that the caller makes. `wall` is the scope whose jobs alone exist for
    this caller; with None all jobs do. Jobs are looked up and enumerated in `jobs/lookup.py` alone,
    which keeps the wall. `rights` bound what the caller may do, and in which directory; None: all.
    """

    __slots__ = (
        *("store", "config", "face", "owner", "client", "inbox", "scope", "wall", "rights"),
        *("cwd", "env", "launcher", "job_id", "awaited", "flags", "detail"),
        *("token", "verb", "decision", "warnings", "later", "ceiling", "asks", "titles", "progress", "sent", "_shell"),
    )

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        face: str,
        owner: str,
        client: str | None,
        cwd: str | None,
        env: dict[str, str],
        launcher: Any,
        shell: tuple[str, ...] | Callable[[], tuple[str, ...]],
        inbox: Inbox | None = None,
        scope: str | None = None,
        wall: str | None = None,
        rights: Rights | None = None,
        ceiling: dict[str, str] | None = None,
        token: str | None = None,
        verb: str | None = None,
        flags: dict[str, Any] | None = None,
    ) -> None:
        self.store = store
        self.config = config
        self.face = face  # "cli" | "mcp"
        self.owner = owner
        self.client = client
        self.inbox = inbox
        self.scope = scope
        self.wall = wall
        self.rights = rights
        # The most that this caller's jobs may do: {"mode", "network"} of a sandbox, both may be missing
        self.ceiling = ceiling
        self.token = token  # the name of the caller's token, over HTTP
        self.verb = verb  # as typed: "kill", "token add"
        self.decision: dict[str, str] = {}  # of the policy: decision and rule, for the audit record
        self.warnings: list[str] = []  # sentences that the answer adds to its hint
        self.titles: dict[str, str] = {}  # title → id of the job that it named in this call
        # What a person is told of a call that takes long: how much is done, of how much (None: not known), of what
        self.progress: Callable[[], tuple[int, int | None, str]] | None = None
        self.cwd = cwd  # the directory of a job that names none
        self.env = env  # what a job inherits
        self.launcher = launcher  # of launch.from_cli or launch.fork_server_client
        self._shell = shell
        self.detail = "full"  # the size of the answer: brief shows no snapshot
        self.flags = flags or {}  # --root and --config as typed; None where they were not
        # Runs a generator that yields pauses after the call has been answered; None: nothing does
        self.later: Callable[[Waiting[None]], None] | None = None
        # Asks the user of the client about a job; returns whether the answer of this call is the question
        self.asks: Callable[[Definition], bool] | None = None
        # Is told whether the answer was written, where that is noted
        self.sent: Callable[[bool], None] | None = None
        self.job_id: str | None = None  # the job that this call started, once known: ^C names it
        self.awaited: list[str] = []  # the jobs that this call waits for, once known: ^C names them too

    @property
    def shell(self) -> tuple[str, ...]:
        """The words that run a shell string. They are looked up when they are first asked for: most
        calls start nothing."""
        if not isinstance(self._shell, tuple):
            self._shell = self._shell()
        return self._shell

    def note(self, verb: str, job_id: str | None = None, **facts: Any) -> None:
        """Record that the caller is about to do this, if [audit] of the configuration says so.
        Errors: io_error if it cannot be recorded, and has to be."""
        if self.config.get("audit", "to") != "off":
            from outlive.jobs.auditing import notes  # late, as below: it is for those who configured it

            notes.note(self, verb, job_id, **facts)

    def note_start(self, verb: str, plan: Plan) -> dict[str, Any] | None:
        """Record that the caller is about to start or define a job. Return where its supervisor
        records its end, None if nothing is recorded. Errors: io_error, as `note`."""
        if self.config.get("audit", "to") == "off":
            return None
        from outlive.jobs.auditing import notes

        return notes.note_start(self, verb, plan)

    def note_unstarted(self, job_id: str, error: OutliveError) -> None:
        """Record that the start failed before the command ran."""
        if self.config.get("audit", "to") != "off":
            from outlive.jobs.auditing import notes

            notes.note_unstarted(self, job_id, error)

    def warned(self, answer: dict[str, Any], *, titles: bool = True) -> dict[str, Any]:
        """Return the answer with the warnings of this call before its hint. With `titles` they say
        which job a title named."""
        said = [*(self.named_by_title() if titles else ()), *self.warnings]
        return {**answer, "hint": " ".join([*said, *filter(None, [answer.get("hint")])])} if said else answer

    def named_by_title(self) -> list[str]:
        """Return a sentence for each title that named a job in this call."""
        return [
            f"{title!r} is a title: this is the newest job that has it, {job}." for title, job in self.titles.items()
        ]
