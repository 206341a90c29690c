"""What a job in a sandbox left in its writable directories that git or other tools would run by themselves.

What was there before was read-only for the job (guard.py). A repository that is new is put out of git's sight if it could
run something; the rest is reported. All is done below an open writable directory, and no link is followed: processes of
the job may still run, and change names meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any

from outlive.core.ids import sha256_of
from outlive.core.members import parse_json
from outlive.core.real_path import followed, real_path
from outlive.core.record import Value
from outlive.core.records import Sandbox, State
from outlive.core.rights import identity_of
from outlive.parts.sandbox import BEFORE
from outlive.parts.sandbox import findings as said
from outlive.parts.sandbox.confinement import gitconfig, search, visible_paths
from outlive.parts.sandbox.confinement.guard import CHANGES, Guard, changes
from outlive.parts.sandbox.confinement.mounts import rename_cache
from outlive.parts.sandbox.confinement.search import Look, mark
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system.fds import DIRECTORY, Closing, names_in
from outlive.system.paths import opened, stamp_of

_REPORTED = "sandbox.reported.json"  # beside it: what an earlier look reported is known by
_SUFFIX = ".from-sandbox"
_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What is in a git directory that runs nothing. Of what git keeps while it works, a rebase has commands in it
_PLAIN = frozenset(
    "HEAD FETCH_HEAD ORIG_HEAD config description hooks info objects refs branches packed-refs logs shallow index "
    "COMMIT_EDITMSG MERGE_HEAD MERGE_MODE MERGE_MSG AUTO_MERGE gc.log".split()
)
_MOST = 50  # of each kind that is reported: none pushes another out
_MOST_BYTES = 32_768  # of those in an event: a line of the history has twice as many
_DEEPEST = 50  # directories in each other in a git directory that may be harmless; git makes few
_LOOKING_S = 20.0  # so long what new repositories in a directory have is looked at: a job may have made any number
_OPENING_S = 10.0  # directories that were shut, each of which may have another one in it, are opened for so long


class Before(Value):
    """What a job found: a record that a successor of its supervisor can read."""

    repositories: dict[str, list[int]]  # path of a git directory → device, inode, and its `changes`
    files: dict[str, list[int]]  # path of what tools obey by themselves → its `mark`
    missing: list[str]  # directories of hooks, and `.git` of working trees, that were not there
    shut: list[str]  # directories that could not be read: read-only for the job
    programs: dict[str, list[int]]  # path of a file that settings of git name → its stamp, empty if it was not there

    @classmethod
    def found_by(cls, guard: Guard) -> Before:
        return cls(guard.repositories, guard.files, guard.missing, guard.shut, guard.programs)

    def write(self, folder: int) -> None:
        """Write it into the directory of a job. Errors: OSError."""
        _write(BEFORE, folder, vars(self))

    @classmethod
    def read(cls, folder: int) -> Before | None:
        """Return the record of a job, None if it has none that can be read."""
        try:
            content = _read(BEFORE, folder)
            return cls(*(content[name] for name in cls.FIELDS))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _write(name: str, folder: int, content: object) -> None:
    data = json.dumps(content).encode()  # it may take long: a launcher that gave up meanwhile has deleted the directory
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with open(fd, "wb") as file:
        file.write(data)


def _read(name: str, folder: int) -> Any:
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return parse_json(file.read())


def _reported(folder: int) -> list[object]:
    try:
        return list(_read(_REPORTED, folder))
    except (OSError, ValueError, TypeError):
        return []


def check(sandbox: Sandbox, before: Before | None, *, renames: bool = True) -> list[dict[str, str]]:
    """Return what is new; without `renames` it stays as it is. Each is {path, kind, moved_to?}: kind `repository` (harmless, or moved to a
    name that git does not know), `armed` (it could not be moved), `changed`, `hooks`, `program`, `settings`,
    `link` (into our cache, removed), `unchecked`."""
    if sandbox.mode != "workspace-write":
        return []
    if before is None:
        return [{"path": path, "kind": "unchecked"} for path in sandbox.roots]
    changed = (path for path, stamp in before.programs.items() if stamp_of(path) != stamp)
    findings = [{"path": path, "kind": "program"} for path in changed]
    for root, identity in zip(sandbox.roots, sandbox.root_ids, strict=True):
        try:
            with Closing(opened(root, identity)) as fd:
                findings += _Root(root, fd, sandbox, before, renames=renames).new()
        except Exception:  # noqa: BLE001 - nothing that a job leaves there may cost its outcome
            findings.append({"path": root, "kind": "unchecked"})
    # By their own paths, since no search looks where the job may have moved them (`node_modules`); after it, which opens
    # what the job shut
    known = (path for path, stamp in before.files.items() if mark(path) not in ([], stamp))
    findings += [{"path": path, "kind": "settings"} for path in known]
    # What is new in a directory of the job does not push out what was there, what is new at the top, or in a repository that
    # was there
    tops = sandbox.roots, {os.path.dirname(git) for git in before.repositories}
    return sorted(
        findings,
        key=lambda one: [
            one["path"] not in before.files,
            *(os.path.dirname(one["path"]) not in some for some in tops),
        ],
    )


class _Root:
    """A writable directory, as an open fd."""

    def __init__(self, path: str, fd: int, sandbox: Sandbox, before: Before, *, renames: bool) -> None:
        self._path = path
        self._renames = renames
        self._fd = fd
        self._before = before
        self._sandbox = sandbox
        self._look = Look(sandbox.roots)
        self._until = time.monotonic() + _LOOKING_S

    def new(self) -> list[dict[str, str]]:
        """Return what is new in it. A job may have made one look fail: the others are taken all the same."""
        findings: list[dict[str, str]] = []
        try:
            there = self._searched()
        except Exception:  # noqa: BLE001 - nothing that a job leaves there may keep the rest from being reported
            there = self._known()
            findings.append({"path": self._path, "kind": "unchecked"})
        for kind, path in there:
            try:
                findings += self._new(kind, path)
            except Exception:  # noqa: BLE001
                findings.append({"path": path, "kind": "unchecked"})
        missing = (path for path in self._before.missing if is_in(path, [self._path]) and search.may_be_there(path))
        return [*findings, *map(self._without_hooks, missing)]

    def _known(self) -> list[tuple[str, str]]:
        """Return what a search would find of what was there before, and at its top."""
        gits = dict.fromkeys((os.path.join(self._path, ".git"), *self._before.repositories))
        mine = [path for path in gits if is_in(path, [self._path])]
        found = [("g", os.path.dirname(path)) if os.path.basename(path) == ".git" else ("b", path) for path in mine]
        tops = [os.path.dirname(path) for path in (*gits, *self._before.files)]
        return [*found, *(("s", path) for path in dict.fromkeys(tops) if is_in(path, [self._path]))]

    def _searched(self) -> list[tuple[str, str]]:
        """Search it, after opening what a job shut, as its owner can at any time. Errors: OSError."""
        until = time.monotonic() + _OPENING_S
        while True:
            entries = search.find({self._path: self._fd}, visible_paths.OBEYED)
            shut = [path for kind, path in entries if kind == "u" and path not in self._before.shut]
            if not self._renames or time.monotonic() > until or not [one for one in shut if self._was_opened(one)]:
                return entries

    def _was_opened(self, path: str) -> bool:
        """Let its owner read a directory; return whether that changed anything."""
        try:
            if path == self._path:
                return _was_allowed(self._fd)
            with Closing(self._entered(os.path.dirname(path))) as above:
                fd = os.open(os.path.basename(path), _PATH, dir_fd=above)
            with Closing(fd):
                return _was_allowed(fd)
        except OSError:
            return False

    def _entered(self, path: str) -> int:
        """Return an fd of a directory in it, reached without a link."""
        folder = os.open(".", DIRECTORY, dir_fd=self._fd)
        for name in filter(None, path.removeprefix(self._path).split("/")):
            with Closing(folder):
                folder = os.open(name, DIRECTORY, dir_fd=folder)
        return folder

    def _new(self, kind: str, path: str) -> list[dict[str, str]]:
        if kind == "u":
            return [] if path in self._before.shut else [{"path": path, "kind": "unchecked"}]
        if kind == "l":
            return self._link(path)
        if kind == "s":
            is_kept = path == self._path or os.path.join(path, ".git") in self._before.repositories
            anew = self._look.new(path, self._before.files, kept=is_kept)
            return [{"path": one, "kind": "settings"} for one in anew]
        if self._sandbox.git == "write":
            return []
        git = path if kind == "b" else os.path.join(path, ".git")
        try:
            there = os.lstat(git)
        except FileNotFoundError:
            return []
        except OSError:  # a directory that may be listed and not entered
            return [{"path": path, "kind": "unchecked"}]
        known = self._before.repositories.get(git, [])
        is_known = known[:2] == [there.st_dev, there.st_ino]
        # A file that names the directory has its own inode in place of those in it: what follows it may get that too
        if is_known and known[1] == known[2] and changes(git) != known[2:]:
            return self._new_repository(kind, path, git)
        if not is_known:
            return [] if self._is_in_known(git) else self._new_repository(kind, path, git)
        return [] if _is_as_before(git, known[2:]) else [{"path": git, "kind": "changed"}]

    def _is_in_known(self, path: str) -> bool:
        """Return whether this lies in a repository that was read-only."""
        known = self._before.repositories
        return any(is_in(path, [one]) and identity_of(one) == known[one][:2] for one in known)

    def _new_repository(self, kind: str, path: str, git: str) -> list[dict[str, str]]:
        try:
            folder = self._entered(path)
        except OSError:
            return [{"path": path, "kind": "unchecked"}]
        inner, entry = (".", "HEAD") if kind == "b" else (".git", ".git")
        with Closing(folder):
            is_looked_at = git != self._path and time.monotonic() < self._until  # else it counts as armed
            if is_looked_at and (_is_harmless(folder, inner) or self._names_known(folder, path)):
                return [{"path": git, "kind": "repository"}, *self._named_hooks(path)]
            if not self._renames:
                return [{"path": git, "kind": "armed"}]
            try:
                if kind == "g":
                    _behead(folder)
                moved_to = os.path.join(path, _moved(folder, entry))
            except OSError:
                return [{"path": git, "kind": "armed"}]
        return [{"path": git, "kind": "repository", "moved_to": moved_to}, *self._in_moved(moved_to)]

    def _names_known(self, folder: int, path: str) -> bool:
        """Return whether a file `.git` names a directory in a repository that was read-only, and is named
        by that: you made a linked working tree or checked out a submodule while the job ran. A job
        cannot write the word back; it could take the place of a working tree that was gone before it."""
        with contextlib.suppress(OSError):
            target = gitconfig.linked(".git", path, folder)
            is_named = (
                target is not None and self._is_in_known(target) and path in gitconfig.trees_in(target, [self._path])
            )
            return is_named and os.path.join(path, ".git") not in self._before.missing
        return False

    def _in_moved(self, path: str) -> list[dict[str, str]]:
        """Return what is in a directory that was `.git`, where no search looks."""
        try:
            fd = self._entered(path)
        except OSError:  # it was a file or a link
            return []
        with Closing(fd):
            found = search.find({path: fd}, visible_paths.OBEYED)
            return [one for kind, inner in found for one in self._new(kind, inner)]

    def _named_hooks(self, top: str) -> list[dict[str, str]]:
        """Return the directories of hooks that the user's settings name in a new repository."""
        relative = [hooks for hooks in gitconfig.of_user(self._sandbox)[1].folders if not os.path.isabs(hooks)]
        paths = [os.path.normpath(os.path.join(top, place, hooks)) for hooks in relative for place in ("", ".git")]
        there = [path for path in dict.fromkeys(paths) if is_in(path, [top]) and search.may_be_there(path)]
        return [self._without_hooks(path) for path in there]

    def _without_hooks(self, path: str) -> dict[str, str]:
        """Give a directory of hooks, or the link that leads to it, a name from which nothing is run."""
        _, links = followed(path)
        path = next((link for link in links if is_in(link, [self._path])), path)
        if not self._renames:
            return {"path": path, "kind": "hooks"}
        try:
            with Closing(self._entered(os.path.dirname(path))) as folder:
                moved = _moved(folder, os.path.basename(path))
        except OSError:
            return {"path": path, "kind": "hooks"}
        return {"path": path, "kind": "hooks", "moved_to": os.path.join(os.path.dirname(path), moved)}

    def _link(self, path: str) -> list[dict[str, str]]:
        """Remove a link into the cache of the sandbox, where no repository is looked for."""
        cache = self._sandbox.cache
        if cache is None or not is_in(real_path(path), [os.path.dirname(cache)]):
            return []
        try:
            with Closing(self._entered(os.path.dirname(path))) as folder:
                os.unlink(os.path.basename(path), dir_fd=folder)
        except OSError:
            return [{"path": path, "kind": "unchecked"}]
        return [{"path": path, "kind": "link"}]


