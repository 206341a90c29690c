"""The job root: where it is, whether it is safe to use, and which jobs are in it."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from outlive import limits
from outlive.core.base_directories import base_directory
from outlive.core.ids import is_id, is_id_part, new_id, only_ids
from outlive.core.labels import Origin
from outlive.errors import OTHER_ROOT, OutliveError, from_os, per_face
from outlive.system import fault_points, fds, process
from outlive.system.fds import DIRECTORY, Closing

# One file for each job that has not ended: so `list` finds the running ones among 10,000
LIVE = ".live"
TEMPORARY = ".tmp-"
TRASH = ".gc-"
_TRASH_CHARS = 6  # behind the id of what is being deleted
_OVERFLOW = "/proc/sys/kernel/overflowuid"
_ACL = "system.posix_acl_access"
_LINKS = 40  # on the way to a root, as in path_resolution(7)


def default_path(env: Mapping[str, str]) -> str:
    """Return `OUTLIVE_ROOT`, else `$XDG_DATA_HOME/outlive/jobs`, else
    `~/.local/share/outlive/jobs`."""
    if env.get("OUTLIVE_ROOT"):
        return os.path.abspath(env["OUTLIVE_ROOT"])
    return os.path.join(base_directory(env, "XDG_DATA_HOME", ".local", "share"), "outlive", "jobs")


_MOUNT_PROC = "Have it mounted for this process: mount -t proc proc /proc"
LEFT = ".left"  # behind the id of a job that ended, whose processes live


class Store:
    """A root that was found safe. All access below it is relative to `fd`, so a path that is
    swapped changes nothing."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd
        self._is_left = False  # closed when no call refers to it any more
        self.origins: dict[str, Origin] = {}  # of the jobs that jobs/lookup.py has read
        # By a job's id: what finds the secrets in its output that are not shown (Find in store/output/masks.py).
        # None: all is shown
        self.secrets_of: Callable[[str], Any] | None = None

    @classmethod
    def open(cls, path: str | None, env: Mapping[str, str]) -> Store:
        """Open the root; create it (0700) if it does not exist. Errors: store_unsafe, io_error; also
        without /proc, where every job would seem to be dead."""
        if not process.has_proc():
            raise OutliveError("io_error", "there is no /proc here, by which outlive sees processes", hint=_MOUNT_PROC)
        wanted = os.path.abspath(path or default_path(env))
        try:
            wanted = walked(wanted)
            return cls._checked(wanted)
        except NotADirectoryError as error:
            if not os.path.exists(wanted):  # something above it is none
                raise from_os(f"opening the job root {wanted}", error, on="root") from error
            raise OutliveError("io_error", f"the job root {wanted} is not a directory", hint=OTHER_ROOT) from error
        except OSError as error:
            raise from_os(f"opening the job root {wanted}", error, on="root") from error

    @classmethod
    def existing(cls, path: str) -> Store:
        """Open a root by the real path that it had when it was opened before. Errors: OSError if
        it is gone or a link, store_unsafe."""
        if walked(path, make=False) != path:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return cls._checked(path)

    @classmethod
    def _checked(cls, path: str) -> Store:
        fd = os.open(path, fds.DIRECTORY)
        try:
            _check(path, os.fstat(fd))
        except OutliveError:
            os.close(fd)
            raise
        return cls(path, fd)

    def close(self) -> None:
        os.close(self.fd)

    def close_when_unused(self) -> None:
        """Close the directory as soon as no call refers to this store any more.

        For a server whose root was replaced: other calls may still be at work in the old directory,
        and closing its fd now would make them fail, or use whatever file gets the same number next.
        """
        self._is_left = True

    def __del__(self) -> None:
        if self._is_left:
            self.close()

    def is_in_place(self) -> bool:
        """Return whether this is still the directory that its path names."""
        try:
            here, there = os.fstat(self.fd), os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def ids(self) -> list[str]:
        """Return the ids of all jobs, newest first. Costs one directory listing and opens no job."""
        return sorted(only_ids(fds.names_in(self.fd)), reverse=True)

    def live_ids(self) -> list[str]:
        """Return the ids of the jobs that may still run, newest first."""
        return sorted(filter(is_id, self._marks()), reverse=True)

    def left_ids(self) -> list[str]:
        """Return the ids of the jobs that ended and left processes, as far as their supervisors know."""
        ids = (name.removesuffix(LEFT) for name in self._marks() if name.endswith(LEFT))
        return sorted(filter(is_id, ids), reverse=True)

    def _marks(self) -> list[str]:
        try:
            return fds.names_in(self.fd, LIVE)
        except OSError:
            return []

    def is_marked_live(self, job_id: str) -> bool:
        """Return whether a job may still run; it need not be open."""
        try:
            os.stat(f"{LIVE}/{job_id}", dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def mark_live(self, job_id: str) -> None:
        for _ in range(2):
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                os.close(os.open(f"{LIVE}/{job_id}", flags, 0o600, dir_fd=self.fd))
                return
            except FileNotFoundError:
                try:
                    os.mkdir(LIVE, 0o700, dir_fd=self.fd)
                except FileExistsError:
                    continue

    def find(self, text: str, exists: Callable[[str], bool] | None = None) -> str:
        """Return the id that `text` names: a whole id, or a unique beginning or end of one.

        A job for which `exists` returns False is treated as absent, in errors and their candidates
        too. Only characters of the id alphabet ever reach the file system. Errors: job_not_found,
        ambiguous_job_id.
        """
        wanted = text.strip().upper() if isinstance(text, str) else ""
        if is_id(wanted):
            if self._has(wanted) and (exists is None or exists(wanted)):
                return wanted
        elif is_id_part(wanted):
            ids = [one for one in only_ids(fds.names_in(self.fd)) if one.startswith(wanted) or one.endswith(wanted)]
            ids = sorted(ids if exists is None else filter(exists, ids), reverse=True)
            if len(ids) == 1:
                return ids[0]
            if ids:
                raise _ambiguous(text, ids)
        raise not_found(text)

    def _has(self, job_id: str) -> bool:
        try:
            return stat.S_ISDIR(os.stat(job_id, dir_fd=self.fd, follow_symlinks=False).st_mode)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return False
            raise from_os(f"looking for job {job_id} under {self.path}", error, on="store") from error

    def leftovers(self) -> Iterator[str]:
        """Yield the names of half-made and half-deleted job directories."""
        yield from filter(_is_leftover, fds.names_in(self.fd))


def _is_leftover(name: str) -> bool:
    """Return whether this is a name that outlive made: `.tmp-<ULID>` or `.gc-<ULID>-<6 characters>`.
    Another program's directory may begin like that."""
    if name.startswith(TEMPORARY):
        return is_id(name[len(TEMPORARY) :])
    job_id, dash, end = name[len(TRASH) :].partition("-")
    return name.startswith(TRASH) and is_id(job_id) and bool(dash) and len(end) == _TRASH_CHARS and end.isalnum()


def trash_name(job_id: str) -> str:
    """Return a name for a directory that is being deleted, which no other one has."""
    return f"{TRASH}{job_id}-{new_id()[-_TRASH_CHARS:]}"


def walked(path: str, *, make: bool = True, to: str = "the job root", otherwise: str = OTHER_ROOT) -> str:
    """Return the real path of a directory; make what is missing of it (0700). `to`: what it is, or is for; `otherwise`: how
    to do without it.

    Each directory on the way is checked before a name in it is trusted, and each link before it is
    followed: another user that can change one of them can put another directory in place of this one.
    Errors: store_unsafe, OSError.
    """
    done, left, links = "/", path.split("/")[::-1], 0
    above: os.stat_result | None = os.lstat(done)
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        if above is not None:
            _check_way(done, above, to, otherwise)
            above = None
        if name == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, name)
        try:
            status = os.lstat(here)
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.mkdir(here, 0o700)
            status = os.lstat(here)
        if not stat.S_ISLNK(status.st_mode):
            done, above = here, status
            continue
        _check_way(here, status, to, otherwise)
        links += 1
        if links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(here)
        left += target.split("/")[::-1]
        if target.startswith("/"):
            done = "/"
    return done


