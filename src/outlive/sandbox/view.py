"""What of the file system and of the environment a sandbox shows.

`resolved` is called for the request, where the configuration and the caller are known; its result
is stored with the job. `mounts` is called right before the start: what is hidden then is what
exists then.
"""

from __future__ import annotations

import os

from outlive.errors import OutliveError, argument, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# Empty and private to each job: sockets of other programs lie in the real ones
PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev", "/proc")  # noqa: S108 - these are what is replaced
_PRIVATE = tuple(f"{path}/" for path in PRIVATE)
_READABLE_IN_RUN = (
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/systemd/resolve/resolv.conf",
)
_LINKED_INTO_RUN = ("/etc/resolv.conf", "/etc/localtime", "/etc/mtab")

# Below each home: keys of ours, of agents and of clouds, of browsers, of shells (their history)
HIDDEN_AT_HOME = tuple(
    ".config/outlive .local/share/outlive .local/state/outlive "
    ".ssh .gnupg .netrc .git-credentials .config/git/credentials .password-store .local/share/keyrings .local/share/kwalletd "
    ".aws .azure .config/gcloud .kube .docker .config/containers .config/gh .config/glab-cli .config/hub .config/op "
    ".config/rclone .config/doctl .config/fly .fly .terraform.d .vault-token .oci .boto .s3cfg "
    ".npmrc .yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml "
    ".gradle/gradle.properties .composer/auth.json .config/pip .huggingface .cache/huggingface/token .pgpass .my.cnf "
    ".claude .claude.json .codex .gemini .openclaw .config/opencode .local/share/opencode .config/goose .copilot "
    ".config/github-copilot .qwen .cursor .config/Cursor .config/Code .continue .aider.conf.yml "
    ".mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge "
    ".bash_history .zsh_history .local/share/fish .python_history .node_repl_history .psql_history .mysql_history".split()
)
HIDDEN = tuple(
    "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/ssl/private /etc/kubernetes /etc/rancher /var/lib/kubelet "
    "/var/lib/docker /var/lib/containerd /var/lib/containers /var/lib/lxd/unix.socket /var/snap/lxd/common/lxd/unix.socket "
    "/var/lib/incus/unix.socket".split()
)
ENVIRONMENT = tuple(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES EDITOR PAGER "
    "CI VIRTUAL_ENV CONDA_PREFIX JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR XDG_CACHE_HOME XDG_CONFIG_HOME "
    "XDG_DATA_HOME XDG_STATE_HOME MAKEFLAGS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE".split()
)
_CONFIGURATION_OF_GIT = ("hooks", "config", "config.worktree")


def filtered(environment: Mapping[str, str], more: Iterable[str]) -> dict[str, str]:
    """Return the variables that a sandboxed job inherits. A name that ends in * stands for all that
    begin like it."""
    names = {*ENVIRONMENT, *more}
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return {name: value for name, value in environment.items() if name in names or name.startswith(prefixes)}


def is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in (path, "/") or path.startswith(folder + "/") for folder in folders)


def is_workspace(path: str, homes: Iterable[str]) -> bool:
    """Return whether a directory is small enough to be writable because a server or a command line
    was started in it: neither a home nor above one."""
    return path != "/" and not any(is_in(home, [path]) for home in homes)


def resolved(
    *,
    mode: str,
    network: str,
    settings: Mapping[str, Any],
    workspace: str | None,
    homes: list[str],
    secret: Iterable[str],
    installed: Iterable[str],
    bwrap: str,
) -> dict[str, Any]:
    """Return the sandbox of a job as it is stored.

    `workspace`: where the server or the command line was started. `secret`: what of ours is hidden
    besides HIDDEN_AT_HOME. `installed`: our program, which stays read-only.
    """
    start = None if workspace is None else os.path.realpath(workspace)
    mine = [start] if start is not None and is_workspace(start, homes) else []
    roots = [*mine, *(os.path.realpath(_expanded(path, homes)) for path in settings["write"] or ())]
    shown = {os.path.realpath(_expanded(path, homes)) for path in settings["show"] or ()}
    hidden = [_expanded(path, homes) for path in settings["hide"] or ()]
    return {
        "mode": mode,
        "network": network,
        "roots": list(dict.fromkeys(roots)),
        "homes": homes,
        "hide": [*hidden, *(os.path.realpath(path) for path in secret)],
        "show": sorted(shown),
        "protect": [path for path in map(os.path.realpath, installed) if is_in(path, roots)],
        "environment": list(settings["environment"] or ()),
        "bwrap": bwrap,
    }


def _expanded(path: str, homes: list[str]) -> str:
    return os.path.join(homes[0], path[2:]) if path.startswith("~/") else path


def require_visible(spec: Mapping[str, Any], path: str, field: str) -> None:
    """Errors: invalid_argument for a directory that the sandbox does not show."""
    real = os.path.realpath(path)
    hidden = next((one for one, _ in _hidden(spec) if real == one or real.startswith(f"{one}/")), None)
    if hidden is None and (not is_in(real, PRIVATE) or is_in(real, spec["roots"])):
        return
    why = f"{hidden} is hidden" if hidden else "its own /tmp, /run and /dev stand in place of the real ones"
    raise invalid(
        field, f"a job in the sandbox cannot see {path}: {why}; nothing was run", hint=f"Use another {argument(field)}."
    )


def require_writable(spec: Mapping[str, Any], path: str, field: str) -> None:
    """Errors: denied for a file that a command in the sandbox could not write."""
    if is_writable(spec, os.path.realpath(path)):
        return
    raise OutliveError(
        "denied",
        f"a job in the sandbox {spec['mode']} cannot write {path}",
        hint="Choose a file below " + (" or ".join(spec["roots"]) or "a directory of [sandbox] write") + "."
        if spec["mode"] == "workspace-write"
        else "Nothing can be written in this sandbox; look at the job's events instead.",
        details={"field": field},
    )


