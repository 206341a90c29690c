"""The programs that outlive runs for itself: ssh, those of Slurm and systemd, a browser, a shell.

They run outside of any sandbox, so none may come from a directory that a job in a sandbox writes:
PATH often begins with one, the `.venv/bin` of the workspace. Nothing else of outlive looks a program
up, and none is started by its name alone (tests/test_house.py). What a job itself runs is looked up
along the PATH of the job.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from outlive.core.real_path import followed, real_path
from outlive.errors import OutliveError
from outlive.system import mounts, workspaces
from outlive.system.known import Known
from outlive.system.paths import is_in, is_in_one, may_change

_CACHE = ".cache/outlive/sandbox"  # below a home: what tools write in sandboxes
# At the top of a directory that is worked in: another call may have let jobs write there
_CLONE, _ENVIRONMENT = ".git", "pyvenv.cfg"
_NAMES = frozenset("node_modules .venv venv".split())  # a job could take away what is in them
_TOOLCHAINS = frozenset(  # hidden clones that hold what a project would: whose programs those of outlive call (ProxyCommand)
    ".pyenv .rbenv .nodenv .jenv .goenv .plenv .phpenv .luaenv .tfenv .rakubrew .nvm .asdf .fzf .linuxbrew .emsdk".split()
)
_LISTS = ("LD_PRELOAD", "LD_AUDIT", "PERL5LIB", "RUBYLIB")  # and what ends in PATH
_OF_LOADER = ("LD_", "GCONV_PATH")  # also iconv(3), which Python calls before its first line
_ALSO_SEPARATE = {"LD_PRELOAD": " ", "LD_LIBRARY_PATH": ";"}  # ld.so(8)
# They name a file whose code an interpreter or a shell runs first, or the place where it finds its own, or settings that
# name a library to be loaded
_FIRST_CODE = tuple(
    "BASH_ENV ENV ZDOTDIR PYTHON PERL RUBY NODE_ LUA_ JAVA_TOOL_OPTIONS OPENSSL_ KRB5_ GSS_ GIT_EXEC_PATH SLURM_CONF".split()
)
# They hold a command, whose program may be named relative to the current directory
_COMMANDS = ("BROWSER", "EDITOR", "VISUAL", "PAGER", "ASKPASS", "_SSH", "_COMMAND")
# No code, and some of it lies in /tmp, from where outlive may be called
_DATA = frozenset(
    "HOME TMPDIR PWD OLDPWD SSH_AUTH_SOCK KRB5CCNAME DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR XAUTHORITY".split()
)
_SEPARATORS = ":=, \t\n\"';|&<>()`"
_QUOTES = str.maketrans("", "", "\"'\\")
_OPEN = "*?[{$`"  # signs of a shell: which path it is, is known only when it runs
_LINE_BYTES = 256
ELSEWHERE = "/"  # where such a program starts: many are scripts, and Python, for one, imports from where it is started
_INTERPRETERS = 5  # of interpreters that are scripts, as the kernel has it (fs/exec.c)

_workspaces: dict[str, None] = {}
_named: dict[str, str] = {}
_seen_safe: dict[str, object] = {}  # path of a program → `_signature` when it was found to be safe


def know(places: Iterable[str | None], named: Mapping[str, str] | None = None) -> None:
    """Take note of directories that jobs in sandboxes may come to write, and of the programs that the
    configuration names. What this process knew before stays."""
    for path in places:
        if path and os.path.isabs(path):
            _workspaces.setdefault(os.path.normpath(path))
    _named.update(named or {})


def known(*more: str) -> Known:
    """Return what this process knows, for another process of ours. `more`: further directories."""
    return Known(workspaces=[*dict.fromkeys((*_workspaces, *more))], named={**_named}, path=os.environ.get("PATH"))


def take(known: Known) -> None:
    """Take note of what another process of ours knows."""
    know(known.workspaces, known.named)
    if known.path is not None:
        os.environ.setdefault("PATH", known.path)


class _Wall:
    """What jobs in sandboxes may write, as it is now."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._homes = [*dict.fromkeys(map(real_path, (env.get("HOME") or "/", os.path.expanduser("~"))))]
        self._environment = env.get("VIRTUAL_ENV", "").rstrip("/")
        roots = [path for path in _with_real(_workspaces) if not self._is_above(path)]
        # What was noted a job could write, though it may be the home of this caller by now
        self._roots = [*dict.fromkeys((*roots, *_with_real(workspaces.noted(env))))]
        self._roots += _with_real(os.path.join(home, _CACHE) for home in self._homes)
        self._roots += mounts.other_names(self._roots)
        self._folded = [path.casefold() for path in self._roots]

    def _is_above(self, path: str) -> bool:
        """Return whether no sandbox takes this directory for a workspace: a home, or one above it."""
        return path == "/" or any(is_in(home, [path]) for home in self._homes)

    def lets_through(self, path: str) -> bool:
        """Return whether a job can neither write a file nor decide which one it is."""
        if not os.path.isabs(path):
            return False
        place, links = followed(path)
        return place is not None and not any(map(self.is_written, (os.path.normpath(path), place, *links)))

    def is_written(self, path: str) -> bool:
        """Return whether a path lies in one of the directories; also by another spelling, where case is ignored."""
        if is_in(path, self._roots):
            return True
        return is_in(path.casefold(), self._folded) and any(is_in_one(path, root) for root in self._roots)

    def is_safe(self, path: str) -> bool:
        """Return whether programs and libraries may come from here: outside of every project too,
        since in another one jobs may have run before."""
        return self.lets_through(path) and not any(map(self.is_in_project, {path, real_path(path)}))

    def is_in_project(self, path: str) -> bool:
        """Return whether a path lies in a project, in which jobs may have run."""
        path = f"/{path.lstrip('/')}"  # two slashes, as in a URL, are above themselves
        while not self._is_above(path):
            name = os.path.basename(path)
            is_one = name in _NAMES or path == self._environment or os.path.lexists(f"{path}/{_ENVIRONMENT}")
            is_one = is_one or (os.path.lexists(f"{path}/{_CLONE}") and name not in _TOOLCHAINS)
            if is_one and may_change(path):  # not the site's, which jobs of this user cannot write
                return True
            path = os.path.dirname(path)
        return False

    def mentions(self, value: str, *, command: bool = False) -> bool:
        """Return whether a word of this text is a path that a job can write, or lies in any project; of a `command` also a
        relative path, and what a shell may make into such a path."""
        if command:
            unquoted = value.translate(_QUOTES)
            words = [word for word in unquoted.split() if "/" in word and "://" not in word]
            if any(sign in word for word in words for sign in _OPEN):
                return True
            value = f"{value} {unquoted}"
        for separator in _SEPARATORS:
            value = value.replace(separator, "\0")
        paths = [word if command else word[word.index("/") :] for word in value.split("\0") if "/" in word]
        return not all(map(self.is_safe, paths))