def _check_way(path: str, status: os.stat_result, to: str, otherwise: str) -> None:
    """Raise store_unsafe if another user may change this directory or link on the way to another: it belongs to another
    user than us and root, or its mode lets others write. What is below a directory with the sticky bit only its owner may
    replace (inode(7)).

    Three things look like that and are harmless: a group of one user, a group of root alone, and root
    in a container that has no user 0.
    """
    what = "link" if stat.S_ISLNK(status.st_mode) else "directory"
    if status.st_uid not in (0, os.geteuid()) and not _is_unmapped_root(status.st_uid):
        owner = _user(status.st_uid)
        _refuse_way(f"the {what} {path} on the way to {to} belongs to {owner}", otherwise)
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & 0o002 or (status.st_mode & 0o020 and not is_own_group(path, status.st_gid)):
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == os.geteuid():
            mend = f"Run: chmod go-w {path}"
        else:
            mend = f"Its owner, {_user(status.st_uid)}, can close it: chmod go-w {path} (or chmod +t). {otherwise}"
        _refuse_way(f"the directory {path} on the way to {to} is writable by others (mode {mode:04o})", mend)


def _refuse_way(fact: str, hint: str) -> NoReturn:
    raise OutliveError("store_unsafe", f"{fact}, who could put another one in its place", hint=hint)


