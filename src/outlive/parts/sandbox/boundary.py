"""The sandbox of a caller's jobs: what a call gets, and what a stored job may still have."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from typing import Any

from outlive.core.real_path import real_path
from outlive.core.records import Definition, GrantedSandbox, Sandbox
from outlive.errors import OutliveError
from outlive.jobs.context import Principal
from outlive.jobs.starting import boundary
from outlive.launch import engines
from outlive.launch.engines import Host
from outlive.parts.sandbox import diagnosis, modes
from outlive.parts.sandbox.confinement import access, bubblewrap, gitconfig, visible_paths
from outlive.parts.sandbox.reach import Reach
from outlive.parts.sandbox.settings import sandbox_of
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output
from outlive.system import interpreter, own_programs


class Sandboxed(boundary.Boundary):
    def of_call(self, caller: Principal, host: Host | None, cwd: str, args: dict[str, Any]) -> Sandbox | None:
        # Where a host does not share our files, this is the sandbox of the job's notification commands, which run here;
        # the host makes that of the job, of the same mode
        asked = self.granted(caller, host, args)
        if asked.mode == modes.OFF:
            return None
        is_apart = host is not None and host.engine.mirrors
        sandbox = gitconfig.noted(resolved(caller, asked, needed=not is_apart), caller.env)
        if not is_apart:
            access.require_visible(sandbox, cwd, "cwd")
        access.note(sandbox, caller.env)
        return sandbox

    def granted(self, caller: Principal, host: Host | None, args: Mapping[str, Any]) -> GrantedSandbox:
        limit = bounds(caller, None if host is None else host.name)
        elevated = bool(args.get("elevated"))
        return modes.granted(limit, args.get("sandbox"), args.get("network"), args.get("git"), elevated=elevated)

    def require(self, caller: Principal, definition: Definition, doing: str) -> None:
        # A caller whose ceiling is off may do what it wants without the job; what the job itself is kept from is in `renewed`
        sandbox = definition.sandbox
        _require_given(caller, definition)
        limit = bounds(caller, definition.host)
        if limit.most_mode == modes.OFF:
            return
        if not modes.within(sandbox, limit):
            had = (
                "without a sandbox"
                if sandbox is None
                else f"in the sandbox {sandbox.mode} with network {sandbox.network}, git {sandbox.git}"
            )
            raise OutliveError(
                "denied",
                f"the job was defined {had}; this caller may {doing} one of at most {limit.most_mode} with network "
                f"{limit.most_network}, git {limit.most_git}",
                hint="Run the command as a new job.",
            )
        assert sandbox is not None
        own = _own(caller, sandbox, needed=not engines.is_apart(caller.config, definition))
        _require_shown(sandbox, own, may_hide=doing in ("start", "restart"))

    def renewed(self, caller: Principal, definition: Definition) -> Sandbox:
        # Whatever this caller may: what a new job in its place is kept from, it is kept from too
        before = definition.sandbox
        assert before is not None
        ours = _ours(caller, needed=not engines.is_apart(caller.config, definition))
        now = access.stricter(before, settings=sandbox_of(caller.config), homes=_homes(caller), ours=ours)
        now = gitconfig.noted(now, caller.env)
        own_programs.know(now.roots)
        access.note(now, caller.env)
        return Sandbox.replace(now, added=[*dict.fromkeys((*before.added, *_added(before, now)))])

    def require_usable(self, caller: Principal, definition: Definition) -> None:
        sandbox = definition.sandbox
        if sandbox is None or engines.is_apart(caller.config, definition):
            return
        if not bubblewrap.may_run(sandbox.bwrap):
            raise bubblewrap.unavailable(f"{sandbox.bwrap} is gone, or a job could write it", bubblewrap.INSTALL)
        access.require_visible(sandbox, definition.cwd, "cwd")

    def require_sinks(self, caller: Principal, definition: Definition) -> None:
        limit, told = bounds(caller), definition.notification
        sinks = [told.targets, *(watch.targets for watch in told.every_watch)]
        runs_here = definition.host is not None and any(sinks) and limit.most_mode != modes.OFF
        if runs_here and not modes.within(definition.sandbox, limit):
            raise OutliveError(
                "denied",
                f"what notifies of a job on {definition.host} runs on this machine, where jobs of this caller have at most "
                f"{limit.most_mode} with network {limit.most_network}, git {limit.most_git}; the job there has more",
                hint="Ask for a job there with no more than that, or wait for it without notifications.",
            )
        if definition.sandbox is None:
            return
        if runs_here:
            _require_shown(definition.sandbox, _own(caller, definition.sandbox, needed=False), may_hide=False)
        if not definition.sandbox.bwrap:  # on this machine there is none, and the commands would run here
            bubblewrap.find(None)
        files = [("notify_file", told.notify_file), *(("watch", watch.file) for watch in told.every_watch)]
        for field, path in files:
            if path is not None:
                access.require_writable(definition.sandbox, path, field)

    def require_readable(self, sandbox: Sandbox, path: str, field: str) -> None:
        access.require_readable(sandbox, path, field)

    def reach(self, caller: Principal) -> Reach | None:
        limit = bounds(caller)
        if limit.most_mode == modes.OFF:
            return None
        sandbox = resolved(caller, GrantedSandbox(limit.most_mode, limit.most_network, limit.most_git), needed=False)
        return Reach(sandbox, network=limit.most_network == "open")

    def inherited(self, sandbox: Sandbox, environment: dict[str, str]) -> dict[str, str]:
        return visible_paths.filtered(environment, sandbox.environment)

    def cause(self, inspection: Inspection, output: Output) -> str | None:
        return diagnosis.hint(inspection, output)

    def gone(self, definition: Definition) -> str | None:
        assert definition.sandbox is not None
        return diagnosis.gone(definition.sandbox, " ".join(definition.command))

    def not_set_up(self, message: str) -> OutliveError:
        what = f"the sandbox could not be set up: {message}"
        if message.startswith("bwrap: Can't chdir to"):  # a job may have shut its workspace
            return bubblewrap.unavailable(what, "Its owner may not enter this directory: `chmod u+rwx` allows it.")
        if message.startswith("bwrap"):  # what we say ourselves is about directories, and has its advice in it
            return bubblewrap.unavailable(what)
        return OutliveError("sandbox_unavailable", f"{what}; nothing was run")


BOUNDARY = Sandboxed()


def bounds(caller: Principal, host: str | None = None) -> modes.Bounds:
    """Return the default and the ceiling of this caller on a host (None: this machine): the
    stricter of the configuration's and its own."""
    return modes.bounds(sandbox_of(caller.config, host), caller.rights.sandbox)


