"""Records every change that a Python program makes below one directory: `python recorder.py LOG BASE MODULE ARGUMENT …`.

It puts itself in front of the functions of `os` that change files (no rights, no tracer), runs MODULE as `python -m`
does, and goes on in every process that MODULE forks. Each change is done and written down under one lock, so the log
has the order in which the kernel did them. Bytes that splice(2) moves inside the kernel are read back from their file.
What a program changes by other means (C code, a program that it executes) is not seen: `Recording.replayed` of
model.py must equal the directory that was left, and a test compares them.

A line of the log is one object: `op`, the numbers of the inodes, names, offsets, bytes as Latin-1, and `ns`, the
monotonic time after it. `op` is create, mkdir, fifo, socket, symlink, link, rename, unlink, rmdir; write, truncate,
allocate, punch; sync, datasync; and `mark`: a step that the program names, or an answer that it gave.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import runpy
import stat
import struct
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

_REAL = {name: getattr(os, name) for name in dir(os) if callable(getattr(os, name))}
_IOCTL = fcntl.ioctl
_UNRESVSP64 = 0x4030582B  # xfs_fs.h, which every Linux file system takes for "punch a hole"


class Recorder:
    """The changes that this process, and what it forks, makes below `base`."""

    def __init__(self, log: str, base: str) -> None:
        self._log = log
        self._base = os.path.realpath(base)
        self._sockets: set[str] = set()

    def install(self) -> None:
        """Put the functions that record in place of those of `os` and `fcntl`."""
        for name in ("rename", "replace"):
            setattr(os, name, self._rename)
        for name in ("unlink", "remove"):
            setattr(os, name, self._gone("unlink"))
        os.rmdir = self._gone("rmdir")
        os.mkdir = self._made("mkdir", _REAL["mkdir"])
        os.mkfifo = self._made("fifo", _REAL["mkfifo"])
        for name in ("open", "link", "symlink", "write", "pwrite", "writev", "ftruncate", "splice", "sendfile"):
            setattr(os, name, getattr(self, f"_{name}"))
        os.posix_fallocate = self._fallocate
        for name, op in (("fsync", "sync"), ("fdatasync", "datasync")):
            setattr(os, name, self._synced(op, _REAL[name]))
        fcntl.ioctl = self._ioctl

    def mark(self, **what: Any) -> None:
        """Write down that the program has come to a point. A name that bind(2) made is noticed here."""
        with self._locked() as write:
            for place, _, names in os.walk(self._base):
                for name in names:
                    path = os.path.join(place, name)
                    if path not in self._sockets and _is(stat.S_ISSOCK, path):
                        self._sockets.add(path)
                        write(op="socket", dir=os.stat(place).st_ino, name=name, ino=os.lstat(path).st_ino)
            write(op="mark", **what)

    @contextmanager
    def _locked(self) -> Any:
        """Hold the log; yields the function that adds a line to it."""
        # Opened anew each time: a supervisor closes every file that it does not know
        fd = _REAL["open"](self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            yield lambda **line: _REAL["write"](fd, _line(pid=os.getpid(), ns=time.monotonic_ns(), **line))
        finally:
            _REAL["close"](fd)

    # --- names ---

    def _place(self, path: Any, dir_fd: int | None) -> tuple[int, str] | None:
        """The directory, as an inode, and the name in it; None outside of `base`."""
        path = os.fspath(path)
        path = path.decode() if isinstance(path, bytes) else path
        if not path.startswith("/") and dir_fd is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), path)
        above, name = os.path.split(os.path.abspath(path))
        above = os.path.realpath(above)
        if not f"{above}/".startswith(f"{self._base}/"):
            return None
        try:
            return os.stat(above).st_ino, name
        except FileNotFoundError:  # the directory was deleted, and is still open
            return None

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        how = {} if dir_fd is None else {"dir_fd": dir_fd}
        place = self._place(path, dir_fd) if flags & (os.O_CREAT | os.O_TRUNC) else None
        if place is None:
            return int(_REAL["open"](path, flags, mode, **how))
        with self._locked() as write:
            known = _exists(path, how)
            fd = int(_REAL["open"](path, flags, mode, **how))
            if not known:
                write(op="create", dir=place[0], name=place[1], ino=os.fstat(fd).st_ino)
            elif flags & os.O_TRUNC:
                write(op="truncate", ino=os.fstat(fd).st_ino, to=0)
            return fd

    def _made(self, op: str, real: Callable[..., None]) -> Callable[..., None]:
        def make(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            place = self._place(path, dir_fd)
            how = {} if dir_fd is None else {"dir_fd": dir_fd}
            if place is None:
                return real(path, mode, **how)
            with self._locked() as write:
                real(path, mode, **how)
                write(op=op, dir=place[0], name=place[1], ino=os.stat(path, follow_symlinks=False, **how).st_ino)
            return None

        return make

    def _symlink(self, target: Any, path: Any, *how: Any, dir_fd: int | None = None) -> None:
        place = self._place(path, dir_fd)
        with self._locked() as write:
            _REAL["symlink"](target, path, *how, dir_fd=dir_fd)
            if place is not None:
                made = os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_ino
                write(op="symlink", dir=place[0], name=place[1], ino=made, target=os.fspath(target))

    def _link(self, old: Any, new: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None, **how: Any) -> None:
        place = self._place(new, dst_dir_fd)
        with self._locked() as write:
            _REAL["link"](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **how)
            if place is not None:
                made = os.stat(new, dir_fd=dst_dir_fd, follow_symlinks=False).st_ino
                write(op="link", dir=place[0], name=place[1], ino=made)

    def _rename(self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        source, target = self._place(old, src_dir_fd), self._place(new, dst_dir_fd)
        with self._locked() as write:
            _REAL["rename"](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            if source is not None and target is not None:
                write(op="rename", dir=source[0], name=source[1], to_dir=target[0], to_name=target[1])

    def _gone(self, op: str) -> Callable[..., None]:
        def remove(path: Any, *, dir_fd: int | None = None) -> None:
            place = self._place(path, dir_fd)
            if place is None:
                _REAL[op](path, dir_fd=dir_fd)
                return
            with self._locked() as write:
                _REAL[op](path, dir_fd=dir_fd)
                write(op=op, dir=place[0], name=place[1])
            return

        return remove

    # --- bytes ---

    def _inode(self, fd: int) -> int | None:
        """The inode of a regular file or a directory below `base`; None for anything else."""
        try:
            found = os.fstat(fd)
        except OSError:
            return None
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return None
        path = os.readlink(f"/proc/self/fd/{fd}")
        return found.st_ino if f"{path}/".startswith(f"{self._base}/") else None

    def _written(self, fd: int, at: int | None, real: Callable[[], int]) -> int:
        """Do what writes at `at` of a file (None: at its position), and record the bytes that stand there then."""
        ino = self._inode(fd)
        if ino is None:
            return real()
        with self._locked() as write:
            if at is None:
                append = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
                at = os.fstat(fd).st_size if append else os.lseek(fd, 0, os.SEEK_CUR)
            count = real()
            if count > 0:
                again = _REAL["open"](f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
                write(op="write", ino=ino, at=at, data=os.pread(again, count, at).decode("latin-1"))
                _REAL["close"](again)
            return count

    def _write(self, fd: int, data: Any) -> int:
        return self._written(fd, None, lambda: int(_REAL["write"](fd, data)))

    def _pwrite(self, fd: int, data: Any, at: int) -> int:
        return self._written(fd, at, lambda: int(_REAL["pwrite"](fd, data, at)))

    def _writev(self, fd: int, data: Any) -> int:
        return self._written(fd, None, lambda: int(_REAL["writev"](fd, data)))

    def _splice(
        self, src: int, dst: int, count: int, offset_src: Any = None, offset_dst: Any = None, flags: int = 0
    ) -> int:
        how = {"offset_src": offset_src, "offset_dst": offset_dst, "flags": flags}
        return self._written(dst, offset_dst, lambda: int(_REAL["splice"](src, dst, count, **how)))

    def _sendfile(self, out: int, *how: Any) -> int:
        return self._written(out, None, lambda: int(_REAL["sendfile"](out, *how)))

    def _changed(self, fd: int, real: Callable[[], Any], **line: Any) -> Any:
        ino = self._inode(fd)
        if ino is None:
            return real()
        with self._locked() as write:
            result = real()
            write(ino=ino, **line)
            return result

    def _ftruncate(self, fd: int, to: int) -> None:
        self._changed(fd, lambda: _REAL["ftruncate"](fd, to), op="truncate", to=to)

    def _fallocate(self, fd: int, at: int, count: int) -> None:
        self._changed(fd, lambda: _REAL["posix_fallocate"](fd, at, count), op="allocate", to=at + count)

    def _ioctl(self, fd: Any, request: int, *how: Any) -> Any:
        if request & 0xFFFFFFFF != _UNRESVSP64:
            return _IOCTL(fd, request, *how)
        _, _, at, count = struct.unpack_from("hhqq", how[0])
        return self._changed(fd, lambda: _IOCTL(fd, request, *how), op="punch", at=at, to=at + count)

    def _synced(self, op: str, real: Callable[[Any], None]) -> Callable[[Any], None]:
        def sync(file: Any) -> None:
            fd = file if isinstance(file, int) else file.fileno()
            ino = self._inode(fd)
            real(fd)
            if ino is not None:
                with self._locked() as write:
                    write(op=op, ino=ino)

        return sync


def _line(**content: Any) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _exists(path: Any, how: Any) -> bool:
    try:
        os.stat(path, follow_symlinks=False, **how)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise
        return False
    return True


def _is(kind: Callable[[int], bool], path: str) -> bool:
    try:
        return kind(os.lstat(path).st_mode)
    except OSError:
        return False


def main(argv: list[str]) -> None:
    log, base, module, *rest = argv
    sys.path[0] = os.getcwd()  # as `python -m` has it, and not the directory of this file
    recorder = Recorder(log, base)
    recorder.install()
    if module == "outlive":  # the steps of the program that this recorder was made for
        from outlive.system import fault_points

        die = fault_points.at

        def at(point: str) -> None:
            recorder.mark(point=point)
            die(point)

        fault_points.at = at
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