def is_writable(spec: Mapping[str, Any], real: str) -> bool:
    """Return whether a job in this sandbox may write `real`, a path without links."""
    if spec["mode"] != "workspace-write" or not is_in(real, spec["roots"]):
        return False
    return not is_in(real, [*(os.path.realpath(path) for path, _ in _hidden(spec)), *spec["protect"]])


def _hidden(spec: Mapping[str, Any]) -> Iterable[tuple[str, bool]]:
    """Yield (path, whether it exists) of all that is hidden, with links resolved if it exists. A
    link to nothing does not exist."""
    shown = set(spec["show"])
    at_home = (f"{home}/{name}" for home in spec["homes"] for name in HIDDEN_AT_HOME)
    folders = {"/": "/"}
    for path in (*at_home, *HIDDEN, *spec["hide"]):
        exists = os.access(path, os.F_OK)  # of a hundred paths a few do; a failing lstat(2) costs three times as much
        found = _resolved(path, folders) if exists else path
        if found not in shown:
            yield found, exists


def _resolved(path: str, folders: dict[str, str]) -> str:
    """Return an existing path without links.

    `folders` keeps what directories are without links: the paths lie in a few.
    """
    folder, name = os.path.split(path)
    if name in ("", ".", "..") or os.path.islink(path):
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = _resolved(folder, folders)
    return os.path.join(folders[folder], name)


def mounts(spec: Mapping[str, Any], cwd: str) -> list[str]:
    """Return what bubblewrap is told of the file system. The order counts: a later mount covers an
    earlier one."""
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in ("/tmp", "/var/tmp", "/run"):  # noqa: S108 - nothing is written there
        if os.path.isdir(path) and not os.path.islink(path):
            words += ["--perms", "1777", "--tmpfs", path]
    for path in (*_READABLE_IN_RUN, *map(os.path.realpath, _LINKED_INTO_RUN)):
        if is_in(path, ["/run"]) and os.path.exists(path):
            words += ["--ro-bind", path, path]
    writable = spec["mode"] == "workspace-write"
    roots = [path for path in spec["roots"] if os.path.exists(path)]
    for root in roots:
        words += ["--bind" if writable else "--ro-bind", root, root]
    # What is missing is covered if the job could make it: our own, and what the configuration names
    wanted = {
        path
        for path, exists in _hidden(spec)
        if exists or (writable and path in spec["hide"] and is_in(path, roots) and not os.path.islink(path))
    }
    hidden = [path for path in sorted(wanted) if not path.startswith(_PRIVATE) or is_in(path, roots)]
    if writable:
        protected = [path for path in spec["protect"] if os.path.exists(path)]
        tops = dict.fromkeys([*roots, *_repository_of(cwd, roots)])
        words += _pinned([*protected, *tops, *hidden], roots)
        for top in tops:
            words += _kept_git(top)
        for path in protected:
            words += _read_only(path)
    covered: list[str] = []
    for path in hidden:  # a directory before what is in it, which is gone with it
        if not is_in(path, covered):
            covered.append(path)
            words += _covered(path)
    return words


def _pinned(paths: Iterable[str], roots: list[str]) -> list[str]:
    """Make every directory between a writable one and these paths a mount of its own: what is not a
    mount can be renamed, and made anew with other content."""
    found = set()
    for path in paths:
        above = os.path.dirname(path)
        while above not in roots and is_in(above, roots):
            found.add(above)
            above = os.path.dirname(above)
    return [word for path in sorted(found) if os.path.isdir(path) for word in ("--bind", path, path)]


def _covered(path: str) -> list[str]:
    """Return the mount that hides a path. What a job writes into it stays in memory."""
    if os.path.isdir(path) or not os.path.exists(path):
        return ["--perms", "0555", "--tmpfs", path]
    # The device, not an empty file: programs read nothing from it, and may believe that they wrote
    return ["--dev-bind", "/dev/null", path]


def _read_only(path: str) -> list[str]:
    return ["--ro-bind", path, path]


def _repository_of(cwd: str, roots: list[str]) -> list[str]:
    """Return the directory above `cwd` that has a .git, if it is in one of the roots."""
    path = os.path.realpath(cwd)
    while is_in(path, roots) and path != "/":
        if os.path.lexists(os.path.join(path, ".git")):
            return [path]
        path = os.path.dirname(path)
    return []


def _kept_git(top: str) -> list[str]:
    """Keep a job from changing what git runs: hooks and configuration.

    .git becomes a mount of its own, because what is not one can be renamed and made anew.
    """
    git = os.path.join(top, ".git")
    if os.path.islink(git) or not os.path.exists(git):
        return []
    if not os.path.isdir(git):  # of a worktree: a file that says where it is
        return _read_only(git)
    words = ["--bind", git, git]
    modules = os.path.join(git, "modules")
    inside = [one.path for one in os.scandir(modules) if one.is_dir()] if os.path.isdir(modules) else []
    for folder in (git, *inside):
        names = [os.path.join(folder, name) for name in _CONFIGURATION_OF_GIT]
        if any(os.path.islink(path) for path in names):  # a link can be replaced: all of it stays as it is
            return _read_only(git)
        for path in names:
            if os.path.exists(path):
                words += _read_only(path)
            elif path.endswith("/hooks"):  # nor may they be made
                words += ["--perms", "0555", "--tmpfs", path]
    return words