def resolved(caller: Principal, asked: GrantedSandbox, *, needed: bool = True) -> Sandbox:
    """Return the sandbox as it is stored. Unless it is `needed`, it may have no bwrap: nothing can
    run in it then. Errors: sandbox_unavailable."""
    sandbox = access.resolved(
        granted=asked,
        settings=sandbox_of(caller.config),
        environment=caller.env,
        workspace=caller.rights.workdir or caller.cwd,
        homes=_homes(caller),
        ours=_ours(caller, needed=needed),
    )
    own_programs.know(sandbox.roots)
    return sandbox


def _own(caller: Principal, sandbox: Sandbox, *, needed: bool) -> Sandbox:
    """Return the sandbox that a new job of this caller gets with the same rights."""
    return resolved(caller, GrantedSandbox(sandbox.mode, sandbox.network, sandbox.git), needed=needed)


def _added(before: Sandbox, now: Sandbox) -> Iterator[str]:
    """Yield what of the places that a job is shown is kept from it now, and was not before."""
    shown = visible_paths.visible(now)
    for path in (*now.hide, *now.protect):
        if path not in (*before.hide, *before.protect) and visible_paths.is_in(path, shown):
            yield path
    folders = [path for path in now.git_folders if path not in before.git_folders]
    for path in (os.path.normpath(os.path.join(root, folder)) for folder in folders for root in now.roots):
        if visible_paths.is_in(path, now.roots) and os.path.isdir(path):
            yield path


def _ours(caller: Principal, *, needed: bool) -> access.Ours:
    try:
        bwrap = bubblewrap.find(sandbox_of(caller.config).bwrap)
    except OutliveError:
        if needed:
            raise
        bwrap = ""
    return access.Ours(_secret(caller), interpreter.installed(), bwrap)


def _homes(caller: Principal) -> list[str]:
    homes = [caller.env.get("HOME"), os.path.expanduser("~")]
    try:
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user that the system does not list, as in some containers
        pass
    return list(dict.fromkeys(path.rstrip("/") for path in homes if path and os.path.isabs(path) and path != "/")) or [
        "/nonexistent"
    ]


def _secret(caller: Principal) -> list[str]:
    """Return what is ours, by each way to name it. A server takes what it keeps from its own environment."""
    ours = [caller.store.path, *([caller.config.path] if caller.config.path else [])]
    for env in (caller.env, os.environ):
        ours += access.of_variables(env)
    return [*dict.fromkeys(ours)]


def _require_shown(sandbox: Sandbox, own: Sandbox, *, may_hide: bool) -> None:
    """Refuse a stored job that is shown what this caller's own jobs are not, whatever its mode: its variables and its
    input are the caller's. `may_hide`: what was hidden since is hidden from the job when it starts. Errors: denied."""
    shown, of_own = visible_paths.visible(sandbox), visible_paths.visible(own)
    more = [path for path in shown if not visible_paths.is_in(path, of_own) or visible_paths.is_in(path, own.hide)]
    if not may_hide:
        hidden = [path for path in own.hide if not visible_paths.is_in(path, sandbox.hide)]
        more += [path for path in hidden if visible_paths.is_in(path, shown)]
    if not more:
        return
    may = "write" if sandbox.mode == "workspace-write" and more[0] in sandbox.roots else "read"
    raise OutliveError(
        "denied",
        f"the job may {may} {more[0]}, this caller may not",
        hint="Run the command as a new job, or start outlive in that directory.",
    )


def _require_given(caller: Principal, definition: Definition) -> None:
    """Refuse a stored job that is given what is in a file of this machine which this caller's own jobs here do not see.
    Errors: denied."""
    given = [*definition.env_files, *([] if definition.stdin_path is None else [definition.stdin_path])]
    limit = bounds(caller)
    if (
        not given or caller.face != "mcp" or limit.most_mode == modes.OFF
    ):  # the command line could name the files itself
        return
    own = resolved(caller, GrantedSandbox(limit.most_mode, limit.most_network, limit.most_git), needed=False)
    for path in given:
        if not access.is_readable(own, real_path(path)):
            raise OutliveError(
                "denied",
                f"the job is given what is in {path}, which jobs of this caller cannot see",
                hint="Run the command as a new job.",
            )
