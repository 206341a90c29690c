"""Settings of git: which hold for a caller, what they name, the user's own without secrets, and whether
those of a repository run anything."""

from __future__ import annotations

import errno
import glob
import os
import re
import select
import signal
from collections.abc import Iterable, Iterator, Mapping

from outlive.core import shell_strings
from outlive.core.real_path import real_path
from outlive.core.records import Sandbox
from outlive.errors import OutliveError
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.parts.sandbox.gitformat import readings, settings
from outlive.system import fds, own_programs
from outlive.system.fds import Closing
from outlive.system.paths import is_in, status_of

OF_USER = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_MOST_BYTES = 65_536
_MOST_SETTINGS = 1 << 24  # bytes: a repository with many branches has long ones
_MOST_INCLUDED = 10  # as deep as git follows, MAX_INCLUDE_DEPTH in its config.c
_MOST_FILES = 1_000
# Sections of the user's settings that a job gets: those about people, form and behaviour
_SHOWN = frozenset(
    "user author committer init commit core color diff merge rebase pull push fetch branch log status advice alias tag column "
    "format help pager interactive safe feature pack gc index submodule transfer protocol url filter rerere blame grep".split()
)
_SECRET = ("password", "pass", "token", "secret", "helper", "askpass", "cookiefile", "extraheader")
# What the settings of a repository may say without running a program or reading another file
_HARMLESS = {
    "core": frozenset(
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf".split()
    ),
    "remote": frozenset("url fetch".split()),
    "branch": frozenset("remote merge rebase".split()),
    "user": frozenset("name email".split()),
    "extensions": frozenset("objectformat refstorage".split()),
    "init": frozenset(("defaultbranch",)),
    "submodule": frozenset("active url".split()),
}
# Further settings that name no program, though their values may look like paths
_DATA = {
    **_HARMLESS,
    "core": _HARMLESS["core"] | frozenset("worktree excludesfile attributesfile".split()),
    "remote": _HARMLESS["remote"] | frozenset("pushurl push".split()),
    "branch": _HARMLESS["branch"] | frozenset("pushremote description".split()),
    "user": _HARMLESS["user"] | frozenset(("signingkey",)),
    "url": frozenset("insteadof pushinsteadof".split()),
    "commit": frozenset(("template",)),
    "blame": frozenset(("ignorerevsfile",)),
    "mailmap": frozenset(("file",)),
    "safe": frozenset(("directory",)),
    "http": frozenset("sslcainfo sslcapath sslcert sslkey cookiefile".split()),
}
# A remote for which git runs a program `git-remote-…` of PATH
_HELPER = re.compile(r"[\w+.-]*::|(?!(?:https?|ftps?|ssh|git|git\+ssh|ssh\+git|file)://)[\w+.-]+://", re.ASCII)
_WORD = re.compile(r"[^\s\"'`;&|()<>=${}!]+")  # of a command for a shell, also in a string in it
_TOP = re.compile(r"\$(?:\w+|\{\w+\}|\(…\))/+")  # as a word begins that leads to the top: $PWD/, $(git rev-parse …)/

# Variables of a caller that name files of settings, git directories, directories with programs or hooks, and commands
_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_GITS = ("GIT_DIR", "GIT_COMMON_DIR")
_FOLDERS = ("GIT_TEMPLATE_DIR", "GIT_EXEC_PATH")
_COMMANDS = tuple(
    "GIT_SSH_COMMAND GIT_SSH GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS "
    "SSH_ASKPASS VISUAL EDITOR PAGER".split()
)
_QUOTED = re.compile(r"(?:'[^']*'|\\.|[^'\\\s])+")  # a word of GIT_CONFIG_PARAMETERS
_KEY = "GIT_CONFIG_KEY_"
_ASKED_S = 10


def without_secrets(path: str, name: str) -> str | None:
    """Return what a job sees of the user's file `name` of OF_USER; None if there is none that can be read."""
    try:
        data = _beginning(path, None, _MOST_BYTES)
    except Unguarded:
        return None
    if data is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    if not name.endswith("config"):  # patterns of files
        return text
    lines = []
    for section, subsection, key, value in settings(text):
        if key and section in _SHOWN and not _is_secret(f"{subsection} {key}", value):
            lines.append(f'[{section} "{subsection}"]' if subsection else f"[{section}]")
            lines.append(f"\t{key} = {value}" if value else f"\t{key}")
    return "".join(f"{line}\n" for line in lines)


def _is_secret(name: str, value: str) -> bool:
    return any(word in name for word in _SECRET) or "@" in name.partition("://")[2] or "@" in value.partition("://")[2]


def is_harmless(text: str) -> bool:
    """Return whether settings of a repository name nothing that git would run or read elsewhere."""
    return _is_plain(text) and all(
        key in _HARMLESS.get(section, ()) and not _HELPER.match(value) and not value.startswith(("-", "!"))
        for section, _, key, value in settings(text)
    )


