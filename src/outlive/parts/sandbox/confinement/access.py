"""What a job in a sandbox may see and write, as it is stored with the job.

`resolved` is called for the request, where the configuration and the caller are known. mounts.py
makes it true right before the start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from outlive.core.base_directories import base_directory, state_directory
from outlive.core.ids import sha256
from outlive.core.real_path import real_path
from outlive.core.record import Value
from outlive.core.records import GrantedSandbox, Sandbox
from outlive.errors import OutliveError, argument, invalid, misconfigured
from outlive.parts.sandbox.confinement import visible_paths
from outlive.parts.sandbox.confinement.search import may_be_there
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system import interpreter, mounts, workspaces
from outlive.system.paths import as_listed, is_in_one, make_folders, may_change, nearest

if TYPE_CHECKING:  # a supervisor loads this, and no configuration
    from outlive.parts.sandbox.settings import Settings

_CACHES = ".cache/outlive/sandbox"  # below the home: what tools cache in sandboxes
# Below the home: configuration, jobs and state, also where a variable of this caller names others
_USUAL = (".config/outlive", ".local/share/outlive", ".local/state/outlive")


# Below one of SETTINGS where agents put working trees: .claude/worktrees/NAME, ~/.codex/worktrees/ID/NAME
_TREES = "worktrees"
# What lies in a git directory, also in one of another name than `.git`. A working tree may lie beside it
_OF_GIT = frozenset("hooks info logs modules objects refs worktrees".split())
# File systems whose files are settings of the kernel, and of no user
KERNEL_FILE_SYSTEMS = frozenset(
    "proc sysfs cgroup cgroup2 devtmpfs devpts debugfs tracefs securityfs configfs pstore bpf efivarfs selinuxfs smackfs "
    "fusectl binfmt_misc mqueue resctrl nfsd rpc_pipefs".split()
)


def is_workspace(path: str, homes: Iterable[str]) -> bool:
    """Return whether a directory may be writable because a server or a command line was started in it: neither a home
    nor above one, nor of the kernel, as /proc/sys and control groups are, nor /dev, where the program lies that begins a sandbox."""
    if path in ("/", "/dev") or any(is_in(home, [path]) for home in homes) or is_in(path, ("/proc", "/sys")):
        return False
    mount = mounts.holding(path)
    return mount is None or mount.type not in KERNEL_FILE_SYSTEMS


def _obeyed_above(path: str, git: str) -> str | None:
    """Return the directory that a path lies in, or is, whose content git or tools run by themselves; None for none. With
    `git` "write" a job may write what git runs."""
    steps = path.split("/")
    lower = [step.lower() for step in steps]  # a directory may ignore case
    for at, name in enumerate(lower):
        above = "/".join(steps[: at + 1])
        is_settings = not {name, "/".join(lower[at - 1 : at + 1])}.isdisjoint(visible_paths.SETTINGS) and not (
            lower[at + 1 : at + 2] == [_TREES] and lower[at + 2 :]
        )
        is_git = name == ".git" or (name in _OF_GIT and _is_git(os.path.dirname(above)))
        if is_settings or (is_git and git != "write"):
            return above
    return None


def _is_git(folder: str) -> bool:
    return all(may_be_there(f"{folder}/{name}") for name in ("HEAD", "objects"))


class Ours(Value):
    """What is ours on a machine. `secret`: what is hidden where it lies in something that is shown.
    `installed`: our program, which stays read-only. `bwrap`: the path of bubblewrap."""

    secret: Iterable[str]
    installed: Iterable[str]
    bwrap: str


def of_variables(env: Mapping[str, str]) -> list[str]:
    """Return what is ours for a process with these variables."""
    ours = [env.get("OUTLIVE_ROOT", ""), env.get("OUTLIVE_CONFIG", ""), state_directory(env)]
    for variable, usual in (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share")):
        ours.append(os.path.join(base_directory(env, variable, usual), "outlive"))
    return [path for path in ours if os.path.isabs(path) and path.strip("/")]


def resolved(
    *,
    granted: GrantedSandbox,
    settings: Settings,
    workspace: str | None,
    homes: list[str],
    ours: Ours,
    environment: Mapping[str, str] | None = None,
) -> Sandbox:
    """Return the sandbox of a job as it is stored. `workspace`: where the server or command line was started.
    `environment`: the caller's, whose toolchains are shown. Errors: config_error, invalid_argument."""
    writes = granted.mode == "workspace-write"
    homes = _as_listed(homes)
    home = homes[0]
    roots = [_own_name(workspace, "the directory that outlive was started in")] if workspace else []
    roots = [path for path in roots if is_workspace(path, homes)]
    roots += [_written(_expanded(path, home), homes) for path in settings.write]
    outer = [path for path in dict.fromkeys(roots) if not is_in(path, [root for root in roots if root != path])]
    git = granted.git if writes else "read"
    if writes:
        _require_harmless(outer, git)
    hide = _to_hide(outer, settings, homes, ours, writes=writes)
    # Where a job can have decided where ~/.cache leads, nothing is made there
    caches = visible_paths.fixed(f"{home}/.cache", home, written=outer, states=hide)
    return Sandbox(
        mode=granted.mode,
        network=granted.network,
        git=git,
        roots=outer,
        root_ids=[_identity(path) for path in outer],
        home=home,
        hide=hide,
        show=[_shown(path, home) for path in settings.show],
        toolchains=[
            path
            for path in visible_paths.toolchains(environment or {}, home)
            if not is_in(path, outer) and not _respells(path, hide)
        ],
        protect=_to_protect(outer, ours),
        cache=_cache(caches, outer) if writes and outer and caches and os.path.isdir(home) else None,
        environment=list(settings.environment),
        bwrap=ours.bwrap,
    )


