"""The file system of a sandbox, as bubblewrap is told of it: an empty one, in which is mounted what
visible_paths.py lists.

Outside the writable directories no mount lies on anything of the machine, so nothing that happens
outside can uncover what is below one (the kernel drops a mount when its directory is removed or
replaced, umount_tree in fs/namespace.c). Inside they lie on directories, never on files that
programs replace.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from outlive.core.real_path import real_path
from outlive.core.records import Sandbox
from outlive.core.rights import identity_of
from outlive.parts.sandbox.confinement import gitconfig, hidden, visible_paths
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system import fds
from outlive.system.paths import entry, is_folder, make_folders, opened

_CACHED = "at-"  # how the name of what jobs cache begins
_LOCK = ".lock"  # beside it
_LOCK_INSIDE = "/dev/.start"
_TRIES, _TRY_AGAIN_S = 100, 0.002


class Guard(Protocol):
    """What is kept from a job (guard.py)."""

    @property
    def kept(self) -> list[str]: ...
    def mount(self, mounts: Mounts) -> None: ...


class Mounts:
    """Words for bubblewrap, the files that it reads by number, and the directories that can be written."""

    def __init__(self, first_fd: int) -> None:
        self.entries: dict[str, str] = {}  # of the home: see visible_paths.entries
        self.words: list[str] = []
        self.writable: list[str] = []
        self.files: dict[int, int] = {}  # number for bubblewrap → fd here
        self.bound: dict[str, list[int]] = {}  # path of what is mounted by an open fd → device, inode
        self.places: list[str] = []  # where something is mounted or made
        self._shown: list[str] = []  # those of them where something of the machine is mounted
        self._next = first_fd
        self._links: list[str] = []

    def close(self) -> None:
        for fd in self.files.values():
            os.close(fd)
        self.files = {}

    def number(self, fd: int) -> str:
        """Return the number by which bubblewrap gets an open file, which is closed with this."""
        self.files[self._next] = fd
        self._next += 1
        return str(self._next - 1)

    def _place(self, at: str, *words: str) -> None:
        self.places.append(at)
        self.words += [*words, at]

    def read_only(self, path: str) -> None:
        self._shown.append(path)
        self._place(path, "--ro-bind", path)

    def bind(
        self, path: str, identity: list[int] | None = None, *, writable: bool = False, at: str | None = None
    ) -> None:
        """Mount a directory or a file by an open fd: between a look at a name and its mount a job may
        make it a link. Errors: OSError."""
        fd = opened(path, identity)
        status = os.fstat(fd)
        self.bound[path] = [status.st_dev, status.st_ino]
        self._shown.append(at or path)
        self._place(at or path, "--bind-fd" if writable else "--ro-bind-fd", self.number(fd))

    def is_as_bound(self) -> bool:
        """Return whether what was mounted by an open fd still stands at its path."""
        return all(identity_of(path) == identity for path, identity in self.bound.items())

    def copy(self, fd: int, at: str) -> None:
        self._place(at, "--perms", "0444", "--file", self.number(fd))

    def empty(self, path: str, mode: str) -> None:
        self._place(path, "--perms", mode, "--tmpfs")

    def link(self, target: str, at: str) -> None:
        self._place(at, "--symlink", target)

    def link_on_the_way(self, path: str, own: Iterable[str]) -> None:
        """Make the links by which this path is reached, where no mount has them, and none behind another: bubblewrap would
        follow that one while it sees the whole machine. Where a directory of the sandbox's `own` stands in the place of a
        link, the last step of the path is the link."""
        done, names = "/", path.strip("/").split("/")
        for at, name in enumerate(names, 1):
            here = os.path.join(done, name)
            if os.path.islink(here):
                if here in own:
                    here = os.path.join(here, *names[at:])
                    if not is_in(here, self._links):
                        self._links.append(here)
                        self.link(real_path(here), here)
                    return
                if not is_in(here, [*self._links, *self._shown, *self.entries.values(), *visible_paths.SYSTEM]):
                    self._links.append(here)
                    self.link(os.readlink(here), here)
                here = real_path(here)
            done = here


def add(mounts: Mounts, sandbox: Sandbox, cwd: str, guarded: Callable[[], Guard | None]) -> None:
    """Fill `mounts` for a job. `guarded` returns what of the writable directories is kept from it,
    None if nothing is; it is called late, since a search for that may run. Errors: OSError if a
    writable directory is not what it was."""
    writable = sandbox.mode == "workspace-write"
    mounts.entries = visible_paths.entries(sandbox)
    _system(mounts, sandbox.home)
    mounts.words += ["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    for path in ("/tmp", "/var/tmp", "/run"):  # noqa: S108 - nothing is written there
        mounts.empty(path, "1777")
    for path in visible_paths.OF_RUN:
        if os.path.exists(path):
            mounts.read_only(path)
    mounts.empty(sandbox.home, "0700")
    _toolchains(mounts, sandbox)
    before_caches = len(mounts.words)
    _settings(mounts, sandbox)
    _chosen(mounts, sandbox)
    for root, identity in zip(sandbox.roots, sandbox.root_ids, strict=True):
        mounts.bind(root, identity, writable=writable)
    areas = visible_paths.visible(sandbox, mounts.entries)
    covered = hidden.to_cover(sandbox, mounts.entries, areas)
    guard = guarded()
    kept = guard.kept if guard is not None else []
    require_one_spelling([*kept, *covered], areas)
    for path in pinned([*kept, *covered], sandbox.roots) if writable else ():
        if is_folder(path):
            mounts.bind(path, writable=True)
    if guard is not None:
        guard.mount(mounts)
    for path in covered:
        mounts.empty(path, "0555")
    own = [f"{sandbox.home}/{name}" for name in visible_paths.CACHES if sandbox.cache]
    for path in sorted((cwd, *sandbox.show, *sandbox.toolchains)):  # an outer one first
        mounts.link_on_the_way(path, own)
    later = mounts.words[before_caches:]
    del mounts.words[before_caches:]
    _caches(mounts, sandbox)
    mounts.words += [*later, "--remount-ro", "/"]
    mounts.writable = ["/tmp", "/var/tmp", "/run", "/dev", sandbox.home]  # noqa: S108 - its own
    if writable:
        mounts.writable += sandbox.roots  # not the cache: it is below the home, and jobs change what is at its path


def require_one_spelling(paths: Iterable[str], areas: Iterable[str]) -> None:
    """Errors: Unguarded if a job could get around a mount on one of these paths in `areas`."""
    found = _spelled_twice(paths, areas)
    if found is not None:
        raise Unguarded(
            f"{found[0]} is to be kept from the job, and {found[1]} ignores case in names, by which a job could get "
            "around that: start outlive in a directory that does not, such as one of Linux itself"
        )


def _system(mounts: Mounts, home: str) -> None:
    for path in visible_paths.SYSTEM:
        if os.path.islink(path):
            mounts.link(os.readlink(path), path)
        elif os.path.isdir(path) and not is_in(home, [path]) and _has_entries(path):
            mounts.read_only(path)
    for path in visible_paths.OF_KERNEL:
        if os.path.isdir(path):
            mounts.read_only(path)
    mounts.words += ["--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/sys"]
    names = set(os.listdir("/etc"))
    for path in visible_paths.of_etc():
        mounts.read_only(path)
    for name in visible_paths.ETC_FILES:
        if name.split("/")[0] in names:
            _etc_file(mounts, f"/etc/{name}")


def _has_entries(path: str | int) -> bool:
    with os.scandir(path) as entries:
        return next(entries, None) is not None


def _etc_file(mounts: Mounts, path: str) -> None:
    """Show a file of /etc as it is now; programs replace these files, so a mount would not last."""
    if os.path.islink(path) and is_in(real_path(path), visible_paths.SYSTEM):
        mounts.link(os.readlink(path), path)
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    if stat.S_ISREG(os.fstat(fd).st_mode):
        mounts.copy(fd, path)
    else:
        os.close(fd)


def _toolchains(mounts: Mounts, sandbox: Sandbox) -> None:
    for name in visible_paths.TOOLCHAINS:
        if not is_in(f"{sandbox.home}/{name}", sandbox.roots):
            _show(mounts, sandbox, name)


def _settings(mounts: Mounts, sandbox: Sandbox) -> None:
    for name in gitconfig.OF_USER:
        path = visible_paths.at_home(sandbox, name)
        text = gitconfig.without_secrets(path, name) if path else None
        if text is not None:
            data = text.encode("utf-8", "surrogateescape")
            mounts.copy(fds.memory_file("gitconfig", data), f"{sandbox.home}/{name}")


def _caches(mounts: Mounts, sandbox: Sandbox) -> None:
    """Mount what tools cache, below what is in `mounts` by now. All jobs of a workspace write in these directories, and
    one of them could put a link in the place of a directory. So where something lies in one, this sandbox has an
    empty one in its place: bubblewrap follows links while it makes the way to a mount."""
    home = sandbox.home
    taken = [*mounts.places]
    lock = mounts.number(_locked(sandbox.cache)) if sandbox.cache else None
    inner = [name for name in visible_paths.CACHES_IN_TOOLCHAINS if _is_folder(f"{home}/{name}")]
    own = _own_stores(sandbox, taken)
    for name in (*visible_paths.CACHES, *inner, *([visible_paths.OWN_STORES] if own else [])):
        if sandbox.cache and not _holds(f"{home}/{name}", taken):
            _own(mounts, sandbox, name)
        elif (sandbox.cache or name in inner) and f"{home}/{name}" not in taken:
            mounts.empty(f"{home}/{name}", "0700")
    if lock is not None:  # bubblewrap copies it, and so closes it, when it has mounted what is above
        mounts.words += ["--file", lock, _LOCK_INSIDE]
    for name in visible_paths.STORES:
        if name in own:  # links into one directory: each mount takes time
            mounts.link(f"{home}/{visible_paths.OWN_STORES}/{_flat(name)}", f"{home}/{name}")
        else:
            _show(mounts, sandbox, name)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _holds(folder: str, places: Iterable[str]) -> bool:
    return any(is_in(place, [folder]) for place in places)


def _own_stores(sandbox: Sandbox, taken: list[str]) -> list[str]:
    """Return the stores that are the sandbox's own: with an open network all, which are made, and
    without one those that an earlier job has filled. None is where something else is mounted: it is a link."""
    if not sandbox.cache:
        return []
    is_open = sandbox.network == "open"
    with fds.Closing(_cached(sandbox.cache)) as top:
        try:
            folder = _made(visible_paths.OWN_STORES, top) if is_open else _folder(visible_paths.OWN_STORES, top)
        except FileNotFoundError:
            return []
    with fds.Closing(folder):
        places = {name: f"{sandbox.home}/{name}" for name in visible_paths.STORES}
        free = (name for name, at in places.items() if not _is_hidden(sandbox, at) and not _holds(at, taken))
        return [name for name in free if _is_own(_flat(name), folder, make=is_open)]


def _is_hidden(sandbox: Sandbox, path: str) -> bool:
    """Return whether something is hidden there, or above: nothing is mounted behind a link."""
    real = real_path(path)
    return is_in(real, sandbox.hide) or any(is_in(one, [real]) for one in sandbox.hide)


def _is_own(name: str, folder: int, *, make: bool) -> bool:
    """Return whether a store of the sandbox's own is there; with `make` it is made. Jobs write in `folder`,
    so no link in it is followed."""
    try:
        if make:
            os.mkdir(name, 0o700, dir_fd=folder)
            return True
        fd = os.open(name, fds.DIRECTORY, dir_fd=folder)
    except FileExistsError:
        return True
    except OSError:
        return False
    with fds.Closing(fd):
        return _has_entries(fd)


def _flat(name: str) -> str:
    return name.replace("/", "-")


def _own(mounts: Mounts, sandbox: Sandbox, name: str) -> None:
    """Mount a directory of the sandbox's own cache in the place of one of the home."""
    with fds.Closing(_cached(sandbox.cache or "")) as top, fds.Closing(_made(_flat(name), top)) as folder:
        os.chmod(f"/proc/self/fd/{folder}", 0o700)  # a job may have shut it
        fd = os.open(".", fds.DIRECTORY, dir_fd=folder)
    mounts.words += ["--bind-fd", mounts.number(fd), f"{sandbox.home}/{name}"]


