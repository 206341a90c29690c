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
    from outlive.hosts.engines import Host
    from outlive.jobs.context import Context

_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
# Variables that name a socket by which a program outside can be asked
_SOCKETS = ("SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "XDG_RUNTIME_DIR", "TMUX_TMPDIR")


def of_call(ctx: Context, host: Host | None, cwd: str, args: dict[str, Any]) -> dict[str, Any] | None:
    """Return the sandbox of a job that this call defines, as it is stored; None for a job without.

    Where a host does not share our files, this is the sandbox of the job's notification commands,
    which run here; the host makes that of the job, of the same mode. Errors: denied,
    invalid_argument, sandbox_unavailable.
    """
    elevated = bool(args.get("elevated"))
    mode, network = granted(ctx, host, args.get("sandbox"), args.get("network"), elevated=elevated)
    if mode == modes.OFF:
        return None
    if host is not None and not host.engine.SHARES_FILES:
        return resolved(ctx, mode, network, needed=False)
    spec = resolved(ctx, mode, network)
    view.require_visible(spec, cwd, "cwd")
    return spec


def granted(
    ctx: Context, host: Host | None, mode: str | None, network: str | None = None, *, elevated: bool = False
) -> tuple[str, str]:
    """Return mode and network of a call that asks for these on a host. Errors: denied,
    invalid_argument."""
    return modes.granted(bounds(ctx, None if host is None else host.name), mode, network, elevated=elevated)


def bounds(ctx: Context, host: str | None = None) -> modes.Bounds:
    """Return the default and the ceiling of this caller on a host (None: this machine): the
    stricter of the configuration's and its own."""
    return modes.bounds(ctx.config.sandbox_of(host), ctx.ceiling)


def resolved(ctx: Context, mode: str, network: str, *, needed: bool = True) -> dict[str, Any]:
    """Return the sandbox as it is stored. Unless it is `needed`, it may have no bwrap: nothing can
    run in it then. Errors: sandbox_unavailable."""
    import sys

    settings = ctx.config.sandbox_of(None)
    try:
        bwrap = bubblewrap.find(settings["bwrap"])
    except OutliveError:
        if needed:
            raise
        bwrap = ""
    return view.resolved(
        mode=mode,
        network=network,
        settings=settings,
        workspace=(ctx.rights.workdir if ctx.rights else None) or ctx.cwd,
        homes=_homes(ctx),
        secret=_secret(ctx),
        installed={sys.prefix, bubblewrap.PROGRAM},
        bwrap=bwrap,
    )


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
    if not (ctx.config.uses("sandbox") or ctx.ceiling or spec):
        return
    limit = bounds(ctx, definition.host)
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
    own = resolved(ctx, spec["mode"], spec["network"], needed=not _is_apart(ctx, definition))
    foreign = [path for path in spec["roots"] if not view.is_in(path, own["roots"])]
    if foreign and spec["mode"] == "workspace-write":
        raise OutliveError(
            "denied",
            f"the job may write {foreign[0]}, this caller may not",
            hint="Run the command as a new job, or start outlive in that directory.",
        )


def _is_apart(ctx: Context, definition: Definition) -> bool:
    """Return whether a job runs on a host that does not share our files."""
    if definition.host is None:
        return False
    from outlive.hosts import engines

    return not engines.host_of(ctx.config, definition.host).engine.SHARES_FILES


def require_usable(ctx: Context, definition: Definition) -> None:
    """Errors: sandbox_unavailable if the job's bwrap is gone, invalid_argument if its directory is
    not visible to it."""
    spec = definition.sandbox
    if spec is None or _is_apart(ctx, definition):
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
    if not definition.sandbox["bwrap"]:  # on this machine there is none, and the commands would run here
        bubblewrap.find(None)
    files = [("notify_file", definition.notification.get("notify_file"))]
    files += [("watch", watch.get("file")) for watch in watches_of(definition.notification)]
    for field, path in files:
        if path is not None:
            view.require_writable(definition.sandbox, path, field)


def not_set_up(message: str) -> OutliveError:
    return bubblewrap.unavailable(f"the sandbox could not be set up: {message}")
