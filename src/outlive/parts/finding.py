"""The argument and the result of a check."""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.config import Config
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.store.root import Store

OK, WARN, FAIL = "ok", "warn", "fail"


class Finding(Value):
    """One result. `found`: what there is; `advice`: what to do; `details`: the facts for a program."""

    status: str
    found: str
    advice: str | None = None
    details: dict[str, object] | None = None

    def told(self, name: str) -> dict[str, object]:
        told: dict[str, object] = {"name": name, "status": self.status, "found": self.found}
        if self.advice is not None:
            told["advice"] = self.advice
        return told if self.details is None else {**told, "details": self.details}


def ok(text: str, **details: object) -> Finding:
    return Finding(OK, text, None, details or None)


def warn(text: str, advice: str, **details: object) -> Finding:
    return Finding(WARN, text, advice, details or None)


def fail(text: str, advice: str, **details: object) -> Finding:
    return Finding(FAIL, text, advice, details or None)


def unopened(context: CheckContext) -> Finding:
    """Return the result of a check of the root's content, where the root is not open, or the check
    needs the configuration and there is none."""
    if context.absent is not None:
        return ok("nothing there yet: the first job creates the root")
    if context.store is not None:
        return warn("not looked at: the configuration cannot be read", "Mend the configuration first.")
    return warn("not looked at: the root cannot be opened", "Mend the root first.")


class CheckContext:
    """What the checks look at.

    `flags`: `root` and `config` as they were typed, or None. `cwd`: the caller's directory, if it
    exists. `store` and `config` are None if they are broken; `store_error` and `config_error` then
    say why. `absent`: the path of a root that does not exist yet. `versions`: job → the version of
    its supervisor, or None if the supervisor does not say it.
    """

    def __init__(self, env: Mapping[str, str], flags: Mapping[str, object], cwd: str | None = None) -> None:
        self.env = env
        self.cwd = cwd
        self.flags = flags
        self.store: Store | None = None
        self.absent: str | None = None
        self.store_error: OutliveError | None = None
        self.config: Config | None = None
        self.config_error: OutliveError | None = None
        self.versions: dict[str, str | None] = {}

    @property
    def directory(self) -> str | None:
        """The root; while there is none yet, the nearest place above it that exists; None if the
        root cannot be opened."""
        if self.store is not None:
            return self.store.path
        path = self.absent
        while path is not None and not os.path.lexists(path):
            path = os.path.dirname(path)
        return path
