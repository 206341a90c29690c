"""What a verb knows of its caller."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.config import Config
    from outlive.store.root import Store


class Context:
    """What an action knows of its caller. `owner` is who the caller's jobs belong to; `client` keys the read position
    that MCP keeps for each client (None: no position is kept, reading starts at 0). `scope` is recorded with the jobs it
    makes. `wall` is the scope whose jobs alone exist for this caller (None: all do): actions look up and enumerate jobs
    through `access` only, which keeps it."""

    __slots__ = (
        *("store", "config", "face", "owner", "client", "scope", "wall"),
        *("cwd", "env", "launcher", "shell", "job_id", "flags"),
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
        shell: tuple[str, ...],
        scope: str | None = None,
        wall: str | None = None,
        flags: dict[str, Any] | None = None,
    ) -> None:
        self.store = store
        self.config = config
        self.face = face  # "cli" | "mcp"
        self.owner = owner
        self.client = client
        self.scope = scope
        self.wall = wall
        self.cwd = cwd  # where a job runs that names no directory
        self.env = env  # what a job inherits
        self.launcher = launcher  # launch.fork.Launcher or launch.nursery.Launcher
        self.shell = shell  # wrapper for shell strings
        self.flags = flags or {}  # `root` and `config` as they were typed, for who tells where they come from
        self.job_id: str | None = None  # of the job this call started, set once it is known: ^C names it
