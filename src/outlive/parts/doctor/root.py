"""The job root: which, why that one, on what kind of file system, and how much room there is."""

from __future__ import annotations

import os

from outlive import limits
from outlive.core.units import size
from outlive.parts.finding import CheckContext, Finding, fail, ok, unopened, warn
from outlive.store.root import default_path
from outlive.system import mounts

# On these, locks and renames do not work as outlive needs them, or other machines see old states.
_NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p ceph glusterfs afs coda lustre beegfs gfs2 ocfs2 gpfs pvfs2 orangefs ncpfs".split()
)
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_SHARED_BY_FUSE = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.ceph", "fuse.gcsfuse")
_SMALL_BYTES = 64 * 1024**2
_FEW_FILES = 1_000  # a job takes about a dozen


def _why(context: CheckContext) -> str:
    if context.flags.get("root"):
        return "--root"
    if context.env.get("OUTLIVE_ROOT"):
        return "OUTLIVE_ROOT"
    base = context.env.get("XDG_DATA_HOME")
    return "XDG_DATA_HOME" if base and os.path.isabs(base) else "the default"


OTHER_ROOT_ADVICE = "Choose another root with --root or OUTLIVE_ROOT."


def root(context: CheckContext) -> Finding:
    if context.absent is not None:
        parent = context.directory or "/"
        facts = {"path": context.absent, "source": _why(context)}
        told = f"{context.absent} (from {_why(context)}) does not exist yet"
        if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
            return fail(f"{told}, and cannot be created in {parent}", OTHER_ROOT_ADVICE, **facts)
        return ok(f"{told}; the first job creates it", **facts)
    if context.store is None:
        error = context.store_error
        advice = (error and error.hint) or OTHER_ROOT_ADVICE
        return fail(
            f"{error} (from {_why(context)})", advice, path=context.flags.get("root") or default_path(context.env)
        )
    path = context.store.path
    facts = {"path": path, "source": _why(context)}
    if not os.access(path, os.W_OK | os.X_OK) or os.statvfs(path).f_flag & os.ST_RDONLY:
        advice = "Its jobs can be read and none can be started; choose another one with --root or OUTLIVE_ROOT."
        return fail(f"{path} (from {_why(context)}) cannot be written", advice, **facts)
    return ok(f"{path} (from {_why(context)}); it is yours, and no other user may write into it", **facts)


def file_system(context: CheckContext) -> Finding:
    if context.directory is None:
        return unopened(context)
    mount = mounts.holding(context.directory)
    kind, mounted = (mount.type, mount.point) if mount else ("", "")
    told = f"{kind or 'of an unknown kind'}{f', mounted at {mounted}' if mounted else ''}"
    if kind in _NETWORK or kind.startswith(_SHARED_BY_FUSE):
        advice = (
            "Network file systems are not supported as a root: locks and renames may not hold, and other machines see old "
            "states. Choose a directory on a local disk with --root or OUTLIVE_ROOT."
        )
        return fail(f"{told}: a network file system", advice, type=kind)
    if kind in _IN_MEMORY:
        return warn(f"{told}: in memory", "Jobs and their output are gone with the next reboot.", type=kind)
    if kind.startswith("fuse"):
        return warn(f"{told}: served by a program", "Jobs depend on that program; a local disk is safer.", type=kind)
    return ok(told, type=kind)


def space(context: CheckContext) -> Finding:
    if context.directory is None:
        return unopened(context)
    room = os.statvfs(context.directory if context.store is None else context.store.fd)
    free, files = room.f_bavail * room.f_frsize, room.f_favail if room.f_files else None
    quota = limits.QUOTA_BYTES if context.config is None else context.config.get("exec", "quota_bytes")
    facts = {"free_bytes": free, "free_files": files, "quota_bytes": quota}
    told = f"{size(free)} free" + ("" if files is None else f", room for {files:,} files")
    told += f"; a job may keep {size(quota)} of output" if quota else "; a job may keep all of its output"
    if free < _SMALL_BYTES or (files is not None and files < _FEW_FILES // 10):
        advice = "Free some space: `outlive gc --older-than 7d` deletes old finished jobs."
        return fail(told, advice, **facts)
    if (quota and free < quota) or (files is not None and files < _FEW_FILES):
        advice = (
            "One job could fill the disk: set [exec] quota_bytes lower, or free some space with `outlive gc`. A full disk ends "
            "no job; what finds no room is dropped and counted."
        )
        return warn(told, advice, **facts)
    return ok(told, **facts)
