"""Calls of a caller, made in this process."""

from __future__ import annotations

from typing import Any

from outlive.config import Config
from outlive.jobs.context import Context, Principal
from outlive.store.root import Store


def caller_of(store: Store, **who: Any) -> Principal:
    """A person at a command line, or with `who` another."""
    known: dict[str, Any] = {
        "face": "cli",
        "owner": "cli",
        "client": None,
        "cwd": None,
        "env": {},
        "launcher": None,
        "shell_words": (),
    }
    return Principal(store, **{"config": Config({}, None), **known, **who})


def context_of(store: Store, **who: Any) -> Context:
    """The next call of such a caller."""
    return Context(caller_of(store, **who))
