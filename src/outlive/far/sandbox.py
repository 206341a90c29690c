"""The sandbox of a job here: what it may be is decided where the job was asked for, and what it
shows of this machine is decided here."""

from __future__ import annotations

import os

from outlive.annotations import Any
from outlive.core.records import Sandbox
from outlive.sandbox import bubblewrap, modes, view
from outlive.store.root import Store


def resolved(store: Store, asked: dict[str, Any] | None, cwd: str, home: str) -> Sandbox | None:
    """Return the sandbox of a job as it is stored; None for a job without.

    Writable are the configured directory of the host and what the configuration names, never the
    directory that a call asks for. Errors: sandbox_unavailable, invalid_argument.
    """
    if asked is None:
        return None
    workdir = asked.get("workdir")
    sandbox = view.resolved(
        granted=modes.Granted(asked["mode"], asked["network"], asked["git"]),
        environment=os.environ,
        settings=asked,
        workspace=os.path.realpath(os.path.expanduser(workdir)) if workdir else None,
        homes=[home],
        ours=view.Ours([store.path], [bubblewrap.PROGRAM], bubblewrap.find(None)),
    )
    view.require_visible(sandbox, cwd, "cwd")
    return sandbox