def _is_plain(text: str) -> bool:
    """Return whether git itself writes such a line as each is, and means the same to every reader: a
    section whose name ends the line, or a value without quotes. With more, this parser and git's may
    differ."""
    for line in text.split("\n"):
        line = line.strip(" \t")
        if "\\" in line or not line.isprintable():
            return False
        if line.startswith("["):
            _, quoted, rest = line[1:-1].partition('"')
            inner = rest[:-1] if quoted and rest.endswith('"') else rest
            if not line.endswith("]") or any(mark in inner for mark in '"[]') or "]" in line[:-1]:
                return False
        elif '"' in line:
            return False
    return True


def common(git: str) -> str:
    """Return the git directory that a linked working tree shares with others, `git` itself for others."""
    shared = path_in(real_path(os.path.join(git, "commondir")))
    return os.path.normpath(os.path.join(git, shared))


def files_of(git: str) -> list[str]:
    """Return the files of settings that hold in a git directory; those of a linked working tree lie
    in the directory that it shares too."""
    return [os.path.join(common(git), "config"), os.path.join(git, "config.worktree")]


def working_trees(git: str) -> list[str]:
    """Return the tops of the working trees that a git directory names, without links; see _named_trees."""
    return [*dict.fromkeys(map(real_path, _named_trees(git)))]


def _named_trees(git: str) -> Iterator[str]:
    """Yield the tops of working trees as a git directory names them: a linked one by its file `gitdir`, others by
    core.worktree. Which value git takes depends on other settings."""
    back = path_in(os.path.join(git, "gitdir"))
    if back:
        yield os.path.dirname(os.path.join(git, back))
    for name in ("config", "config.worktree"):
        for section, _, key, value in settings(read(os.path.join(git, name), most=_MOST_SETTINGS) or ""):
            if (section, key) == ("core", "worktree"):
                yield from (os.path.join(git, one) for one in readings(value))


def trees_in(git: str, roots: Iterable[str]) -> Iterator[str]:
    """Yield the tops of the working trees that a git directory names, below the directories `roots`, where no link is
    followed: a job may have made it."""
    for named in map(os.path.normpath, _named_trees(git)):
        above = [named[:at] for at, one in enumerate(named) if one == "/" and at]
        root = next((path for path in above if real_path(path) in roots), None)
        if root is not None:
            yield real_path(root) + named.removeprefix(root)


def registered(git: str, depth: int = 0) -> Iterator[str]:
    """Yield the git directories of the linked working trees and of the submodules that a git directory has."""
    for kind in ("worktrees", "modules"):
        for path in _folders(os.path.join(git, kind), depth):
            yield path
            yield from registered(path, depth + 1)


def _folders(folder: str, depth: int) -> Iterator[str]:
    """Yield the git directories in a directory; the name of a submodule may have slashes in it. Errors: OSError."""
    try:
        names = os.listdir(folder)[:_MOST_FILES] if depth < _MOST_INCLUDED else []
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in (os.path.join(folder, name) for name in names):
        if status_of(os.path.join(path, "HEAD")):
            yield path
        elif not os.path.islink(path):  # links may lead in circles
            yield from _folders(path, depth + 1)


def usual_files(home: str) -> list[str]:
    return ["/etc/gitconfig", *(os.path.join(home, name) for name in OF_USER if name.endswith("config"))]


def of_user(sandbox: Sandbox) -> tuple[list[str], Named]:
    """Return the files of settings that git reads for the user in every directory, and what these
    and the variables of the caller name. None are kept with git=write, and none are read. Errors: Unguarded."""
    files = [*dict.fromkeys((*usual_files(sandbox.home), *sandbox.git_files))] if sandbox.git != "write" else []
    named = Named(files, sandbox.home)
    named.folders += sandbox.git_folders
    named.words |= dict.fromkeys(sandbox.git_words)
    return files, named


