"""Append to the audit record: one line of JSON for each act, with one write(2). A full file is renamed, and of the
renamed ones the oldest go.

`target` says where (settings.py).
"""

import fcntl
import json
import os
import re
import socket
import stat
import time
from contextlib import suppress
from typing import Any

from outlive.core.ids import new_id
from outlive.core.record import Record
from outlive.core.units import timestamp
from outlive.system.fds import Closing

FILE, SYSLOG, OFF = PLACES = ("file", "syslog", "off")
NAME = "audit.ndjson"
END = "end"  # the verb of the line about the end of a job
# Of each line (`append`). Inside a string of JSON its quotation marks would be escaped, and no member of an entry is like it
BEGINNING = re.compile(rb'\{"id":"[0-9A-Z]{26}","at":"')
_COMMAND_CHARS = {FILE: 65_536, SYSLOG: 4_096}  # of all words; rsyslog cuts a message at 8 KiB
_LOG_SOCKET = "/dev/log"
_LOCK = ".audit.lock"
_PREFIX, _SUFFIX = "audit-", ".ndjson"  # of a renamed file
_PRIORITY = 10 * 8 + 6  # authpriv.info (RFC 3164, 4.1.1)


class AuditTarget(Record, omitted=("socket",)):
    """Where acts are recorded."""

    to: str = ""
    directory: str = ""
    required: bool = False
    max_bytes: int = 0
    files: int = 0
    socket: str | None = None  # of syslog; None: the usual one


def append(target: AuditTarget, verb: str, **facts: Any) -> None:
    """Record an act of this process. Errors: OSError."""
    entry = {"id": new_id(), "at": timestamp(), "verb": verb, "uid": os.geteuid(), **facts}
    if isinstance(entry.get("command"), list):
        _cut(entry, _COMMAND_CHARS[target.to])
    line = json.dumps(entry, separators=(",", ":")).encode("ascii")
    if target.to == SYSLOG:
        _send(target.socket or _LOG_SOCKET, line)
    else:
        _write(target, line + b"\n")


def _cut(entry: dict[str, Any], most: int) -> None:
    words: list[str] = entry["command"]
    if sum(map(len, words)) > most:
        kept: list[str] = []
        for word in words:
            kept.append(word[:most])
            most -= len(word)
            if most <= 0:
                break
        entry |= {"command": kept, "command_cut": True}


def _write(target: AuditTarget, line: bytes) -> None:
    fd = _opened(target.directory)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(1, "not a file of this user", os.path.join(target.directory, NAME))
        if status.st_size and status.st_size + len(line) > target.max_bytes:
            _rotate(os.path.join(target.directory, NAME), target.max_bytes, target.files)
            os.close(fd)
            fd = -1
            fd = _opened(target.directory)
        if os.write(fd, line) < len(line):  # readers skip the part: every line says where it begins
            raise OSError(28, "No space left on device", os.path.join(target.directory, NAME))
    finally:
        if fd >= 0:
            os.close(fd)


def _rotate(path: str, max_bytes: int, files: int) -> None:
    """Rename the full file at `path`, and keep at most `files` in all. Another process that does so
    just now, or an error, leaves the file as it is: a line too many is better than one too few."""
    directory = os.path.dirname(path)
    with suppress(OSError):
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with Closing(os.open(os.path.join(directory, _LOCK), flags, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It may be a new one by now. Half of the size: the line that comes may be a long one
            if os.stat(path, follow_symlinks=False).st_size > max_bytes // 2:
                os.rename(path, os.path.join(directory, f"{_PREFIX}{time.time_ns():020}{_SUFFIX}"))
            for name in old_files(directory)[max(0, files - 1) :]:
                os.unlink(os.path.join(directory, name))


def old_files(directory: str) -> list[str]:
    """Return the names of the renamed files, the newest first."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted((name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)


def _opened(directory: str) -> int:
    # Non-blocking: a FIFO in its place would wait for a reader
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    path = os.path.join(directory, NAME)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(directory, 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _send(path: str, line: bytes) -> None:
    """Send a line to syslog. Not with syslog(3), which says nothing where no daemon listens."""
    stamp = time.strftime("%b %e %H:%M:%S")
    with_header = f"<{_PRIORITY}>{stamp} outlive[{os.getpid()}]: ".encode("ascii") + line
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        sock.settimeout(1.0)  # a daemon that is stopped holds no job up
        sock.connect(path)
        sock.send(with_header)
    finally:
        sock.close()