def note(sandbox: Sandbox, env: Mapping[str, str]) -> None:
    """From now on no process of ours runs a program from where this job may write. `env`: of its caller."""
    if sandbox.mode == "workspace-write":
        workspaces.note(sandbox.roots, env)


def stricter(before: Sandbox, *, settings: Settings, homes: list[str], ours: Ours) -> Sandbox:
    """Return the sandbox of a job that was defined earlier as it is to start now: what it may write stays, and it is
    kept from what it was kept from before and from what a new job there is kept from. Errors: config_error."""
    homes = list(dict.fromkeys((before.home, *_as_listed(homes))))
    writes = before.mode == "workspace-write"
    if writes:
        _require_harmless(before.roots, before.git)
    hide = _to_hide(before.roots, settings, homes, ours, writes=writes)
    show = [_shown(path, before.home) for path in settings.show]
    return Sandbox.replace(
        before,
        hide=[*dict.fromkeys((*before.hide, *hide))],
        show=[path for path in before.show if is_in(path, [*show, *before.roots])],
        protect=[*dict.fromkeys((*before.protect, *_to_protect(before.roots, ours)))],
        environment=visible_paths.named_by_both(before.environment, settings.environment),
        bwrap=ours.bwrap,
    )


def _to_hide(roots: list[str], settings: Settings, homes: list[str], ours: Ours, *, writes: bool) -> list[str]:
    """Return what is hidden from jobs that may write `roots`. Errors: config_error."""
    home = homes[0]
    secret = [_secret(path, roots) for path in (*ours.secret, *(f"{one}/{usual}" for one in homes for usual in _USUAL))]
    secret = list(dict.fromkeys([*secret, as_listed(real_path(f"{home}/{_CACHES}"))]))
    secret += mounts.other_names(secret)
    _require_apart(roots, secret)
    secret = [path for path in secret if _may_come(path)]
    hidden = [_hidden(_expanded(path, home), roots) for path in settings.hide]
    _require_no_file(secret if writes else [], hidden, roots)
    return [*hidden, *secret]


