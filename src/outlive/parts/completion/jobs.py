"""Titles and ids of jobs that may stand in a place of a command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from itertools import islice
from typing import Any

from outlive.config import Config
from outlive.core.ids import short_id
from outlive.core.quoted import visible
from outlive.core.real_path import real_path
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context, Principal
from outlive.store.root import Store, default_path
from outlive.verbs import load

_JOBS = 50  # that are offered: the running ones, and the newest
_BY_ID = frozenset({"remove", "clear", "approve", "deny"})  # take no titles


def of(verb: str, word: str, root: str, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return titles and short ids of the jobs that the verb can be about, and the whole id where that was begun."""
    names: dict[str, str] = {}
    is_for_running = verb == "kill" or load(verb).group == "Write to a job"
    for job_id, definition, state in _newest(root, env):
        if is_for_running and state != "running":
            continue
        about = f"{state}, {visible(definition.name)}"
        title = definition.title
        is_taken = title and title.isprintable() and not title.startswith("-")  # else it would be an option
        if title and is_taken and verb not in _BY_ID and title.startswith(word):
            names.setdefault(title, f"{state}, {short_id(job_id)}")  # the newest comes first
        for name in (short_id(job_id), job_id):
            if name.startswith(word.upper()) and (word or name != job_id):
                names.setdefault(name, about)
                break
    return [*names.items()]


def _newest(root: str, env: Mapping[str, str]) -> list[tuple[str, Definition, str]]:
    """Return id, definition and state of the newest jobs. What cannot be read is left out: this is for a hint while a
    line is typed."""
    jobs = []
    try:
        store = Store.existing(real_path(os.path.expanduser(root) or default_path(env)))
    except (OSError, OutliveError):
        return []
    with closing(store), suppress(OSError):
        who: dict[str, Any] = {"face": "cli", "owner": "cli", "client": None, "cwd": None, "env": {}}
        ctx = Context(Principal(store, Config({}, None), launcher=None, shell_words=(), **who))
        live = list(islice(lookup.live_ids(ctx.caller), _JOBS))
        for job_id in dict.fromkeys([*live, *islice(lookup.job_ids(ctx.caller), _JOBS)]):
            try:
                with lookup.open_known(ctx.caller, job_id) as job:
                    definition, state = job.read_meta(), job.read_state()
            except (OSError, OutliveError):
                continue
            jobs.append((job_id, definition, state.state if state else "created"))
    return jobs