def _locked(cache: str) -> int:
    """Return an fd with a shared lock that keeps what jobs cache at its name as long as it is open anywhere: bubblewrap
    looks that up. The file lies where no job sees it, or a job would keep the name for ever. Errors: OSError."""
    fd = _lock_file(cache)
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # another job ends now
            time.sleep(_TRY_AGAIN_S)
        except OSError:  # no locks on this file system
            break
        else:
            break
    return fd


def _lock_file(cache: str) -> int:
    make_folders(cache, 0o700)
    with fds.Closing(opened(cache)) as top:
        return os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=top)


def _cached(cache: str) -> int:
    """Return an fd of what jobs cache, which lies in `cache` under a name that is another one after each job."""
    make_folders(cache, 0o700)
    with fds.Closing(opened(cache)) as top:
        while True:
            try:
                return _folder(min(_names(top), default=_CACHED), top)
            except FileNotFoundError:  # another job ended meanwhile, or this is the first one
                if not _names(top):
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(_CACHED, 0o700, dir_fd=top)


def rename_cache(cache: str) -> None:
    """Give what jobs cache another name at the end of a job, which may have left words that lead there: a file `.git`,
    the remote of a repository. No repository is looked for in it. Where another job starts, its end does it."""
    try:
        with fds.Closing(opened(cache)) as top, fds.Closing(_lock_file(cache)) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            except OSError:  # no locks on this file system
                pass
            for name in _names(top):
                os.rename(name, _CACHED + os.urandom(16).hex(), src_dir_fd=top, dst_dir_fd=top)
    except OSError:  # there is none, or another job did it meanwhile
        return


