"""Which process listens on a TCP port of this machine, without connecting to it; and whether a port
elsewhere answers.

/proc/net/tcp and tcp6 (proc_net(5)) list all sockets of our own network namespace, listening ones
first. The links in /proc/PID/fd say which process holds a socket (proc_pid_fd(5)).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from outlive.core.record import Value
from outlive.system import process

_LISTEN = 10  # TCP_LISTEN, <netinet/tcp.h>
_ANY_4, _ANY_6 = "0.0.0.0", "::"
_LOOPBACK = ("127.0.0.1", "::1")
_MOST_TARGETS = 8
_MAPPED = "::ffff:"  # an IPv4 address written as an IPv6 one (ipv6(7))


class Listener(Value):
    """A listening socket. `address` is in its one form (see `_plain`). `user` made it."""

    address: str
    inode: int
    user: int

    def serves(self, host: str | None) -> bool:
        """Return whether it takes connections to `host`; for None it always does.

        `host` is numeric or localhost; another name matches nothing. 0.0.0.0 and :: as hosts are this
        machine's loopback, as for connect(2). A socket on :: counts as one for IPv4 too: whether its
        program set IPV6_V6ONLY, the kernel's list does not say.
        """
        if host is None:
            return True
        mine = self.address
        return any(mine in (one, _ANY_6) or (mine == _ANY_4 and ":" not in one) for one in _meant(host))


def listeners(port: int, tables: str = "/proc/net") -> list[Listener]:
    """Return all sockets that listen on this port; with /proc/PID/net as `tables` in the network of a process. Errors:
    OSError where the kernel does not say, so that the caller has to connect."""
    listening = list(_listening(f"{tables}/tcp", port))
    with suppress(FileNotFoundError):  # a kernel without IPv6
        listening += _listening(f"{tables}/tcp6", port)
    # A table that changes while it is read may have a line twice
    return list({(one.address, one.inode): one for one in listening}.values())


def _listening(path: str, port: int) -> Iterator[Listener]:
    """Yield the listeners of a table with lines "SL ADDRESS:PORT PEER:PORT STATE QUEUES TIMER
    RETRANSMITS UID TIMEOUT INODE …"."""
    wanted = b"%04X" % port
    with open(path, "rb") as file:
        file.readline()  # the heading
        for line in file:
            fields = line.split()
            if len(fields) < 10 or int(fields[3], 16) != _LISTEN:
                return  # connections, which may be a hundred thousand
            address, _, number = fields[1].rpartition(b":")
            if number == wanted:
                yield Listener(numeric(address), int(fields[9]), int(fields[7]))


def numeric(digits: bytes) -> str:
    """Return a numeric address. The kernel prints words of 32 bits in the machine's byte order."""
    raw = bytes.fromhex(digits.decode("ascii"))
    words = struct.unpack(f">{len(raw) // 4}I", raw)
    packed = struct.pack(f"={len(words)}I", *words)
    return _plain(socket.inet_ntop(socket.AF_INET6 if len(packed) == 16 else socket.AF_INET, packed))


def owner(inode: int, pids: Iterable[int]) -> int | None:
    """Return the first of these processes that holds the socket; None if none is seen to."""
    link = f"socket:[{inode}]"
    return next((pid for pid in pids if link in process.open_links(pid)), None)


def holder(inode: int) -> int | None:
    """Return a process of this machine that holds the socket; None if none is seen to: its files may
    not be read, or it is in a container."""
    return owner(inode, process.pids())


def is_shared(address: str, port: int) -> bool:
    """Return whether a process of ours could listen at this address as well as those that do
    (SO_REUSEPORT, socket(7)). A socket that is bound and does not listen takes no connections."""
    try:
        with socket.socket(_family(address) or socket.AF_INET) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, True)
            sock.bind((address, port))
    except OSError:
        return False
    return True


def _meant(host: str) -> tuple[str, ...]:
    """Return the numeric addresses of a host; none for a name that would have to be looked up."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761
        return _LOOPBACK
    plain = _plain(host)
    if not _family(plain):
        return ()
    return {_ANY_4: _LOOPBACK[:1], _ANY_6: _LOOPBACK[1:]}.get(plain, (plain,))


def is_local(host: str | None) -> bool:
    """Return whether `listeners` knows the ports of a host. Names other than localhost count as elsewhere."""
    return host is None or any(one in _LOOPBACK or _is_ours(one) for one in _meant(host))


def _is_ours(address: str) -> bool:
    """Return whether this machine has the address: no other one can be bound to (bind(2))."""
    try:
        with socket.socket(_family(address) or socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((address, 0))
    except OSError:
        return False
    return True


def _plain(address: str) -> str:
    """Return an address in its one form: no brackets, no zeroes, IPv4 in dots. A name stays as it is."""
    address = address.removeprefix("[").removesuffix("]")
    family = _family(address)
    if not family:
        return address
    text = socket.inet_ntop(family, socket.inet_pton(family, address))
    return text[len(_MAPPED) :] if text.startswith(_MAPPED) and "." in text else text


def _family(address: str) -> int:
    """Return AF_INET or AF_INET6; 0 if the address is not numeric."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address)
        except (OSError, ValueError):  # ValueError: bytes that no address has
            continue
        return family
    return 0


class Reached(Value):
    """Whether a connection could be made: the `address` that answered, or the `refusal`."""

    address: str | None = None
    refusal: str | None = None


class Target(Value):
    """An address to connect to: arguments of socket(2) and connect(2)."""

    family: int
    address: tuple[Any, ...]

    def connect(self, timeout_s: float) -> socket.socket:
        """Return a connection. Errors: OSError."""
        sock = socket.socket(self.family, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout_s)
            sock.connect(self.address)
            # A program that often connects to a port without a listener is given that port as its
            # own one day, and connects to itself
            if sock.getsockname() == sock.getpeername():
                raise ConnectionRefusedError("no process listens")
        except BaseException:
            sock.close()
            raise
        return sock


def targets(host: str, port: int) -> list[Target]:
    """Return all addresses of a host, at most 8. localhost is both loopbacks, whatever /etc/hosts says of it (RFC 6761):
    servers listen on either. Errors: OSError, UnicodeError for a label that is empty or too long."""
    plain = host.removeprefix("[").removesuffix("]")
    name = plain.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return [Target(family=_family(one), address=(one, port)) for one in _LOOPBACK]
    found = {one[4]: one[0] for one in socket.getaddrinfo(plain, port, type=socket.SOCK_STREAM)}
    return [Target(family=family, address=address) for address, family in found.items()][:_MOST_TARGETS]


def reached(host: str, port: int, timeout_s: float) -> Reached:
    """Connect there. Takes up to `timeout_s` for each address of a name, and the time of its look-up."""
    refusals: list[str] = []
    try:
        for target in targets(host, port):
            try:
                with target.connect(timeout_s) as sock:
                    return Reached(address=peer_of(sock))
            except OSError as error:
                refusals.append(str(error) or type(error).__name__)
    except (OSError, UnicodeError) as error:
        refusals.append(str(error) or type(error).__name__)
    return Reached(refusal=next(iter(refusals), "it has no address"))


def peer_of(sock: socket.socket) -> str:
    """Return the address at the other end of a connection, as `Listener` has it."""
    return _plain(str(sock.getpeername()[0]))
