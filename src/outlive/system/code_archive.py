"""Code that stays within reach when its files are replaced or deleted: a zip file in memory (zipimport).

An update of this package must not touch a running process: `pip install -U` replaces every file, `pip uninstall` and
`pipx uninstall` delete them, and an import that comes later would find another version or nothing. No process maps a
page of the archive. The standard library is not in it: an update of this package does not touch that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec


def write(fd: int, *packages: str) -> None:
    """Write an archive of these packages, loaded or not, into an empty file. Errors: OSError."""
    import zipfile  # late: 1.2 MB, which a server leaves to a fork

    with open(fd, "wb", closefd=False) as file, zipfile.ZipFile(file, "w") as archive:
        for package in packages:
            for source, inside in _sources(package):
                try:
                    suffix, code = _code(source)
                except OSError:  # it is being replaced just now
                    continue
                archive.writestr(f"{inside}{suffix}", code)


def write_in_fork(fd: int, *packages: str) -> None:
    """Do the same, and keep nothing of it in this process, which has one thread. Errors: OSError."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            write(fd, *packages)
            code = 0
        finally:
            os._exit(code)
    try:
        _, status = os.waitpid(child, 0)
    except ChildProcessError:  # our caller ignores SIGCHLD, so the kernel has reaped it (wait(2))
        return
    if status:
        raise OSError("the code of outlive could not be copied into memory")


def path_of(fd: int) -> str:
    """Return what stands on `sys.path` for an archive, as long as the fd is open."""
    return f"/proc/self/fd/{fd}"


def import_from(fd: int, *packages: str) -> None:
    """Import from the archive what these packages, which are loaded, have not loaded of themselves yet."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages and hasattr(module, "__path__"):
            module.__path__.insert(0, f"{path_of(fd)}/{name.replace('.', '/')}")


def _sources(package: str) -> Iterator[tuple[str, str]]:
    """Yield each source file of a package, and its name in an archive without `.py`."""
    spec = find_spec(package)
    if spec is None or not spec.origin:
        return
    top = os.path.dirname(spec.origin)
    for directory, _, names in os.walk(top):
        for name in names:
            source = os.path.join(directory, name)
            if name.endswith(".py"):
                yield source, os.path.relpath(source, os.path.dirname(top)).removesuffix(".py")


def _code(source: str) -> tuple[str, bytes]:
    """Return the bytecode of a source file, or the source if that is not up to date (PEP 552). Errors: OSError."""
    status = os.stat(source)
    fresh = b"".join(number.to_bytes(4, "little") for number in (0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size))
    try:
        with open(cache_from_source(source), "rb") as file:
            code = file.read()
    except (OSError, NotImplementedError):  # none was written; or this Python writes none
        code = b""
    if code.startswith(MAGIC_NUMBER + fresh):
        return ".pyc", code
    with open(source, "rb") as file:
        return ".py", file.read()
