"""Take outlive out of the configuration of an MCP client."""

from __future__ import annotations

from outlive.client_config.edit import NONE, Change
from outlive.client_config.registry import CLIENTS, USER
from outlive.verbs.install import CLIENT, NAME, SCOPE, config_file
from outlive.verbs.spec import BOOL, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def uninstall(
    ctx: Context, *, client: str, scope: str = USER, name: str = "outlive", show: bool = False
) -> dict[str, Any]:
    """The client's file loses the entry, and keeps everything else. Jobs are not touched."""
    target = CLIENTS[client]
    file = config_file(ctx, target, scope)
    change = Change(target, file, name)
    change.take_out()
    write = not show and change.kind != NONE
    return {
        "client": client,
        "scope": scope,
        "path": file.path,
        "name": name,
        "change": change.kind,
        "written": write,
        "backup": change.write() if write else None,
    }


VERB = Verb(
    "uninstall",
    "Take outlive out of the configuration of an MCP client.",
    uninstall,
    args=(
        CLIENT,
        SCOPE,
        NAME,
        Arg("show", BOOL, "Write nothing: say what would be changed.", default=False, cli="--print"),
    ),
    result="client scope path name change written backup",
    detail="Everything else in the file stays as it is; what was there is kept beside it in FILE.before-outlive. Jobs go on.",
    mcp=False,
)
