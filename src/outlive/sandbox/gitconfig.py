"""Settings of git: the user's own without secrets, and whether those of a repository run anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator

from outlive.sandbox.search import Unguarded
from outlive.system.fds import Closing

OF_USER = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_CONTINUES = re.compile(r'(?:[^"\\#;]|\\.|"(?:[^"\\]|\\.)*+"?+)*+\\\Z')  # not in a comment
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"?|\\(.)|([#;]|[^"\\#;]+)')
_MOST_BYTES = 65_536
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


def settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (section, subsection, key, rest of the line) of a file of git's (git-config(1)), names in
    lower case. A line that continues is one."""
    section = subsection = ""
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        line = line.strip()
        while line.startswith("["):
            head, _, line = line[1:].partition("]")
            section, _, subsection = head.strip().partition(" ")
            section, _, dotted = section.lower().partition(".")
            subsection = subsection.strip().strip('"') or dotted
            line = line.strip()
        if line and line[0] not in "#;":
            while _CONTINUES.match(line):
                line = line[:-1] + next(lines, "")
            key, _, value = line.partition("\0")[0].partition("=")
            yield section, subsection, key.strip().lower(), value.strip()


def without_secrets(path: str, name: str) -> str | None:
    """Return what a job sees of the user's file `name` of OF_USER; None if there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_MOST_BYTES)
    except OSError:
        return None
    if not name.endswith("config"):  # patterns of files
        return text
    lines = []
    for section, subsection, key, value in settings(text):
        if section in _SHOWN and not _is_secret(f"{subsection} {key}", value):
            lines.append(f'[{section} "{subsection}"]' if subsection else f"[{section}]")
            lines.append(f"\t{key} = {value}" if value else f"\t{key}")
    return "".join(f"{line}\n" for line in lines)


def _is_secret(name: str, value: str) -> bool:
    return any(word in name for word in _SECRET) or "@" in name.partition("://")[2] or "@" in value.partition("://")[2]


def is_harmless(text: str) -> bool:
    """Return whether settings of a repository name nothing that git would run or read elsewhere."""
    return _is_plain(text) and all(
        key in _HARMLESS.get(section, ()) and "ext::" not in value and not value.startswith(("-", "!"))
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
    shared = path_in(os.path.realpath(os.path.join(git, "commondir"))).strip()
    return os.path.normpath(os.path.join(git, shared))


def files_of(git: str) -> list[str]:
    """Return the files of settings that hold in a git directory; those of a linked working tree lie
    in the directory that it shares too."""
    return [os.path.join(common(git), "config"), os.path.join(git, "config.worktree")]


def working_tree(git: str) -> str | None:
    """Return the top of the working tree that a git directory names: a linked one by its file `gitdir`,
    a submodule by core.worktree. None if it names none."""
    back = path_in(os.path.join(git, "gitdir")).strip()
    if back:
        return os.path.dirname(os.path.realpath(back))
    for section, _, key, value in settings(read(os.path.join(git, "config")) or ""):
        if (section, key) == ("core", "worktree"):
            return os.path.realpath(os.path.join(git, value.strip('"')))
    return None


def files_of_user(home: str) -> list[str]:
    return ["/etc/gitconfig", *(os.path.join(home, name) for name in OF_USER if name.endswith("config"))]


class Named:
    """What settings name: `hooks`, directories, a relative one below the top of its working tree; and
    `included`, files of settings, which are read too."""

    def __init__(self, files: Iterable[str], home: str) -> None:
        self.hooks: list[str] = []
        self.included: list[str] = []
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
        for section, _, key, value in settings(read(os.path.realpath(path)) or ""):
            # Hooks, and what they are copied from
            if (section, key) in (("core", "hookspath"), ("init", "templatedir")):
                self.hooks.append(self._path(value))
            elif section in ("include", "includeif") and key == "path":
                yield os.path.normpath(os.path.join(os.path.dirname(path), self._path(value)))

    def _path(self, value: str) -> str:
        """Return a path as git reads it: quotes and comments gone, the home in place of `~`."""
        parts: list[str] = []
        for quoted, escaped, plain in _VALUE.findall(value):
            if plain[:1] in ("#", ";"):
                break
            parts.append(re.sub(r"\\(.)", r"\1", quoted) or escaped or plain)
        path = "".join(parts).strip()
        if path.startswith("~/"):
            return f"{self._home}{path[1:]}"
        return os.path.expanduser(path)  # another user's


def linked(git: str, top: str, folder: int | None = None) -> str | None:
    """Return the git directory that a file `.git` of the working tree `top` names; None if it is no such file."""
    text = path_in(git, folder)
    target = text.removeprefix("gitdir:")
    return None if target == text else os.path.realpath(os.path.join(top, target.strip()))


def path_in(path: str, folder: int | None = None) -> str:
    """Return what a file that names one path says: git reads it up to a NUL. Empty if there is none."""
    return (read(path, folder) or "").partition("\0")[0]


def read(path: str, folder: int | None = None) -> str | None:
    """Return a regular file that is no link as text; None if it is none or too long."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with Closing(fd):
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, _MOST_BYTES + 1)
        return data.decode("utf-8", "surrogateescape") if len(data) <= _MOST_BYTES else None