def _with_real(paths: Iterable[str]) -> list[str]:
    return [place for path in paths for place in (path, real_path(path))]


def find(name: str, env: Mapping[str, str], folder: str | None = None) -> str:
    """Return the path of a program: that of [programs] in the configuration, else the first one in
    `folder` or along PATH that no job could have written. Errors: launch_failed."""
    named = _named.get(name)
    passed = []
    for place in [""] if named else (folder or env.get("PATH") or os.defpath).split(os.pathsep):
        path = named or os.path.join(place or ".", name)
        if not (os.access(path, os.X_OK) and os.path.isfile(path)):
            continue
        if is_safe(path, env):
            return path
        passed.append(path)
    where = "is not what [programs] names" if named else f"is not in {folder}" if folder else "is not on PATH"
    if not passed:
        hint = f"{named} is no program." if named else f'Install it, or name it: [programs] {name} = "/path/to/{name}".'
        raise OutliveError("launch_failed", f"{name} {where}", hint=hint)
    raise OutliveError(
        "launch_failed",
        f"{name} is in no directory that jobs in a sandbox cannot write; passed over: {', '.join(passed)}",
        hint=f'Name one elsewhere in the configuration: [programs] {name} = "/path/to/{name}".',
    )


def is_safe(path: str, env: Mapping[str, str]) -> bool:
    """Return whether no job in a sandbox can have written the program at a path, or decided which one it is. What was
    safe is so as long as neither it nor a directory above it has changed: a start asks twice for its shell."""
    try:
        now = (_signature(path), env.get("HOME"), env.get("VIRTUAL_ENV"), len(_workspaces), workspaces.stamp(env))
    except OSError:  # removed, or the process may not look at it
        return _is_safe(path, _Wall(env))
    if _seen_safe.get(path) == now:
        return True
    if not _is_safe(path, _Wall(env)):
        return False
    _seen_safe[path] = now
    return True


def is_followed(path: str, env: Mapping[str, str]) -> bool:
    """Return whether no job in a sandbox can have made a link on the way to what we write there."""
    wall = _Wall(env)
    return not any(wall.is_written(link) or wall.is_in_project(link) for link in followed(path)[1])


