"""The listening socket of `outlive serve`: at an address, or a Unix socket for this user only."""

from __future__ import annotations

import errno
import ipaddress
import os
import resource
import socket
import stat
from collections.abc import Sequence
from contextlib import closing, suppress

from outlive import limits
from outlive.core.record import Value
from outlive.errors import OutliveError, invalid
from outlive.store.root import is_own_group, walked
from outlive.verbs.spec import GlobalOptions

_OPEN_FILES = 8_192  # what the server asks for as its limit of open files

_HINTS = {
    errno.EADDRINUSE: {
        "port": "Another server is there: end it, or choose another --port (0 takes a free one).",
        "socket": "Another server, or a file that is no socket, is there: choose another path.",
    },
    errno.EACCES: {
        "port": "Ports below 1024 are for root: choose a higher --port.",
        "socket": "Choose a directory that you may write to.",
    },
    errno.EADDRNOTAVAIL: {"port": "--host is an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them."},
    errno.ENOENT: {"socket": "Its directory has to exist."},
}


class Address(Value):
    """Where a server listens: at a host and a port, or on a Unix socket."""

    host: str | None = None  # None: 127.0.0.1
    port: int = 0  # 0: a free one
    socket: str | None = None
    certfile: str | None = None
    plaintext: bool = False  # other machines may connect without TLS


class Settings(Value):
    """What a server is started with."""

    address: Address
    keyfile: str | None
    allow_host: Sequence[str]
    prefix: str
    workdir: str | None
    tools: frozenset[str]
    answers: str | None
    stateless: bool
    options: GlobalOptions


def listen(wanted: Address) -> socket.socket:
    """Return the listening socket. Errors: invalid_argument where it would not be safe; io_error."""
    try:
        if wanted.socket:
            _require_own(os.path.dirname(os.path.abspath(wanted.socket)))
            return listen_local(wanted.socket)
        host = wanted.host or "127.0.0.1"
        where = socket.getaddrinfo(host, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        family, address = where[0], where[4]
        is_here = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
        if not (is_here or wanted.certfile or wanted.plaintext):
            raise invalid(
                "host",
                f"{host} can be reached from other machines, and tokens would cross the network in plain text",
                hint="Give --certfile and --keyfile; or --plaintext if the network encrypts. Or listen on 127.0.0.1 "
                "behind a reverse proxy (docs/explanation/security.md).",
            )
        return socket.create_server((str(address[0]), int(address[1])), family=family, backlog=limits.LISTEN_BACKLOG)
    except (socket.gaierror, UnicodeError) as error:  # UnicodeError: a part of the name is empty, or too long
        why = getattr(error, "strerror", None) or "no name of a machine"
        raise invalid("host", f"not an address of this machine: {wanted.host} ({why})") from error
    except OSError as error:
        place = wanted.socket or f"{wanted.host or '127.0.0.1'}:{wanted.port}"
        raise OutliveError(
            "io_error",
            f"while listening on {place}: {os.strerror(error.errno) if error.errno else error}",
            hint=_HINTS.get(error.errno or 0, {}).get("socket" if wanted.socket else "port"),
        ) from error


def _require_own(folder: str) -> None:
    """Refuse a directory in which, or in place of which, another user can make a socket: clients would send it their tokens
    while no server is there. Errors: invalid_argument, OSError."""
    hint = "Choose a directory that belongs to you, and that no other user may write to."
    try:
        folder = walked(folder, make=False, to="the socket", otherwise=hint)
    except OutliveError as error:
        raise invalid("socket", error.message, hint=error.hint) from error
    status = os.stat(folder)
    by_group = status.st_mode & 0o020 and not is_own_group(folder, status.st_gid)
    if status.st_uid != os.geteuid() or status.st_mode & 0o002 or by_group:
        raise invalid("socket", f"another user could make a socket in {folder} while the server is down", hint=hint)


def listen_local(path: str) -> socket.socket:
    """Return a Unix socket that only this user may connect to (mode 0600), in place of one whose server has ended.
    Errors: OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        try:
            listener.bind(path)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not _is_abandoned(path):
                raise
            os.unlink(path)
            listener.bind(path)
        listener.listen(limits.LISTEN_BACKLOG)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _is_abandoned(path: str) -> bool:
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        return False
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return True
    return False


def more_files() -> None:
    """Raise the limit of open files: each connection is one, and the usual 1,024 are soon used up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
