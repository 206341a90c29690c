"""Judge a directory or a link on the way to a job root that is not plainly safe: it belongs to
another user than us and root, or its mode lets others write.

Three things look like that and are harmless: a group of one user, a group of root alone, and root
in a container that has no user 0.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import NoReturn

from outlive.errors import OTHER_ROOT, OutliveError

_OVERFLOW = "/proc/sys/kernel/overflowuid"
_ACL = "system.posix_acl_access"


def check(path: str, status: os.stat_result) -> None:
    """Raise store_unsafe unless no other user may change what stands here."""
    what = "link" if stat.S_ISLNK(status.st_mode) else "directory"
    if status.st_uid not in (0, os.geteuid()) and not _is_unmapped_root(status.st_uid):
        owner = _user(status.st_uid)
        _refuse(f"the {what} {path} on the way to the job root belongs to {owner}", OTHER_ROOT)
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & 0o002 or (status.st_mode & 0o020 and not _is_own_group(path, status.st_gid)):
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == os.geteuid():
            mend = f"Run: chmod go-w {path}"
        else:
            mend = f"Its owner, {_user(status.st_uid)}, can close it: chmod go-w {path} (or chmod +t). {OTHER_ROOT}"
        _refuse(f"the directory {path} on the way to the job root is writable by others (mode {mode:04o})", mend)


def _refuse(fact: str, hint: str) -> NoReturn:
    raise OutliveError("store_unsafe", f"{fact}, who could put another root in its place", hint=hint)


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


def _is_own_group(path: str, gid: int) -> bool:
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