def _behead(folder: int) -> None:
    """Take HEAD away from a directory `.git`, so that git knows it under no name. Errors: OSError."""
    try:
        git = os.open(".git", DIRECTORY, dir_fd=folder)
    except OSError:  # a file or a link
        return
    with Closing(git):
        try:
            _moved(git, "HEAD")
        except OSError:
            if "HEAD" in os.listdir(git):
                raise


def _was_allowed(folder: int) -> bool:
    """Let its owner read and write a directory; return whether that changed it. Errors: OSError."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    os.chmod(f"/proc/self/fd/{folder}", mode | stat.S_IRWXU)
    return mode & stat.S_IRWXU != stat.S_IRWXU


def _is_as_before(git: str, known: list[int]) -> bool:
    """Return whether nothing in a repository changed that may have git run something. A job that ran
    beside this one may have moved it before it was mounted, and back. Your own git changes plain
    settings at any time."""
    now = changes(git)
    changed = [name for at, name in enumerate(CHANGES) if now[2 * at : 2 * at + 2] != known[2 * at : 2 * at + 2]]
    if not changed:
        return True
    try:
        folder = os.open(git, DIRECTORY)
    except OSError:
        return False
    with Closing(folder):
        return all(
            (name == "config" and _has_harmless_settings(folder)) or (name == "hooks" and _are_samples(folder))
            for name in changed
        )


def _is_harmless(folder: int, name: str) -> bool:
    """Return whether a git directory runs nothing: plain settings, samples of hooks alone, no word of another directory, and
    no repository or settings of editors in it, where no search looks."""
    try:
        with Closing(os.open(name, DIRECTORY, dir_fd=folder)) as git:
            names = os.listdir(git)
            if not _PLAIN.issuperset(names):
                return False
            if ("config" in names and not _has_harmless_settings(git)) or ("hooks" in names and not _are_samples(git)):
                return False
            if "branches" in names and names_in(git, "branches"):  # remotes, of a kind that git has long replaced
                return False
            return _has_files_alone(git) and all(
                one == ("b", "git") for one in search.find({"git": git}, visible_paths.OBEYED)
            )
    except OSError:  # also for a file or a link
        return False


def _has_files_alone(folder: int, *, single: bool = True, depth: int = 0) -> bool:
    """Return whether a directory holds no link, and (`single`) no file that has another name elsewhere:
    git writes through a link, and a job through another name. Clones may share objects."""
    if depth > _DEEPEST:
        return False
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                with Closing(os.open(entry.name, DIRECTORY, dir_fd=folder)) as inner:
                    if not _has_files_alone(inner, single=single and entry.name != "objects", depth=depth + 1):
                        return False
            elif not entry.is_file(follow_symlinks=False) or (
                single and entry.stat(follow_symlinks=False).st_nlink > 1
            ):
                return False
    return True


def _has_harmless_settings(git: int) -> bool:
    with contextlib.suppress(OSError):
        text = gitconfig.read("config", git)
        return text is not None and gitconfig.is_harmless(text)
    return False


def _are_samples(git: int) -> bool:
    try:
        return all(name.endswith(".sample") for name in names_in(git, "hooks"))
    except OSError:
        return False


def _moved(folder: int, name: str) -> str:
    """Give an entry a name that git does not know, and return it. Errors: OSError. Where there is no room for a new name, a
    file is removed before that."""
    target = name + _SUFFIX
    while True:
        try:
            os.lstat(target, dir_fd=folder)
        except FileNotFoundError:
            break
        target = f"{name}{_SUFFIX}-{os.urandom(4).hex()}"
    try:
        try:
            os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)
        except PermissionError:
            _was_allowed(folder)
            os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            os.unlink(name, dir_fd=folder)
        raise
    return target


def looked_at(folder: int, sandbox: Sandbox, state: State, tell: Callable[..., None], *, renames: bool = True) -> State:
    """Check the writable directories of a job that has ended, `folder` its own. Return the state with
    a message about what was found, if anything is new. Without `renames` nothing is changed."""
    if sandbox.cache:
        rename_cache(sandbox.cache)
    if sandbox.mode != "workspace-write":
        return state
    before = Before.read(folder)
    if before is None and state.pid is None:  # nothing ran: what it found would be there
        return state
    found = check(sandbox, before, renames=renames)
    if not found:
        return state
    reported = _reported(folder)
    # What each is known by, before it is told: what changes after that is told by the next look
    look = Look(sandbox.roots)
    known = [(one, _known_as(one, look)) for one in found]
    every = [one for one, name in known if name not in reported]
    most = _MOST
    while len(json.dumps(findings := said.bounded(every, most))) > _MOST_BYTES and most > 1:
        most //= 2
    if not findings:
        return state
    tell("workspace_changed", found=findings)
    told = {*map(id, findings)}
    with contextlib.suppress(OSError):  # without room they are reported twice
        _write(_REPORTED, folder, [*reported, *(name for one, name in known if id(one) in told)])
    return State.replace(state, message=". ".join(filter(None, [state.message, *said.sentences(findings, len(every))])))


def _known_as(finding: Mapping[str, str], look: Look) -> list[object]:
    """Return what a finding is known by: it is told again when what was found, or is in it, has changed since."""
    path, content = finding["path"], ""
    if finding["kind"] == "settings" and os.path.isdir(path) and look.leads_inside(path):
        with contextlib.suppress(OSError):  # a job may shut it, or fill it
            content = sha256_of(json.dumps(one).encode() for one in look.all_in(path))
    return [finding["kind"], path, finding.get("moved_to", ""), *mark(path), content]
