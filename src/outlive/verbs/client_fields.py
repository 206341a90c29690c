"""The fields of the answers of `install` and `uninstall`."""

from __future__ import annotations

from outlive.verbs.field_kinds import flag, maybe_string, object_of, of, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_ONE: dict[str, Schema] = {
    "client": string("The MCP client."),
    "scope": string("Whether the file is the user's or one project's.", enum=["user", "project"]),
    "path": string("The client's configuration file."),
    "change": of(
        ["string", "null"],
        "What was done to the file (written false: would be); null: it cannot be changed.",
        enum=["added", "updated", "removed", "none", None],
    ),
    "written": flag("Was the file written?"),
    "backup": maybe_string("The file as it was before outlive first changed it; null: there was none."),
    "entry": {"type": "object", "description": "The server as it stands in the file."},
    "besides": {
        "type": "array",
        "description": "Members of the entry that the client needs to use the server well.",
        "items": object_of(
            "One member.",
            {
                "member": string("Its name."),
                "value": {"description": "Its value."},
                "why": string("What it is there for."),
            },
        ),
    },
    "fragment": string("What to merge into the file by hand."),
    "own_command": maybe_string("What the client's own command line would do the same with."),
}
CLIENTS: dict[str, Schema] = {
    **_ONE,
    "clients": {
        "type": "array",
        "description": "The clients that were found on this machine.",
        "items": object_of(
            "One client.",
            {
                "client": _ONE["client"],
                "found": string("What shows that it is there: its program, or its configuration."),
                "change": _ONE["change"],
                "written": _ONE["written"],
            },
            {
                "path": _ONE["path"],
                "name": string("The server's name in that file."),
                "backup": _ONE["backup"],
                "hint": string("What to know about it."),
            },
        ),
    },
}