def _respells(path: str, hide: Iterable[str]) -> bool:
    """Return whether a directory is another spelling of a directory with something to be hidden in it, or lies in such a one:
    shown by that name it would be seen."""
    return any(
        (is_in_one(one, path) and not is_in(one, [path])) or (is_in_one(path, one) and not is_in(path, [one]))
        for one in hide
    )


def _may_come(path: str) -> bool:
    """Return whether something is at a path, or this user could make it: the home of a service may be /usr/sbin."""
    above = nearest(path)
    return above == path or may_change(above)


def _to_protect(roots: list[str], ours: Ours) -> list[str]:
    installed = [*dict.fromkeys((*(as_listed(real_path(path)) for path in ours.installed), *interpreter.code()))]
    return [path for path in (*installed, *mounts.other_names(installed)) if is_in(path, roots)]


def _expanded(path: str, home: str) -> str:
    return os.path.normpath(os.path.join(home, path[2:]) if path.startswith("~/") else home if path == "~" else path)


def _own_name(path: str, what: str) -> str:
    """Return a path that has no links in it. A link may be the work of an earlier job, which would
    let the next one write where it leads."""
    path = os.path.normpath(path)
    real = real_path(path)
    if real != path:
        message = f"{what} is a link, or lies behind one: {path}; nothing was run"
        raise misconfigured(message, f"Name the directory itself: {real}.")
    _require_listed(path, what)
    return path


def _require_listed(path: str, what: str) -> None:
    """Errors: config_error for a path that is spelled otherwise than its directories list it."""
    listed = as_listed(path)
    if listed != path:
        message = (
            f"{what} is named {path}, and its directory, which ignores case, lists it as {listed}; nothing was run"
        )
        raise misconfigured(message, f"Name it so, also for `cd`: {listed}.")


def _as_listed(homes: list[str]) -> list[str]:
    """Return home directories without links. Errors: config_error for a HOME of another spelling."""
    real = [*map(real_path, homes)]
    _require_listed(real[0], "HOME")
    return [*dict.fromkeys(map(as_listed, real))]


def _shown(path: str, home: str) -> str:
    path = _expanded(path, home)
    _require_listed(path, "a directory of [sandbox] show")
    return path


def _written(path: str, homes: list[str]) -> str:
    """Return a directory of [sandbox] write, which is made if it is missing."""
    path = _own_name(path, "a directory of [sandbox] write")
    if not is_workspace(path, homes):
        message = f"[sandbox] write names {path}, a home directory or one above it, or one of the kernel"
        raise misconfigured(message, "Name directories in your home.")
    try:
        make_folders(path)
    except OSError as error:
        raise misconfigured(f"[sandbox] write: {path}: {error.strerror}") from error
    return _own_name(path, "a directory of [sandbox] write")


def _hidden(path: str, roots: list[str]) -> str:
    """Return where a path of [sandbox] hide leads. Errors: config_error if a job could change that."""
    if visible_paths.reached(path, roots) is None:
        message = f"[sandbox] hide names {path}, behind a link that a job can change"
        raise misconfigured(message, "Name the directory itself.")
    return as_listed(real_path(path))


def _secret(path: str, roots: list[str]) -> str:
    """Return where something of ours lies. Errors: config_error if a job could change that."""
    if visible_paths.reached(path, roots) is None:
        message = f"{path}, which is outlive's own, lies behind a link that a job could change; nothing was run"
        raise misconfigured(message, "Put the directory itself there, or start outlive in another directory.")
    return as_listed(real_path(path))


def _require_harmless(roots: list[str], git: str) -> None:
    """Errors: config_error if a job that may write `roots` would change what runs outside of it."""
    code = (*interpreter.code(), *mounts.other_names(interpreter.code()))
    for root in roots:
        obeyed = _obeyed_above(root, git)
        if is_in(root, code):
            what = "outlive loads its own code from there"
        elif obeyed is not None:
            what = f"what is in {obeyed} is run outside of the sandbox"
        else:
            continue
        message = f"{root} cannot be writable for a job: {what}; nothing was run"
        hint = "Start outlive in the directory of the project, or take it out of [sandbox] write; read-only jobs may run there."
        raise misconfigured(message, hint)


