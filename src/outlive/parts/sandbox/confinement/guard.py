"""What a job may not change in its writable directories: what git and other tools run by themselves.

Every `.git` is read-only as a directory, and so are repositories without one (`HEAD` beside
`objects`), directories of hooks, and the settings of editors and agents. What is there is found
before the start; what a job makes is found after its end (after.py).
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Mapping

from outlive.core.real_path import real_path
from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import gitconfig, search, second_names, visible_paths
from outlive.parts.sandbox.confinement.mounts import Mounts, pinned
from outlive.parts.sandbox.confinement.search import Look, Unguarded, entries_of
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system.paths import is_folder, may_change, opened, stamp_of, status_of

_MOST_MOUNTS = 400  # each takes a quarter of a millisecond, and bubblewrap takes 9,000 words
CHANGES = ("config", "config.worktree", "commondir", "hooks")  # of a git directory: what decides what git runs
_MOST_SETTINGS = 10_000  # directories that have some: what a start notes of them takes seconds
_LONGEST = 4000  # bytes of a path that is mounted, of 4,096 (PATH_MAX)
_WRITE = "or give git=write, which leaves git unprotected while the job runs"


class Guard:
    """What is kept from a job, and what was there before it."""

    def __init__(self, sandbox: Sandbox, entries: list[tuple[str, str]]) -> None:
        """`entries`: what is in the writable directories, see search.find. Errors: Unguarded."""
        self._roots: list[str] = sandbox.roots
        self._home: str = sandbox.home
        self._hidden: list[str] = sandbox.hide
        self._look = Look(self._roots)
        self._devices = {device for device, _ in sandbox.root_ids}
        self._written = visible_paths.written(sandbox)
        self._kept: dict[str, None] = {}  # directories and files that become read-only
        self._read: dict[str, None] = {}  # git directories elsewhere that a working tree here belongs to
        # Path of a git directory → device, inode, and what a change of its settings changes; nothing where a job writes it
        self.repositories: dict[str, list[int]] = {}
        self.missing: list[str] = []  # directories of hooks, and working trees of a repository, that are not there
        self.shut = [path for kind, path in entries if kind == "u"]
        self._protected = [path for path in sandbox.protect if status_of(path, follow=True)]
        self._files_of_user, self._of_user = gitconfig.of_user(sandbox)
        self.programs: dict[str, list[int]] = {}  # what settings of git name here, and what a change of it changes
        self.files: dict[str, list[int]] = {}  # what tools obey by themselves, and what a change of it changes
        kinds = "ugb"  # of what is kept, as search.c names them
        if sandbox.git == "write":
            kinds = "u"
            self.repositories = {os.path.join(path, ".git"): [] for kind, path in entries if kind == "g"}
        else:
            self._keep_outside()
        for kind, path in entries:
            if kind in kinds and not is_in(path, self._kept):
                self._keep(kind, path)
        tops = dict.fromkeys((*self._roots, *(path for kind, path in entries if kind == "g")))
        for top in tops:
            for name in visible_paths.SETTINGS:
                self._keep_folder(os.path.join(top, name))
        self.files |= {path: stamp for top in tops for path, stamp in self._look.stamps(top)}
        inner = [path for kind, path in entries if kind == "s" and path not in tops and not is_in(path, self._kept)]
        if len(inner) > _MOST_SETTINGS:
            where = f"{len(inner):,} directories below {' and '.join(self._roots)}"
            raise Unguarded(f"{where} have settings of editors or agents: start outlive in a smaller directory")
        self.files |= {path: stamp for folder in inner for path, stamp in self._look.stamps(folder, kept=False)}
        mounts = len(self._kept) + len(pinned(self._kept, self._roots))
        if mounts > _MOST_MOUNTS:
            where = " and ".join(self._roots)
            settings = sum(path.endswith(tuple(f"/{name}" for name in visible_paths.SETTINGS)) for path in self._kept)
            helps = sandbox.git != "write" and settings <= _MOST_MOUNTS
            raise Unguarded(
                f"{len(self._kept)} repositories and settings below {where} are to be kept from the job, which takes "
                f"{mounts} mounts, more than {_MOST_MOUNTS}: start outlive in a smaller directory"
                + (f", {_WRITE}" if helps else "")
            )

    def _keep(self, kind: str, path: str) -> None:
        if kind == "u":
            while not os.access(os.path.dirname(path), os.X_OK) and path not in self._roots:
                path = os.path.dirname(path)
            self._kept[path] = None
            return
        git = path if kind == "b" else os.path.join(path, ".git")
        if len(os.fsencode(git)) > _LONGEST:  # no mount can name it
            self._kept[os.fsdecode(os.fsencode(git)[:_LONGEST].rpartition(b"/")[0])] = None
            return
        try:
            status = os.lstat(git)
        except FileNotFoundError:  # gone by now
            return
        except PermissionError:  # it may be listed and not entered
            self._kept[path] = None
            return
        if stat.S_ISLNK(status.st_mode):
            raise Unguarded(
                f"{git} is a link, which a job could replace: put the directory there, or a file that says "
                f"`gitdir: {real_path(git)}`, {_WRITE}"
            )
        self._kept[git] = None
        self.repositories[git] = [status.st_dev, status.st_ino, *changes(git)]
        self._keep_named(path, git if stat.S_ISDIR(status.st_mode) else self._linked(path, git))
        self._note_gone(git)

    def _keep_named(self, top: str, git: str | None) -> None:
        """Keep what the settings in a git directory name."""
        if git is None:
            return
        for folder in dict.fromkeys((git, gitconfig.common(git))):
            self._keep_linked(folder)
            self._keep_linked(f"{folder}/hooks")
        named = gitconfig.Named(gitconfig.files_of(git), self._home)
        self._require_elsewhere(named, f"{git}/config includes")
        # Hooks are run at the top of the working tree, which may be another one, and those of a push in `git`
        tops = dict.fromkeys((top, *gitconfig.working_trees(git)))
        for hooks in (*named.folders, *self._of_user.folders):
            for place in (*tops, git):
                self._keep_hooks(git, _joined(place, hooks))
        for place in tops:
            self._watch(place, {**named.words, **self._of_user.words})

    def _note_gone(self, git: str) -> None:
        """Note the working trees of a repository that are gone: with a new `.git` a job could put its own in the place
        of one, in which git would run the hooks that the settings of the repository name."""
        trees = (tree for one in gitconfig.registered(git) for tree in gitconfig.trees_in(one, self._roots))
        places = (os.path.join(tree, ".git") for tree in trees)
        self.missing += [path for path in places if status_of(path) is None]

    def _keep_outside(self) -> None:
        """Keep what the settings of the user name, and those of a repository around the workspace."""
        self._require_elsewhere(self._of_user, "your settings of git include")
        for path in self._files_of_user:
            self._keep_reached(path, path)
        for root in self._roots:
            for hooks in self._of_user.folders:  # without a repository there you may make one
                self._keep_hooks("your git", os.path.join(root, hooks))
            self._watch(root, self._of_user.words)
            self._keep_named_around(root)

    def _watch(self, top: str, words: Iterable[str]) -> None:
        """Note the files in writable directories that words of commands name, when they are run in `top`."""
        fitting = [one for word in words if glob.has_magic(word) for one in glob.glob(word, root_dir=top)]
        for word in (*words, *fitting):
            path = os.path.normpath(os.path.join(top, word))
            if is_in(path, self._roots) or is_in(real_path(path), self._roots):
                if os.path.isfile(path) or ("/" in word and not os.path.isdir(path)):
                    self.programs[path] = stamp_of(path)

    def _keep_named_around(self, root: str) -> None:
        """Keep what the repositories name that a writable directory is a part of."""
        above, nearest = os.path.dirname(root), True
        while above != "/":
            git = f"{above}/.git"
            if status_of(git):
                linked = self._linked if nearest else lambda top, git: gitconfig.linked(git, top)
                self._keep_named(above, git if is_folder(git) else linked(above, git))
                nearest = False
                every = self._look.stamps(above)
                self.files |= {path: stamp for path, stamp in every if is_in(real_path(path), self._roots)}
            above = os.path.dirname(above)

    def _require_elsewhere(self, named: gitconfig.Named, what: str) -> None:
        """Errors: Unguarded if a job could change one of these files, which git includes."""
        for path in named.included:
            reached = self._reached(path)
            if reached is None or self._winds(path) or (is_in(reached, self._roots) and not is_in(reached, self._kept)):
                raise Unguarded(f"{what} {path}, which a job could change: move it, {_WRITE}")

    def _reached(self, path: str, *, fixed: Iterable[str] = ()) -> str | None:
        """Return where a path leads; None if a job could change that, or it leads through another mount of its directories."""
        reached = visible_paths.reached(path, self._roots, fixed=fixed)
        return None if reached is None or is_in(reached, self._look.again) else reached

    def _winds(self, path: str) -> bool:
        """Return whether a path leads through `..` out of a directory that a job could make a link."""
        steps = path.split("/")
        before = [os.path.normpath("/".join(steps[:at])) for at, step in enumerate(steps) if step == ".."]
        return any(
            is_in(one, self._roots)
            and one not in self._roots
            and not any(is_in(one, [kept]) or is_in(kept, [one]) for kept in self._kept)
            for one in before
        )

    def _keep_hooks(self, git: str, path: str) -> None:
        reached = None if self._winds(path) else self._reached(path)
        if reached is None or any(is_in(root, [reached]) for root in self._roots):
            what = (
                "is behind a link, `..` or another mount"
                if reached is None
                else "has a writable directory in it, or more than hooks"
            )
            raise Unguarded(f"{path}, from which {git} runs hooks, {what}: set core.hooksPath to another, {_WRITE}")
        if is_in(reached, self._roots):
            if self._keep_folder(reached):  # a mount on it goes when you make it anew meanwhile
                self.programs[reached] = stamp_of(reached)
            else:
                self.missing.append(reached)
        self._keep_linked(reached)

    def _keep_linked(self, folder: str) -> None:
        """Keep what the links in a directory lead to: git reads or runs it in their place. Errors:
        Unguarded, also for a file that a job could change by another name."""
        for entry in entries_of(folder):
            if entry.is_symlink():
                self._keep_reached(entry.path, os.path.join(folder, os.readlink(entry.path)))
            elif not entry.name.endswith(".sample"):
                self._require_one_name(entry.path, entry.stat(follow_symlinks=False))

    def _require_one_name(self, path: str, status: os.stat_result) -> None:
        is_obeyed = status.st_mode & 0o111 or os.path.basename(path) in CHANGES
        # Those of packages share content too (the store of Nix), and are not the job's to write
        is_near = status.st_dev in self._devices and may_change(path)
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and is_obeyed and is_near:
            raise Unguarded(
                f"{path} has another name (a hard link), by which a job could change it: put a copy in its place, {_WRITE}"
            )

    def _keep_reached(self, link: str, target: str) -> None:
        """Keep what `link` leads to. A file is kept with its directory: a mount on a file is gone when
        its owner replaces the file. Errors: Unguarded."""
        reached = self._reached(target, fixed=self._kept)
        if reached is not None and (not is_in(reached, self._roots) or is_in(reached, self._kept)):
            return
        if reached is not None and status_of(reached) is None:
            self.missing.append(reached)
            return
        is_directory = reached is not None and is_folder(reached)
        if reached is None or not self._keep_folder(reached if is_directory else os.path.dirname(reached)):
            real = real_path(target)
            what = (
                "lies where a job could change it" if real == link else f"is a link to {real}, which a job could change"
            )
            raise Unguarded(f"{link} {what}, and git obeys it: put it elsewhere, {_WRITE}")
        if is_directory:
            self._keep_linked(reached)
        else:
            self._require_one_name(reached, os.lstat(reached))

    def _keep_folder(self, path: str) -> bool:
        """Keep a directory; return whether it is there."""
        if os.path.islink(path):
            path = real_path(path)
            if not is_in(path, self._roots):
                return True
        if not is_folder(path) or path in self._roots:
            return False
        self._kept[path] = None
        return True

    def _linked(self, top: str, git: str) -> str | None:
        """Return the git directory that a file `.git` names. It is shown if it names this working tree
        too: otherwise any job could have a directory shown that it may not see."""
        target = gitconfig.linked(git, top)
        if target is None or is_in(target, self._written):
            return target
        common, folder = os.path.split(os.path.dirname(target))  # as git-worktree(1) lays them out
        is_one = folder == "worktrees" and top in gitconfig.working_trees(target)
        is_one &= all(os.path.exists(os.path.join(common, name)) for name in ("HEAD", "objects"))
        if is_one and not is_in(common, self._written):
            self._read[common] = None
        return target

    def keep_second_names(self) -> None:
        """Keep what a job would change elsewhere too. Errors: Unguarded."""
        known = frozenset(self.kept)
        hidden = frozenset(self._hidden)
        shut: list[str] = []
        found = second_names.kept(self._roots, lambda path: path in known or path in hidden, shut.append)
        self._kept |= dict.fromkeys(found)
        for path in shut:
            self._keep("u", path)

    @property
    def kept(self) -> list[str]:
        """What becomes read-only."""
        return sorted({*self._kept, *self._protected})

    def keeps(self, path: str) -> bool:
        """Return whether the job may not write here."""
        return is_in(path, [*self._kept, *self._protected])

    def mounts_as(self, other: Guard) -> bool:
        """Return whether the same directories are mounted for both."""
        return self._mounted() == other._mounted()

    def _mounted(self) -> tuple[list[str], list[str], dict[str, list[int]]]:
        return self.kept, [*self._read], {path: known[:2] for path, known in self.repositories.items() if known}

    def mount(self, mounts: Mounts) -> None:
        for path in self._read:
            mounts.bind(path)
        covered: list[str] = []
        for path in self.kept:  # a directory before what is in it, which is kept with it
            if not is_in(path, covered):
                covered.append(path)
                mounts.bind(path, self.repositories.get(path, [])[:2] or None)


def likely(sandbox: Sandbox) -> Guard:
    """Return what is kept if the writable directories have no repository but their own. Errors: Unguarded."""
    return Guard(sandbox, _at_top(sandbox))


def _at_top(sandbox: Sandbox) -> list[tuple[str, str]]:
    return [("g", root) for root in sandbox.roots if os.path.lexists(f"{root}/.git")]


def guarded(sandbox: Sandbox) -> Guard:
    """Search, and return what is kept from a job that would start now: of git nothing where it may write
    that. Errors: Unguarded, OSError."""
    roots: dict[str, int] = {}
    try:
        for root, identity in zip(sandbox.roots, sandbox.root_ids, strict=True):
            roots[root] = opened(root, identity)
        guard = Guard(sandbox, _found(sandbox, roots))
        guard.keep_second_names()
        return guard
    finally:
        for fd in roots.values():
            os.close(fd)


def _found(sandbox: Sandbox, roots: Mapping[str, int]) -> list[tuple[str, str]]:
    try:
        return search.find(roots, visible_paths.OBEYED)
    except Unguarded:
        if sandbox.git != "write":  # which the error advises
            raise
        return _at_top(sandbox)


def _joined(place: str, path: str) -> str:
    """Return a path from a directory that no job replaces; a `..` further on is left in it."""
    while path.startswith("../"):
        place, path = os.path.dirname(place), path[3:]
    return os.path.join(place, path)


def changes(git: str) -> list[int]:
    """Return inodes and times of what in a git directory decides what git runs."""
    stamp = []
    for name in CHANGES:
        try:
            there = os.lstat(os.path.join(git, name))
        except NotADirectoryError:  # a file that names the directory
            there = os.lstat(git)
        except OSError:
            stamp += [0, 0]
            continue
        stamp += [there.st_ino, there.st_ctime_ns]
    return stamp
