"""The answers of install and uninstall."""

from __future__ import annotations

from typing import Annotated, Any

from outlive.answers import Answer, Fields, field, maybe, optional
from outlive.answers.job import HINT

_CHANGES = ["added", "updated", "removed", "none", None]
_CLIENT = "The MCP client."
_SCOPE = "Whether the file is the user's or one project's."
_PATH = "The client's configuration file."
_NAME = "The server's name in the client's configuration file."
_CHANGE = "What was done to the file (written false: would be); null: it cannot be changed."
_WRITTEN = "Was the file written?"
_BACKUP = "The file as it was before outlive first changed it; null: there is none."


class _Besides(Fields):
    """One member."""

    member: str = field("Its name.")
    value: Any = field("Its value.")
    why: str = field("What it is there for.")


Besides = Annotated[dict[str, object], _Besides]


class ClientAnswer(Fields):
    """One client."""

    found: str = field("What shows that it is there: its program, or its configuration.")
    client: str = field(_CLIENT)
    path: str | None = optional(_PATH)
    name: str | None = optional("The server's name in that file.")
    change: str | None = field(_CHANGE, enum=_CHANGES)
    written: bool = field(_WRITTEN)
    backup: str | None = maybe(_BACKUP)
    hint: str | None = optional("What to know about it.")


class Uninstalled(Answer):  # of uninstall: what was done to the file of one client, or `clients`
    client: str | None = optional(_CLIENT)
    scope: str | None = optional(_SCOPE, enum=["user", "project"])
    path: str | None = optional(_PATH)
    name: str | None = optional(_NAME, human=9)
    change: str | None = maybe(_CHANGE, enum=_CHANGES)
    clients: list[ClientAnswer] | None = optional("The clients that had outlive.")
    hint: str | None = HINT
    written: bool | None = optional(_WRITTEN)
    backup: str | None = maybe(_BACKUP)


class Installed(Uninstalled):  # of install: the same of what was written, and the entry
    clients: list[ClientAnswer] | None = optional("The clients that were found on this machine.")
    entry: dict[str, object] | None = optional("The server as it stands in the file.")
    besides: list[Besides] | None = optional("Members of the entry that the client needs to use the server well.")
    fragment: str | None = optional("What to merge into the file by hand.")
    own_command: str | None = maybe("What the client's own command line would do the same with.")
