"""Put an entry into a client's configuration, or take it out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from outlive.errors import OutliveError
from outlive.parts.clients import jsonc, registry
from outlive.parts.clients.entries import Entries
from outlive.parts.clients.jsonc import Misfit, Unreadable
from outlive.parts.clients.registry import Client
from outlive.parts.safe_file import ConfigFile

Document = jsonc.Document | Entries
Entry = dict[str, object]

ADDED, UPDATED, REMOVED, NONE = "added", "updated", "removed", "none"


class Change:
    """A change of one file, of the kind `kind`: added, updated, removed, none. Nothing is written before `write`."""

    def __init__(self, client: Client, file: ConfigFile, name: str, url: str | None = None) -> None:
        """Read the file. `url`: the address at which a server is outlive's, as the caller says. Errors: invalid_state
        if the server `name` is not provably outlive's; io_error, also for a file that cannot be parsed: the error names
        the line."""
        self.client = client
        self.file = file
        self.name = name
        self.kind = NONE
        self._path = (*client.keys, name)
        self._before = file.read()
        with _explained(self.file.path, client):
            self._document = parsed(client, self._before or b"")
            self.old: Any = self._document.get(self._path)
        if self.old is not None and not registry.is_ours(client, self.old, url):
            raise self._not_ours()

    def put(self, entry: Entry) -> Entry:
        """Add or update the entry. Return it as it will stand in the file, with other members that it had."""
        wanted = registry.merged(self.old, entry)
        before = self._document.text
        with _explained(self.file.path, self.client):
            if self.old is None:
                self._document.set(self._path, wanted)
            else:
                self._rewrite(wanted)
            if not registry.uses_input(self.client, self.name, wanted):
                self._drop_token_input()
            elif not self._token_inputs():
                self._document.append(("inputs",), registry.token_input(self.name))  # type: ignore[union-attr]  # VS Code has JSON
        self._check({**self._others(), self.name: wanted})
        if before != self._document.text:
            self.kind = ADDED if self.old is None else UPDATED
        return wanted

    def take_out(self) -> None:
        with _explained(self.file.path, self.client):
            if self._document.remove(self._path):
                self.kind = REMOVED
            self._drop_token_input()
        self._check(self._others())

    def write(self) -> str | None:
        """Write the file. Return the path of the original, or None if there is none (any more): taking an entry out
        makes none, and what is again as it was needs none. Errors: io_error."""
        data = self._document.text.encode("utf-8", "surrogateescape")
        original = self.file.write(self._before, data, keep=self.kind != REMOVED)
        return None if self.kind == REMOVED and self.file.is_as_it_was(data) else original

    # --- pieces ---

    def _not_ours(self) -> OutliveError:
        message = f"{self.file.path} has a server {self.name!r} already, and nothing proves that it is outlive"
        hint = "Choose another name with --name, or take that server out by hand."
        if isinstance(self.old, dict) and registry.is_ours(self.client, self.old, registry.address_of(self.old)):
            hint += f" If it is outlive: outlive uninstall {self.client.name} --name {self.name} --url ITS_URL."
        return OutliveError("invalid_state", message, hint=hint, details={"path": self.file.path})

    def _rewrite(self, wanted: Entry) -> None:
        """Change the entry member by member, so that comments inside it stay too."""
        for key in self.old:
            if key not in wanted:
                self._document.remove((*self._path, key))
        for key, value in wanted.items():
            if key not in self.old or self.old[key] != value:
                self._document.set((*self._path, key), value)

    def _drop_token_input(self) -> None:
        """Remove VS Code's input for our token, together with the entry that used it."""
        if self.old is None or not registry.uses_input(self.client, self.name, self.old):
            return
        for index in reversed(self._token_inputs()):
            self._document.drop(("inputs",), index)  # type: ignore[union-attr]  # VS Code has JSON

    def _token_inputs(self) -> list[int]:
        inputs, wanted = self._document.get(("inputs",)), registry.input_id(self.name)
        items = inputs if isinstance(inputs, list) else []
        return [number for number, item in enumerate(items) if isinstance(item, dict) and item.get("id") == wanted]

    def _others(self) -> Entry:
        servers = parsed(self.client, self._before or b"").get(self.client.keys)
        return {name: entry for name, entry in (servers or {}).items() if name != self.name}

    def _check(self, servers: Entry) -> None:
        """Read the new text before it replaces the file: nothing else may have changed."""
        before = parsed(self.client, self._before or b"")
        after = parsed(self.client, self._document.text.encode("utf-8", "surrogateescape"))
        if self._rest(before) != self._rest(after) or (after.get(self.client.keys) or {}) != servers:
            raise OutliveError(
                "internal_error",
                f"{self.file.path} is written in a way that this change would damage; nothing was written",
                hint="Add the entry by hand: --print shows it. Please report this.",
            )

    def _rest(self, document: Document) -> Entry:
        ours = {self.client.keys[0]} | ({"inputs"} if self.client.name == "vscode" else set())
        return {key: value for key, value in document.value.items() if key not in ours}


def parsed(client: Client, data: bytes) -> Document:
    """Return the client's configuration as a document. Errors: Unreadable, Misfit."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        return registry.document_of(client, text)
    except (Unreadable, Misfit):
        raise
    except RecursionError:
        raise Unreadable(text, 0, "it is nested too deeply") from None
    except ValueError as error:  # a number that is too long; in YAML also a day that no month has
        raise Unreadable(text, 0, str(error)) from None


@contextmanager
def _explained(path: str, client: Client) -> Iterator[None]:
    """Turn an error of the text into one with a hint. Errors: io_error."""
    try:
        yield
    except (Unreadable, Misfit) as error:
        line = {"line": error.line, "column": error.column} if isinstance(error, Unreadable) else {}
        raise OutliveError(
            "io_error",
            f"{path} cannot be read as {client.title}'s configuration: {error}; nothing was written",
            hint="Mend it there, or merge what --print shows by hand.",
            details={"path": path, **line},
        ) from error
