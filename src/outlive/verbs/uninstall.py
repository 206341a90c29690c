"""`uninstall`: take outlive out of the configuration of an MCP client."""

from __future__ import annotations

from outlive.client_config.discover import config_file
from outlive.client_config.edit import NONE, Change
from outlive.client_config.registry import CLIENTS, LEVELS, USER
from outlive.verbs.spec import BOOL, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def uninstall(
    ctx: Context,
    *,
    client: str,
    level: str = USER,
    name: str = "outlive",
    url: str | None = None,
    show: bool = False,
) -> dict[str, Any]:
    """Take the entry out of the client's file, and leave everything else in it as it is. Jobs are not touched."""
    target = CLIENTS[client]
    file = config_file(target, level, ctx.env, ctx.cwd)
    change = Change(target, file, name, url)
    change.take_out()
    write = not show and change.kind != NONE
    return {
        "client": client,
        "scope": level,
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
        Arg("client", STR, "The MCP client.", required=True, cli="CLIENT", choices=tuple(CLIENTS)),
        Arg("level", STR, "user: for everything you do; project: for the current directory.", default=USER,
            choices=LEVELS, cli="--for", metavar="WHOM"),
        Arg("level", STR, "", default=USER, choices=LEVELS, cli="--scope", hidden=True),
        Arg("name", STR, "The server's name in that file.", default="outlive", metavar="NAME"),
        Arg("url", STR, "The address of the server, if it is at another one than `outlive serve` has by default.",
            metavar="URL"),
        Arg("show", BOOL, "Write nothing: say what would be changed.", default=False, cli="--print"),
    ),
    result="client scope path name change written backup",
    detail="Everything else in the file stays as it is. The file as it was before the first change is kept beside it as "
    "FILE.before-outlive. A server of that name is taken out only if it is provably outlive. Jobs go on.",
    mcp=False,
)  # fmt: skip