def _names(top: int) -> list[str]:
    return [name for name in fds.names_in(top, ".") if name.startswith(_CACHED)]


def _folder(name: str, folder: int) -> int:
    try:
        return os.open(name, os.O_PATH | fds.DIRECTORY, dir_fd=folder)
    except NotADirectoryError:
        raise OSError(0, "it is a link, or no directory", name) from None


def _made(name: str, folder: int) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
    return _folder(name, folder)


def _show(mounts: Mounts, sandbox: Sandbox, name: str) -> None:
    """Show an entry of the home at its place, unless something else is there."""
    path, at = mounts.entries.get(name), f"{sandbox.home}/{name}"
    if path is not None and at not in mounts.places and os.path.exists(path):
        mounts.bind(path, at=at)


def _chosen(mounts: Mounts, sandbox: Sandbox) -> None:
    """Show what environment and configuration name, an outer directory before what is in it."""
    there = [*map(real_path, visible_paths.SYSTEM), *sandbox.roots, *mounts.entries.values()]
    for path in sorted(visible_paths.chosen(sandbox)):
        is_new = os.path.exists(path) and not is_in(path, there)
        if is_new and not is_in(sandbox.home, [path]):
            mounts.bind(path)
            there.append(path)


def pinned(paths: Iterable[str], roots: list[str]) -> list[str]:
    """Return the directories between a writable one and these paths, outer ones first. As mounts of
    their own they cannot be renamed, and made anew with other content."""
    folders = set()
    for path in paths:
        above = os.path.dirname(path)
        while above not in roots and is_in(above, roots):
            folders.add(above)
            above = os.path.dirname(above)
    return sorted(folders)


def _spelled_twice(paths: Iterable[str], areas: Iterable[str]) -> tuple[str, str] | None:
    """Return the first of these paths that has another spelling in the directories `areas`, and the directory that
    ignores case; None if none has.

    For the kernel each spelling may be an entry of its own (Windows drives in WSL): what is mounted on `.git` does not
    lie on `.GIT` then.
    """
    tops = list(areas)
    steps: dict[str, str] = {}  # what is on the way to a path → the path
    for path in paths:
        step = path
        while is_in(step, tops) and step not in tops and step not in steps:
            steps[step] = path
            step = os.path.dirname(step)
    return next(((path, os.path.dirname(step)) for step, path in steps.items() if _has_another_spelling(step)), None)


def _has_another_spelling(path: str) -> bool:
    folder, name = os.path.split(path)
    other = name.swapcase()
    if other == name or entry(path) is None or entry(os.path.join(folder, other)) != entry(path):
        return False
    return other not in os.listdir(folder)  # two entries of one file (a hard link) are two