class Named:
    """What settings name: `folders` of hooks, and what they are copied from, a relative one below the top
    of its working tree; `included`, files of settings, which are read too, each `..` as it is written; and `words` that may name
    programs, or files that those run."""

    def __init__(self, files: Iterable[str], home: str) -> None:
        self.folders: list[str] = []
        self.included: list[str] = []
        self.words: dict[str, None] = {}
        self._home = home
        level = known = dict.fromkeys(files)
        for _ in range(_MOST_INCLUDED + 1):
            level = dict.fromkeys(one for path in level for one in self._taken(path) if one not in known)
            known |= level
            if len(known) > _MOST_FILES:  # they may include each other in ever new ways
                raise Unguarded(
                    f"settings of git include more than {_MOST_FILES:,} files, the last {[*known][-1]}: take `include` "
                    "out of them, or give git=write, which leaves git unprotected while the job runs"
                )
            self.included += level

    def _taken(self, path: str) -> Iterator[str]:
        """Take in what one file names, and yield the files that it includes."""
        real = real_path(path)
        for section, _, key, value in settings(read(real, most=_MOST_SETTINGS) or ""):
            for one in readings(value):
                included = self.take(section, key, one)
                if included is not None:
                    yield os.path.join(os.path.dirname(path), included)

    def take(self, section: str, key: str, value: str) -> str | None:
        """Take in one setting, its value as git sees it; return the file that it includes."""
        if (section, key) in (("core", "hookspath"), ("init", "templatedir")):
            forms = dict.fromkeys((value, value.removeprefix(":(optional)")))  # a mark since git 2.52
            self.folders += [self._expanded(one) for one in forms if one]  # no value: none are run
        elif section in ("include", "includeif"):
            if key == "path" and value.startswith("%(prefix)/"):  # where git is installed: only git knows
                raise Unguarded(f"settings of git include {value}: name the file by its path, or give git=write")
            return self._expanded(value) if key == "path" else None
        elif key not in _DATA.get(section, ()) and (section != "alias" or value.startswith("!")):
            self.take_command(value)
        return None

    def take_command(self, command: str) -> None:
        """Take in the words of a command. One without a slash is a program of PATH, or a file that another
        one is given."""
        command = re.sub(r"\$(HOME|\{HOME\})/", "~/", command)
        commands = shell_strings.every(shell_strings.commands(command.removeprefix("!")))  # of an alias
        read = (one for one in commands if not one.kind)
        words = [*_WORD.findall(command), *(_TOP.sub("", word, count=1) for one in read for word in one.words)]
        words = [word for word in words if word not in ("", ".", "..", "/")]
        there = [word for word in words if "/" in word or word != command.strip()]
        self.words |= dict.fromkeys(map(self._expanded, (*there, *([command] if "/" in command else []))))

    def _expanded(self, path: str) -> str:
        """Return a path with the home in place of `~`."""
        if path.startswith("~/"):
            return f"{self._home}{path[1:]}"
        return os.path.expanduser(path)  # another user's


def noted(sandbox: Sandbox, env: Mapping[str, str]) -> Sandbox:
    """Return the sandbox with what git reads for a caller with these variables too. Git is asked as well: it
    knows where the settings of the system lie. Errors: sandbox_unavailable."""
    if sandbox.mode != "workspace-write" or sandbox.git == "write":
        return sandbox
    try:
        return _noted(sandbox, env)
    except Unguarded as error:
        raise OutliveError("sandbox_unavailable", f"{error.strerror}; nothing was run") from error


def _noted(sandbox: Sandbox, env: Mapping[str, str]) -> Sandbox:
    """Errors: Unguarded, sandbox_unavailable."""
    named = Named([], sandbox.home)
    files = [env[name] for name in _FILES if env.get(name)]
    gits = _git_directories(sandbox, env)
    settled = [path for git in gits for path in files_of(git)]
    files += [path for path in settled if path.endswith("/config") or os.path.lexists(path)]
    if env.get("XDG_CONFIG_HOME"):
        files.append(os.path.join(env["XDG_CONFIG_HOME"], "git/config"))
    usual = usual_files(sandbox.home)
    for file, name, value in (*_given(env), *_in_force(sandbox.home, env, (*usual, *files))):
        section, _, rest = name.lower().partition(".")
        included = named.take(section, rest.rpartition(".")[2], value)
        if file:
            files.append(file)
        elif included is not None:
            files.append(included)
    for name in _COMMANDS:
        named.take_command(env.get(name, ""))
    everywhere = dict.fromkeys(os.path.join(root, path) for path in files for root in sandbox.roots)
    folders = [*named.folders, *(env[name] for name in _FOLDERS if env.get(name))]
    trees = [os.path.join(root, env["GIT_WORK_TREE"]) for root in sandbox.roots if env.get("GIT_WORK_TREE")]
    trees += [tree for git in gits for tree in working_trees(git)]
    if trees:
        hooks = [*named.folders, *Named([*usual, *everywhere], sandbox.home).folders]
        folders += [os.path.join(tree, one) for tree in trees for one in hooks]
    return Sandbox.replace(
        sandbox,
        git_files=[*dict.fromkeys((*sandbox.git_files, *(path for path in everywhere if path not in usual)))],
        git_folders=[*dict.fromkeys((*sandbox.git_folders, *folders))],
        git_words=[
            *dict.fromkeys((*sandbox.git_words, *(word for word in named.words if _is_place(word, sandbox.roots))))
        ],
    )


def _git_directories(sandbox: Sandbox, env: Mapping[str, str]) -> list[str]:
    """Return the git directories that variables name, by a file too."""
    named = [os.path.join(root, env[name]) for name in _GITS if env.get(name) for root in sandbox.roots]
    return [*dict.fromkeys(linked(path, os.path.dirname(path)) or path for path in named)]