def _user(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"uid {uid}"


def _is_unmapped_root(uid: int) -> bool:
    """Return whether this is the uid by which a user namespace shows all users that it does not
    have, and root is one of them (user_namespaces(7))."""
    try:
        with open(_OVERFLOW, encoding="ascii") as file:
            overflow = int(file.read())
        with open("/proc/self/uid_map", encoding="ascii") as file:
            mapped = [line.split() for line in file]
    except (OSError, ValueError):
        return False
    return uid == overflow and not any(int(first) == 0 for first, _, _ in mapped)


def is_own_group(path: str, gid: int) -> bool:
    """Return whether a group has no other user: most distributions give each user a group of the
    same name, and a umask that lets it write. With an access control list the bits of the group
    stand for other users too (acl(5))."""
    try:
        os.getxattr(path, _ACL)
        return False
    except OSError:  # none
        pass
    try:
        own = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # in a container
        own = ""
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return gid == os.geteuid()
    return not set(group.gr_mem) - {own, "root"} and (gid == 0 or group.gr_name == own)


def _check(path: str, status: os.stat_result) -> None:
    """Raise store_unsafe unless the root belongs to this user alone: a user that can write into it
    can make outlive run or read anything in this user's name."""
    if status.st_uid != os.geteuid():
        raise OutliveError(
            "store_unsafe",
            f"the job root {path} belongs to uid {status.st_uid}, not to uid {os.geteuid()}",
            hint=OTHER_ROOT,
        )
    if status.st_mode & 0o022:
        raise OutliveError(
            "store_unsafe",
            f"the job root {path} is writable by others (mode {stat.S_IMODE(status.st_mode):04o})",
            # A directory such as /tmp is meant for everyone
            hint=OTHER_ROOT if status.st_mode & stat.S_ISVTX else f"Run: chmod 700 {path}",
        )


_REMOVED = (
    "Check the id; the job may have been removed. "
    + per_face("`outlive list --all`", "`process` action=list all=true")
    + " shows every job that you may see."
)
_LISTED_CANDIDATES = 5  # in the hint; details have more


def not_found(text: str) -> OutliveError:
    """Return the error for a job that does not exist, or that the caller must not see: the two
    cannot be told apart."""
    wanted = text.strip().upper() if isinstance(text, str) else ""
    hint = _REMOVED
    if not is_id_part(wanted) and not is_id(wanted):
        part = f"A job is named by its id, by {limits.ID_PART_CHARS} or more characters of its beginning or end, or by its name in a list."
        hint = f"{part} {_REMOVED.partition('. ')[2]}"
    return OutliveError("job_not_found", f"no job {text!r}", hint=hint)


def _ambiguous(text: str, ids: list[str]) -> OutliveError:
    more = len(ids) - _LISTED_CANDIDATES
    which = ", ".join(ids[:_LISTED_CANDIDATES]) + (f" and {more} more" if more > 0 else "")
    return OutliveError(
        "ambiguous_job_id",
        f"{len(ids)} jobs begin or end with {text!r}",
        hint=f"Give more characters, or one of these: {which}.",
        details={"candidates": ids[: limits.CANDIDATES], "truncated": len(ids) > limits.CANDIDATES},
    )


# --- a directory and everything in it -------------------------------------------------------------


def remove_tree(parent_fd: int, name: str) -> bool:
    """Delete `name` below the directory behind `parent_fd`. Return False if it was not there.
    Errors: OSError.

    Links are removed, not followed. Everything goes through directory fds and stays on one device,
    so a path that is swapped for a link meanwhile changes nothing.
    """
    try:
        fd = os.open(name, DIRECTORY, dir_fd=parent_fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # a file or a link
            raise
        os.unlink(name, dir_fd=parent_fd)
        return True
    with Closing(fd):
        remove_opened(parent_fd, name, fd)
    return True


def remove_opened(parent_fd: int, name: str, fd: int) -> None:
    """Delete the directory behind `fd`, which is called `name`."""
    _empty(fd)
    fault_points.at("delete_emptied")
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent_fd)


def _empty(fd: int) -> None:
    """Delete everything in a directory. An entry that vanishes was deleted by another process at
    the same work."""
    with os.scandir(fd) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_directory in entries:
        with contextlib.suppress(FileNotFoundError):
            if is_directory:
                _delete_directory(fd, name)
            else:
                os.unlink(name, dir_fd=fd)


def _delete_directory(fd: int, name: str) -> None:
    with Closing(os.open(name, DIRECTORY, dir_fd=fd)) as inner:
        if os.fstat(inner).st_dev != os.fstat(fd).st_dev:
            raise OSError(f"{name} is on another file system")
        _empty(inner)
    os.rmdir(name, dir_fd=fd)