def may_start(words: Sequence[str], env: Mapping[str, str], ours: Iterable[str]) -> bool:
    """Return whether a command that some file holds may be started: its program is safe or lies in `ours`, the
    directories of this installation, and no word of it is a path that a job can have written."""
    wall, (program, *rest) = _Wall(env), words
    is_ours = is_in(real_path(program), ours) and (is_in(os.path.normpath(program), ours) or wall.lets_through(program))
    return (is_ours or is_safe(program, env)) and not any(wall.mentions(word, command=True) for word in rest)


def require_unwritten(words: Iterable[str], env: Mapping[str, str], what: str) -> None:
    """Errors: launch_failed if one of these words, which the configuration has for such a program, has a path in it that a
    job can have written: ssh would run what a file for its option -F says."""
    wall, home = _Wall(env), f"{env.get('HOME') or '/'}/"
    for word in words:
        expanded = word
        for at_home in ("~/", "%d/", "$HOME/", "${HOME}/"):  # ssh_config(5), TOKENS and ENVIRONMENT VARIABLES
            expanded = expanded.replace(at_home, home)
        if wall.mentions(expanded, command=True):
            message = f"{what} name what a job in a sandbox may have written: {word}"
            raise OutliveError("launch_failed", message, hint="Put it elsewhere, outside of every project.")


def elsewhere(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return the words that start such a program in ELSEWHERE: what it is named relative to the current directory, and what
    a script that calls `python3 -c` imports, could be a job's. Errors: launch_failed."""
    return [find("sh", env, os.defpath), "-c", f'cd {ELSEWHERE} && unset OLDPWD && exec "$0" "$@"', *words]


def _signature(path: str) -> list[tuple[int, int, int]]:
    """Return device, inode and last change of a file, of what it is a link to, and of the directories above both."""
    steps = dict.fromkeys((os.path.abspath(path), real_path(path)))
    above = [step[:at] or "/" for step in steps for at, sign in enumerate(step) if sign == "/"]
    found = [*map(os.lstat, steps), *map(os.stat, dict.fromkeys(above))]
    return [(one.st_dev, one.st_ino, one.st_ctime_ns) for one in found]


def shell(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return the words before a shell string, with the path of the shell; as they are if only a job
    could have written one of this name, which then was not there before."""
    try:
        return [words[0] if "/" in words[0] else find(words[0], env), *words[1:]]
    except OutliveError:
        return list(words)


def _is_safe(path: str, wall: _Wall, left: int = _INTERPRETERS) -> bool:
    """Return whether a file, every link to it and the interpreter of a script are safe; that may be a script again."""
    folder, real = os.path.dirname(path), real_path(path)
    if not (left and wall.is_safe(folder) and wall.is_safe(real) and wall.lets_through(path)):
        return False
    try:
        with open(path, "rb") as file:
            line = file.readline(_LINE_BYTES)
    except OSError:  # it may be run and not be read: then it is no script
        return True
    words = os.fsdecode(line[2:]).split()
    return not line.startswith(b"#!") or bool(words and os.path.isabs(words[0]) and _is_safe(words[0], wall, left - 1))


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for such a program, without those that would have it, its interpreter or
    the loader run what a job wrote."""
    wall = _Wall(env)
    kept = {name: _kept(name, value, wall) for name, value in env.items()}
    return {name: value for name, value in kept.items() if value is not None}


def unsafe(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables but PATH, as they are, that such a program does not get as they are."""
    kept = environment(env)
    return {name: value for name, value in env.items() if name != "PATH" and kept.get(name) != value}


def of_ours(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for an isolated process of ours (interpreter.py), which passes them on to what it starts:
    without those that would have the loader take libraries of a job."""
    wall = _Wall(env)
    return {
        name: value
        for name, value in env.items()
        if not name.startswith(_OF_LOADER) or _kept(name, value, wall) == value
    }


def _kept(name: str, value: str, wall: _Wall) -> str | None:
    if name in _LISTS or name.endswith("PATH"):
        parts = value.replace(_ALSO_SEPARATE.get(name, os.pathsep), os.pathsep).split(os.pathsep)
        # A library without a slash is looked for where the loader looks for all
        safe = [
            one
            for one in parts
            # Some are separated otherwise: LUA_PATH by ;, TCLLIBPATH by blanks
            if (wall.is_safe(one) and not wall.mentions(one)) or (name in ("LD_PRELOAD", "LD_AUDIT") and "/" not in one)
        ]
        return os.pathsep.join(safe) if safe else os.defpath if name == "PATH" else None
    if name in _DATA:
        return value
    if wall.mentions(value, command=name.endswith(_COMMANDS)) or (
        name.startswith(_FIRST_CODE) and not value.startswith("/")
    ):
        return None
    return value
