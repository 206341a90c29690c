"""The fields of the answers of `install` and `uninstall`."""

from __future__ import annotations

from outlive.verbs.field_kinds import _flag, _maybe_string, _object, _of, _string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_ONE: dict[str, Schema] = {
    "client": _string("The MCP client."),
    "scope": _string("Whether the file is the user's or one project's.", enum=["user", "project"]),
    "path": _string("The client's configuration file."),
    "change": _of(
        ["string", "null"],
        "What was done to the file (written false: would be); null: it cannot be changed.",
        enum=["added", "updated", "removed", "none", None],
    ),
    "written": _flag("Was the file written?"),
    "backup": _maybe_string("The file as it was before outlive first changed it; null: there was none."),
    "entry": {"type": "object", "description": "The server as it stands in the file."},
    "besides": {
        "type": "array",
        "description": "Members of the entry that the client needs to use the server well.",
        "items": _object(
            "One member.",
            {
                "member": _string("Its name."),
                "value": {"description": "Its value."},
                "why": _string("What it is there for."),
            },
        ),
    },
    "fragment": _string("What to merge into the file by hand."),
    "own_command": _maybe_string("What the client's own command line would do the same with."),
}
CLIENTS: dict[str, Schema] = {
    **_ONE,
    "clients": {
        "type": "array",
        "description": "The clients that were found on this machine.",
        "items": _object(
            "One client.",
            {
                "client": _ONE["client"],
                "found": _string("What shows that it is there: its program, or its configuration."),
                "change": _ONE["change"],
                "written": _ONE["written"],
            },
            {
                "path": _ONE["path"],
                "name": _string("The server's name in that file."),
                "backup": _ONE["backup"],
                "hint": _string("What to know about it."),
            },
        ),
    },
}