def _given(env: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield ("", name, value) of the single settings that variables hold (git-config(1), ENVIRONMENT)."""
    for name in env:
        if name.startswith(_KEY):
            yield "", env[name], env.get(f"GIT_CONFIG_VALUE_{name.removeprefix(_KEY)}", "")
    for word in _QUOTED.findall(env.get("GIT_CONFIG_PARAMETERS", "")):
        name, _, value = re.sub(r"'|\\(.)", r"\1", word).partition("=")
        yield "", name, value


def _in_force(home: str, env: Mapping[str, str], files: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return (file, name, value) of the settings that git itself reads outside of a repository; none if there is
    no git that a job could not have written. `files`: the user's. Errors: sandbox_unavailable for a git that does not say it."""
    known = {name: env[name] for name in (*_FILES, "XDG_CONFIG_HOME") if env.get(name)}
    if any(os.path.exists(path) and not os.path.isfile(path) for path in files):
        known[_FILES[0]] = os.devnull  # git would wait for a FIFO, which a job may have put where a dotfile leads
    given = own_programs.environment({**known, "HOME": home, "PATH": os.defpath})
    try:
        git = own_programs.find("git", env)
        words = own_programs.elsewhere([git, "-C", "/", "config", "--list", "--show-origin", "--null"], env)
    except OutliveError:
        return []
    output = fds.memory_file("settings", b"")
    with Closing(output):
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            pid = os.posix_spawn(words[0], words, given, file_actions=actions)
        except OSError as error:
            raise _not_said(f"{git} cannot be run: {error.strerror}") from error
        with Closing(os.pidfd_open(pid)) as ended:
            is_answered = fds.poll(ended, select.POLLIN, _ASKED_S * 1000)
            if not is_answered:
                os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not is_answered:
            raise _not_said(f"{git} did not say in {_ASKED_S} seconds what its settings are")
        if status != 0:  # what it said before is not all
            raise _not_said(f"{git} could not say what its settings are")
        said = os.fsdecode(fds.read_all(output)).split("\0")
    return [
        (origin[5:], *one.partition("\n")[::2])
        for origin, one in zip(said[::2], said[1::2], strict=False)
        if origin.startswith("file:/")
    ]


def _not_said(what: str) -> OutliveError:
    return OutliveError(
        "sandbox_unavailable",
        f"{what}, and it may run what they name; nothing was run",
        hint="See what `git config --list` says, or give git=write, which leaves git unprotected while the job runs.",
    )


def _is_place(word: str, roots: Iterable[str]) -> bool:
    """Return whether a word of a command may name a file in a writable directory. Others are not stored:
    they may be secret."""
    for root in roots:
        path = os.path.normpath(os.path.join(root, word))
        near = path if "/" not in word else os.path.dirname(path)
        if (is_in(path, roots) or is_in(real_path(path), roots)) and (os.path.lexists(near) or glob.glob(near)):
            return True
    return False


def linked(git: str, top: str, folder: int | None = None) -> str | None:
    """Return the git directory that a file `.git` of the working tree `top` names; None if it is no such file."""
    text = path_in(git, folder)
    target = text.removeprefix("gitdir: ")
    return None if target == text else real_path(os.path.join(top, target))


def path_in(path: str, folder: int | None = None) -> str:
    """Return what a file that names one path says: git takes the ends of lines away and reads it up to a NUL. Empty if
    there is none."""
    return (read(path, folder) or "").rstrip("\r\n").partition("\0")[0]


def read(path: str, folder: int | None = None, *, most: int = _MOST_BYTES) -> str | None:
    """Return a regular file that is no link as text; None if there is none. Errors: Unguarded if it cannot be read, or is
    longer than `most` bytes: it may name what is to be kept."""
    data = _beginning(path, folder, most + 1)
    if data is not None and len(data) > most:
        raise _unread(path, f"is longer than {most:,} bytes")
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _beginning(path: str, folder: int | None, most: int) -> bytes | None:
    """Return the first `most` bytes of a regular file that is no link; None if it is none. A FIFO, which a job may have
    put there, is not waited for. Errors: Unguarded for what is there and cannot be read: a process may hold it (a lease)."""
    try:
        with Closing(fds.open_regular(path, os.O_NOFOLLOW, dir_fd=folder)) as fd:
            return os.read(fd, most)
    except (fds.NotRegular, FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # links that lead nowhere
            return None
        raise _unread(path, f"cannot be read: {error.strerror}") from error


def _unread(path: str, why: str) -> Unguarded:
    return Unguarded(
        f"{path} {why}; git may run what it names: change that, or give git=write, which leaves git unprotected while the "
        "job runs"
    )
