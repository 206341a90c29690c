"""Change one entry of a TOML or YAML text, and leave the rest of the text as it is.

An entry is added and taken out line by line where the text then means what it should, which is
checked. Else, and inside of an entry, a library makes the change, which may move comments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from outlive.parts.clients.jsonc import Misfit, Path, Unreadable


class Entries(ABC):
    """A text that is changed. Errors: Unreadable."""

    mapping = ""  # the word of the language for {…}

    def __init__(self, text: str) -> None:
        self.text = text
        self.parsed(text)

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def value(self) -> dict[str, Any]:
        return self.parsed(self.text)

    def get(self, path: Path) -> Any:
        """Return the value at a path, or None if there is none. Errors: Misfit."""
        at: object = self.value
        for depth, key in enumerate(path):
            if at is None and depth:
                return None  # in YAML `extensions:` and nothing below it
            if not isinstance(at, dict):
                raise Misfit(f"{'.'.join(path[:depth]) or 'the file'} is not a {self.mapping}")
            if key not in at:
                return None
            at = at[key]
        return at

    def set(self, path: Path, value: object) -> None:
        """Add an entry, or set a value in one. Errors: Misfit."""
        if self.get(path) is None:
            add = self.with_entry if len(path) == 2 else self.with_member
            added = add(path, value)
            wanted = at = self.value
            for key in path[:-1]:
                at[key] = at = at.get(key) or {}
            at[path[-1]] = value
            if self._means(added, wanted):
                self.text = added
                return
        self.text = self.changed(path, value)

    def remove(self, path: Path) -> bool:
        """Take out an entry, or a member of one. Return False if it was not there. Errors: Misfit."""
        if self.get(path) is None:
            return False
        if len(path) == 2:
            cut = self.without_entry(path)
            wanted = self.value
            del wanted[path[0]][path[1]]
            # What was around the last entry may go with it
            if self._means(cut, wanted) or (not wanted.pop(path[0]) and self._means(cut, wanted)):
                self.text = cut
                return True
        self.text = self.changed(path, None)
        return True

    def _means(self, text: str, wanted: dict[str, object]) -> bool:
        try:
            return self.parsed(text) == wanted
        except (Unreadable, Misfit):
            return False

    # --- what each language does in its own way ---

    @abstractmethod
    def parsed(self, text: str) -> dict[str, object]:
        """Return what a text means. Errors: Unreadable, Misfit."""

    @abstractmethod
    def with_entry(self, path: Path, value: object) -> str:
        """Return the text with one more entry."""

    def with_member(self, _path: Path, _value: object) -> str:
        """Return the text with one more member of an entry; as it is if a library has to add it."""
        return self.text

    @abstractmethod
    def without_entry(self, path: Path) -> str:
        """Return the text without an entry."""

    @abstractmethod
    def changed(self, path: Path, value: object) -> str:
        """Return the text after a library has set a value, or deleted it if it is None."""
