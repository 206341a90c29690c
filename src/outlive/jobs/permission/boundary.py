"""The sandbox of a caller's jobs: what a call gets, and what a stored job may still have.

Nothing here is loaded where neither the configuration, nor the caller's rights, nor the call names a
sandbox.
"""

from __future__ import annotations

import os
import pwd

from outlive.config import default_path
from outlive.core.records import watches_of
from outlive.errors import OutliveError
from outlive.sandbox import bubblewrap, modes, view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.core.records import Definition
    from outlive.jobs.context import Context

_SETTINGS = ("mode", "ceiling", "network", "network_ceiling", "write", "hide", "show", "environment", "bwrap")
_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
# Variables that name a socket by which a program outside can be asked
_SOCKETS = ("SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "XDG_RUNTIME_DIR", "TMUX_TMPDIR")


def of_call(ctx: Context, cwd: str, args: dict[str, Any]) -> dict[str, Any] | None:
    """Return the sandbox of a job that this call defines, as it is stored; None for a job without.

    Errors: denied, invalid_argument, sandbox_unavailable.
    """
    mode, network = modes.granted(
        bounds(ctx), args.get("sandbox"), args.get("network"), elevated=bool(args.get("elevated"))
    )
    if mode == modes.OFF:
        return None
    spec = resolved(ctx, mode, network)
    view.require_visible(spec, cwd, "cwd")
    return spec


def bounds(ctx: Context) -> modes.Bounds:
    """Return the default and the ceiling of this caller: the stricter of the configuration's and
    its own."""
    return modes.bounds(_settings(ctx), ctx.ceiling)


def resolved(ctx: Context, mode: str, network: str) -> dict[str, Any]:
    """Errors: sandbox_unavailable."""
    import sys

    settings = _settings(ctx)
    return view.resolved(
        mode=mode,
        network=network,
        settings=settings,
        workspace=(ctx.rights.workdir if ctx.rights else None) or ctx.cwd,
        homes=_homes(ctx),
        secret=_secret(ctx),
        installed={sys.prefix, bubblewrap.PROGRAM},
        bwrap=bubblewrap.find(settings["bwrap"]),
    )


def _settings(ctx: Context) -> dict[str, Any]:
    return {name: ctx.config.get("sandbox", name) for name in _SETTINGS}


def _homes(ctx: Context) -> list[str]:
    found = [ctx.env.get("HOME"), os.path.expanduser("~")]
    try:
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user that the system does not list, as in some containers
        pass
    return list(dict.fromkeys(path.rstrip("/") for path in found if path and os.path.isabs(path) and path != "/")) or [
        "/nonexistent"
    ]


def _secret(ctx: Context) -> list[str]:
    """Return what of ours, and of the programs that this environment names, is hidden."""
    ours = [ctx.store.path, os.path.dirname(default_path(ctx.env)), *([ctx.config.path] if ctx.config.path else [])]
    ours += [os.path.join(ctx.env[name], "outlive") for name in _XDG if ctx.env.get(name)]
    sockets = [ctx.env[name].removeprefix("unix://") for name in _SOCKETS if ctx.env.get(name)]
    return [path for path in (*ours, *sockets) if os.path.isabs(path) and path.strip("/")]


def require(ctx: Context, definition: Definition, doing: str) -> None:
    """Refuse what would let this caller do more than its own ceiling by way of a stored job.

    Errors: denied.
    """
    spec = definition.sandbox
    if not (ctx.config.has("sandbox") or ctx.ceiling or spec):
        return
    limit = bounds(ctx)
    if limit.most_mode == modes.OFF:
        return
    if not modes.within(spec, limit):
        had = "without a sandbox" if spec is None else f"in the sandbox {spec['mode']} with network {spec['network']}"
        raise OutliveError(
            "denied",
            f"the job was defined {had}; this caller may {doing} one of at most {limit.most_mode} with network "
            f"{limit.most_network}",
            hint="Run the command as a new job.",
        )
    assert spec is not None
    own = resolved(ctx, spec["mode"], spec["network"])
    foreign = [path for path in spec["roots"] if not view.is_in(path, own["roots"])]
    if foreign and spec["mode"] == "workspace-write":
        raise OutliveError(
            "denied",
            f"the job may write {foreign[0]}, this caller may not",
            hint="Run the command as a new job, or start outlive in that directory.",
        )


def require_usable(definition: Definition) -> None:
    """Errors: sandbox_unavailable if the job's bwrap is gone, invalid_argument if its directory is
    not visible to it."""
    spec = definition.sandbox
    if spec is None:
        return
    if not os.access(spec["bwrap"], os.X_OK):
        raise bubblewrap.unavailable(f"{spec['bwrap']} is gone", bubblewrap.INSTALL)
    view.require_visible(spec, definition.cwd, "cwd")


def inherited(definition: Definition, environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that a job inherits."""
    spec = definition.sandbox
    return environment if spec is None else view.filtered(environment, spec["environment"])


def require_sinks(definition: Definition) -> None:
    """Check the files that notifications go to: the job must be able to write them. Errors: denied."""
    if definition.sandbox is None:
        return
    files = [("notify_file", definition.notification.get("notify_file"))]
    files += [("watch", watch.get("file")) for watch in watches_of(definition.notification)]
    for field, path in files:
        if path is not None:
            view.require_writable(definition.sandbox, path, field)


def not_set_up(message: str) -> OutliveError:
    return bubblewrap.unavailable(f"the sandbox could not be set up: {message}")
