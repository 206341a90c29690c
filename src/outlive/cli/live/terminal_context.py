"""The context of a program that takes over the process: a terminal, or the hook of an agent."""

from __future__ import annotations

import os

from outlive import config
from outlive.jobs.context import Context
from outlive.launch.from_cli import Launcher
from outlive.store.root import Store
from outlive.verbs.spec import GlobalOptions


def opened(options: GlobalOptions, verb: str) -> Context:
    """Return the context of the program `verb`; its caller closes the store. Errors: config_error, store_unsafe,
    io_error."""
    env = dict(os.environ)
    settings = config.load(env, options.config)
    store = Store.open(options.root, env)
    owner, wrapper = env.get("OUTLIVE_OWNER") or "cli", ("sh", "-lc")
    how = {"face": "cli", "client": None, "cwd": None, "launcher": Launcher(), "verb": verb}
    return Context(store, settings, owner=owner, env=env, shell=wrapper, **how)  # type: ignore[arg-type]