def _require_apart(roots: list[str], secret: Iterable[str]) -> None:
    inner = next((path for path in roots if is_in(path, secret)), None)
    if inner is not None:
        message = f"{inner} is outlive's own, and no job may see it; nothing was run"
        raise misconfigured(message, "Start outlive in another directory, or take it out of [sandbox] write.")


def _require_no_file(secret: Iterable[str], hidden: Iterable[str], roots: list[str]) -> None:
    """Refuse to hide single files: the mount on a file is gone when its owner replaces the file."""
    exposed = next((path for path in secret if is_in(path, roots) and os.path.isfile(path)), None)
    if exposed is not None:
        message = f"a job could change {exposed}, which is no part of its work; nothing was run"
        raise misconfigured(message, "Move it, or start outlive in another directory.")
    file = next((path for path in hidden if os.path.isfile(path)), None)
    if file is not None:
        message = f"[sandbox] hide names a file, and only directories can be hidden: {file}"
        raise misconfigured(message, "Name the directory that it is in.")


def _identity(path: str) -> list[int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise misconfigured(f"{path}: {error.strerror}; nothing was run") from error
    return [status.st_dev, status.st_ino]


def _cache(caches: str, roots: list[str]) -> str:
    """Return the directory for what tools cache in the sandboxes of a workspace, below that of ~/.cache. Jobs of another
    workspace have another one, since what is in it gets into what is built there."""
    name = sha256("\0".join(roots).encode("utf-8", "surrogateescape"))[:16]
    return os.path.join(caches, _CACHES.removeprefix(".cache/"), name)


def require_visible(sandbox: Sandbox, path: str, field: str) -> None:
    """Errors: invalid_argument for a directory that the sandbox does not show."""
    real = real_path(path)
    if real in ("/", sandbox.home) or (is_in(real, visible_paths.visible(sandbox)) and not is_in(real, sandbox.hide)):
        return
    hint = f"Start outlive in it, name it in [sandbox] write or show, or use another {argument(field)}."
    raise invalid(field, f"a job in the sandbox does not see {path}; nothing was run", hint=hint)


def require_readable(sandbox: Sandbox, real: str, field: str) -> None:
    """Errors: denied for a file, named without links, that a job in the sandbox does not see."""
    if not is_readable(sandbox, real):
        hint = "It lies behind a link, which a job may have made. If you mean it, name the file itself."
        message = f"a job in the sandbox does not see {real}; nothing was run"
        raise OutliveError("denied", message, hint=hint, details={"field": field})


def is_readable(sandbox: Sandbox, real: str) -> bool:
    """Return whether a job in this sandbox sees `real`, a path without links."""
    return is_in(real, visible_paths.visible(sandbox)) and not is_in(real, sandbox.hide)


def require_writable(sandbox: Sandbox, path: str, field: str) -> None:
    """Errors: denied for a file that a command in the sandbox could not write."""
    if is_writable(sandbox, real_path(path)):
        return
    raise OutliveError(
        "denied",
        f"a job in the sandbox {sandbox.mode} cannot write {path}",
        hint="Choose a file below " + (" or ".join(sandbox.roots) or "a directory of [sandbox] write") + "."
        if sandbox.mode == "workspace-write"
        else "Nothing can be written in this sandbox; look at the job's events instead.",
        details={"field": field},
    )


def is_writable(sandbox: Sandbox, real: str) -> bool:
    """Return whether a job in this sandbox may write `real`, a path without links."""
    if sandbox.mode != "workspace-write" or not is_in(real, sandbox.roots):
        return False
    lower = real.lower()  # a directory may ignore case
    return not is_in(lower, [path.lower() for path in (*sandbox.hide, *sandbox.protect)]) and not any(
        f"/{name}/" in f"{lower}/" for name in (".git", *visible_paths.OBEYED)
    )
