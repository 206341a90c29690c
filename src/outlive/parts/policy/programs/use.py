"""A row of harmless.py, read."""

from __future__ import annotations

from fnmatch import fnmatchcase


class Use:
    """What of a program's words runs nothing."""

    def __init__(self, row: str) -> None:
        tokens = row.split()
        self.wordy = "words" in tokens
        self.anything = "*" in tokens
        self.has_subcommands = ">" in tokens
        self.stops = self.has_subcommands or "+" in tokens
        self.first = frozenset(token[1:] for token in tokens if token[0] == "=")
        self.check = "".join(token[1:] for token in tokens if token[0] == "!")
        self.letters: dict[str, str] = {}
        self._words: dict[str, bool] = {}
        self._patterns: list[str] = []
        for token in tokens:
            if token[0] != "-":
                continue
            if "*" in token:
                self._patterns.append(token)
            elif self.wordy or token[1] == "-":
                self._words[self._key(token.rstrip("="))] = token[-1] == "="
            else:
                letters = token[1:].rstrip(":?.")
                self.letters |= dict.fromkeys(letters, token[len(letters) + 1 :])

    def takes_next(self, option: str) -> bool | None:
        """Return whether an option that is a word takes the next one as its value; None if it is not known."""
        found = self._words.get(self._key(option))
        return False if found is None and self.matches(option) else found

    def matches(self, option: str) -> bool:
        return any(fnmatchcase(option, pattern) for pattern in self._patterns)

    def _key(self, option: str) -> str:
        return f"-{option.lstrip('-')}" if self.wordy else option
