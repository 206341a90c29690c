"""What we carry to another machine, a zipapp of the parts that need the standard library alone, and the first lines that
run there.

The remote command line is fixed: it names an interpreter, and reads one line of Python from stdin.
So no shell there, whichever it is, sees anything but that. The line finds our end in the home
directory, or asks for it and unpacks it; from then on it is imported like any package.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator

import outlive
from outlive.core.members import parse_json
from outlive.parts.hosts.findings import visible
from outlive.parts.hosts.ssh.connecting.wire import NEED, REFUSE
from outlive.system import interpreter

# Rooms that a job elsewhere has no use for, or that need a library
_LEFT_HERE = frozenset("mcp cli verbs __main__.py __pycache__".split())
# Parts that do something for a job there
_PARTS = frozenset({"hosts", "sandbox"})
_MAIN = b"from outlive.parts.hosts.far.main import main\n\nraise SystemExit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files make the same bundle


class Bundle:
    """The files of the bundle. They are read when `name` is first asked for."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._name = ""

    @property
    def name(self) -> str:
        """The name of the bundle, which changes with the contents of the files: another version
        never replaces the files of a copy that runs."""
        if not self._name:
            self._files = dict(_files())
            digest = hashlib.sha256()
            for name, data in self._files.items():
                digest.update(f"{name}\0{len(data)}\0".encode() + data)
            self._name = f"{outlive.__version__}-{digest.hexdigest()[:16]}"
        return self._name

    def zipped(self) -> bytes:
        """Return the zipapp (PEP 441)."""
        assert self.name
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name, data in self._files.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        return made.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN
    top = outlive.DIRECTORY
    parts = os.path.join(top, "parts")
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - _LEFT_HERE) if folder != parts else sorted(_PARTS.intersection(folders))
        inside = os.path.relpath(folder, os.path.dirname(top))
        for name in sorted(names):
            if name.endswith(".py") and not (folder == top and name in _LEFT_HERE):
                with open(os.path.join(folder, name), "rb") as file:
                    yield os.path.join(inside, name), file.read()


# -I, -S: no directory of the user's, no variable and no `.pth` changes what is imported. Between single quotes
# shells differ in nothing but ! and newlines
ARGUMENTS = "-I -S -c 'exec(open(0,\"rb\",0,closefd=False).readline())'"
LEAST_PYTHON = (3, 11)

# A connection holds a lock on the files that it may still import: a version without that is deleted when
# another one is unpacked. Guardians and supervisors hold their code in memory. Where the file system
# has no locks, nothing is deleted.
# Written for any Python from 3.0 on, so that an old one can say that it is too old
_SOURCE = """
import os, sys
def say(line):
    os.write(1, line + b"\\n")
def read(count):
    parts = []
    while count:
        part = os.read(0, min(count, 65536))
        if not part:
            sys.exit(1)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
def hold(place, exclusive=False):
    import fcntl
    fd = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
    except OSError:
        os.close(fd)
        raise
    return fd
def drop(place):
    import shutil
    try:
        fd = hold(place, True)
    except OSError:
        return
    gone = "%s.%d.tmp" % (place, os.getpid())
    try:
        os.rename(place, gone)
        shutil.rmtree(gone)
    except OSError:
        pass
    os.close(fd)
def unpack(place):
    import io, shutil, zipfile
    say({need!r})
    data = read(int.from_bytes(read(8), "little"))
    half = "%s.%d.tmp" % (place, os.getpid())
    umask = os.umask(0o077)
    os.makedirs(half)
    try:
        hold(half)
    except OSError:
        pass
    zipfile.ZipFile(io.BytesIO(data)).extractall(half)
    os.umask(umask)
    try:
        os.rename(half, place)
    except OSError:
        shutil.rmtree(half)
        if not os.path.isdir(place):
            raise
    far, name = os.path.split(place)
    for other in os.listdir(far):
        if other != name:
            drop(os.path.join(far, other))
def begin(name, least):
    if sys.version_info < least:
        import json
        facts = {{"python": "%d.%d.%d" % tuple(sys.version_info[:3]), "path": sys.executable}}
        say({refuse!r} + json.dumps(facts).encode())
        sys.exit(1)
{site}    data = os.environ.get("XDG_DATA_HOME") or ""
    data = data if os.path.isabs(data) else os.path.join(os.path.expanduser("~"), ".local", "share")
    place = os.path.join(data, "outlive", "far", name)
    while True:
        if not os.path.isdir(place):
            unpack(place)
        try:
            fd = hold(place)
            if os.path.samestat(os.fstat(fd), os.stat(place)):
                break
            os.close(fd)
        except FileNotFoundError:
            continue
        except OSError:
            break
    sys.path.insert(0, place)
    from outlive.parts.hosts.far.main import main
    sys.exit(main())
"""


def first_line(name: str) -> bytes:
    """Return the line for a bundle with this name."""
    source = (
        _SOURCE.format(need=NEED, refuse=REFUSE, site=f"    exec({interpreter.SITE!r}, {{}})\n")
        + f"begin({name!r}, {LEAST_PYTHON!r})\n"
    )
    return f"exec({source!r})\n".encode("ascii")


def refusal(said: bytes) -> str:
    """Return the sentence for what an old interpreter said."""
    try:
        facts: dict[str, object] = parse_json(said[len(REFUSE) :])
        python = visible(f"Python {facts['python']} ({facts['path']})")
    except (ValueError, KeyError, TypeError):
        python = "an unknown Python"
    least = ".".join(map(str, LEAST_PYTHON))
    return f"it has {python}, and outlive needs Python {least} or later there"
