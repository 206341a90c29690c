"""Who listens on which port, asked of the kernel about real sockets; and whether a port answers."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.parts import tcp
from support.wait import until

if not Path("/proc/net/tcp").exists():
    pytest.skip("this kernel does not list its sockets", allow_module_level=True)

Listen = Callable[..., socket.socket]
MPTCP = 262  # IPPROTO_MPTCP, which Go and systemd listen with


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as found:
        yield found


@pytest.fixture
def listen(stack: contextlib.ExitStack) -> Listen:
    """`listen("127.0.0.1")` is a socket that listens there, on a port of the kernel's choice if none is given."""

    def on(address: str, port: int = 0, *, protocol: int = 0) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = stack.enter_context(socket.socket(family, socket.SOCK_STREAM, protocol))
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, True)
        sock.bind((address, port))
        sock.listen()
        return sock

    return on


def port_of(sock: socket.socket) -> int:
    port: int = sock.getsockname()[1]
    return port


def inode(sock: socket.socket) -> int:
    return os.fstat(sock.fileno()).st_ino


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
        sock.bind(("::1", 0))
        return True
    return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")


# --- listeners -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1.2.3", "127.1.2.3"),
        ("0.0.0.0", "0.0.0.0"),
        pytest.param("::1", "::1", marks=needs_ipv6),
        pytest.param("::", "::", marks=needs_ipv6),
        pytest.param("::ffff:127.0.0.1", "127.0.0.1", marks=needs_ipv6),
        pytest.param("::ffff:0.0.0.0", "0.0.0.0", marks=needs_ipv6),
    ],
)
def test_a_listening_socket_is_found_with_its_address_and_inode(bound: str, told: str, listen: Listen) -> None:
    sock = listen(bound)
    found = tcp.listeners(port_of(sock))
    assert [(one.address, one.inode) for one in found] == [(told, inode(sock))]


def test_several_listeners_of_one_port_are_all_found(listen: Listen) -> None:
    first = listen("127.0.0.1")
    socks = [first, listen("127.0.0.1", port_of(first)), listen("127.0.0.2", port_of(first))]
    assert {one.inode for one in tcp.listeners(port_of(first))} == {inode(sock) for sock in socks}


def test_a_listener_among_many_is_found(listen: Listen) -> None:
    socks = [listen("127.0.0.1") for _ in range(50)]
    for sock in socks:
        assert [one.inode for one in tcp.listeners(port_of(sock))] == [inode(sock)]


def test_what_is_bound_but_does_not_listen_is_no_listener(stack: contextlib.ExitStack) -> None:
    sock = stack.enter_context(socket.socket())
    sock.bind(("127.0.0.1", 0))
    assert tcp.listeners(port_of(sock)) == []
    sock.listen()
    assert [one.inode for one in tcp.listeners(port_of(sock))] == [inode(sock)]


def test_a_connection_is_no_listener(listen: Listen, stack: contextlib.ExitStack) -> None:
    server = listen("127.0.0.1")
    client = stack.enter_context(socket.create_connection(server.getsockname()))
    accepted = stack.enter_context(server.accept()[0])
    assert port_of(accepted) == port_of(server)
    assert [one.inode for one in tcp.listeners(port_of(server))] == [inode(server)]
    assert tcp.listeners(port_of(client)) == []
    server.close()
    assert tcp.listeners(port_of(accepted)) == []


def test_a_closed_listener_is_gone(listen: Listen) -> None:
    sock = listen("127.0.0.1")
    port = port_of(sock)
    sock.close()
    assert tcp.listeners(port) == []


def test_a_multipath_listener_is_found(listen: Listen) -> None:
    try:
        sock = listen("127.0.0.1", protocol=MPTCP)
    except OSError as error:
        if error.errno not in (errno.EPROTONOSUPPORT, errno.EINVAL, errno.ENOPROTOOPT):
            raise
        pytest.skip("no multipath TCP here")
    assert [one.inode for one in tcp.listeners(port_of(sock))] == [inode(sock)]


def test_listeners_are_found_before_any_connection_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may hold a hundred thousand connections; the kernel lists the listeners first."""
    row = "   0: 0100007F:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 1 0\n"
    table = place / "tcp"
    with table.open("w") as file:
        file.write("  sl  local_address rem_address   st tx_queue …\n")
        file.write(row.format(port=80, state="0A", inode=1))
        file.write(row.format(port=443, state="01", inode=2))
        file.write(row.format(port=80, state="0A", inode=3))
    real = open
    monkeypatch.setattr("builtins.open", lambda path, *how: real(table if "/proc/net/tcp" in str(path) else path, *how))
    assert [one.inode for one in tcp._listening("/proc/net/tcp", 80)] == [1]


def test_without_the_kernels_list_it_is_an_error_and_without_ipv6_it_is_not(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    sock = listen("127.0.0.1")
    missing = {"/proc/net/tcp6"}
    real = open

    def some(path: str, *how: Any) -> object:
        return real("/proc/net/no-such-file" if path in missing else path, *how)

    monkeypatch.setattr("builtins.open", some)
    assert [one.inode for one in tcp.listeners(port_of(sock))] == [inode(sock)]
    missing.add("/proc/net/tcp")
    with pytest.raises(OSError):
        tcp.listeners(port_of(sock))


# --- owner -----------------------------------------------------------------------------------------------------------

SERVE = """
import socket, sys
sock = socket.create_server(("127.0.0.1", 0))
print(sock.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_the_process_that_listens_is_found_among_others() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        (found,) = tcp.listeners(int(server.stdout.readline()))
        gone = 2**22 - 1  # above the highest pid there is, or no process
        assert tcp.owner(found.inode, [gone, os.getpid(), server.pid]) == server.pid
        assert tcp.owner(found.inode, [gone, os.getpid()]) is None
        assert tcp.owner(found.inode, []) is None
        server.stdin.close()


def test_the_first_of_those_who_share_a_socket_is_named(listen: Listen) -> None:
    sock = listen("127.0.0.1")
    sleeper = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(sleeper, stdin=subprocess.PIPE, pass_fds=[sock.fileno()]) as child:
        assert child.stdin
        until(lambda: tcp.owner(inode(sock), [child.pid]) == child.pid)
        assert tcp.owner(inode(sock), [child.pid, os.getpid()]) == child.pid
        assert tcp.owner(inode(sock), [os.getpid(), child.pid]) == os.getpid()
        child.stdin.close()


def test_a_process_that_may_not_be_looked_into_is_passed_over(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    sock = listen("127.0.0.1")
    real = os.listdir

    def refused(path: str) -> list[str]:
        if path == "/proc/1/fd":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(os, "listdir", refused)
    assert tcp.owner(inode(sock), [1, os.getpid()]) == os.getpid()
    assert tcp.owner(inode(sock), [1]) is None


def test_the_process_that_listens_is_found_among_all(listen: Listen) -> None:
    sock = listen("127.0.0.1")
    (found,) = tcp.listeners(port_of(sock))
    assert (tcp.holder(found.inode), found.user) == (os.getpid(), os.geteuid())
    sock.close()
    assert tcp.holder(found.inode) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", pytest.param("::", marks=needs_ipv6)])
def test_a_port_is_shared_only_if_its_program_lets_others_listen(
    address: str, listen: Listen, stack: contextlib.ExitStack
) -> None:
    shared = listen(address)
    assert tcp.is_shared(address, port_of(shared))
    assert [one.inode for one in tcp.listeners(port_of(shared))] == [inode(shared)], "the question left no listener"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    alone = stack.enter_context(socket.create_server((address, 0), family=family))
    assert not tcp.is_shared(address, port_of(alone))


# --- serves ----------------------------------------------------------------------------------------------------------


SERVED: list[tuple[str, str | None, bool]] = [
    ("127.0.0.1", None, True), ("10.0.0.7", None, True), ("127.0.0.1", "127.0.0.1", True),
    ("127.0.0.1", "localhost", True), ("127.0.0.1", "LocalHost.", True), ("127.0.0.1", "app.localhost", True),
    ("127.0.0.1", "0.0.0.0", True), ("127.0.0.1", "::ffff:127.0.0.1", True),
    ("127.0.0.1", "127.0.0.2", False), ("127.0.0.1", "10.0.0.7", False),
    ("127.0.0.1", "::1", False), ("127.0.0.1", "::", False), ("0.0.0.0", "127.0.0.1", True),
    ("0.0.0.0", "127.0.0.2", True), ("0.0.0.0", "10.0.0.7", True), ("0.0.0.0", "localhost", True),
    ("0.0.0.0", "0.0.0.0", True), ("0.0.0.0", "::1", False), ("::", "::1", True), ("::", "::", True),
    ("::", "127.0.0.1", True), ("::", "localhost", True), ("::1", "::1", True), ("::1", "[::1]", True),
    ("::1", "0:0:0:0:0:0:0:1", True), ("::1", "localhost", True), ("::1", "::", True),
    ("::1", "127.0.0.1", False), ("::1", "0.0.0.0", False), ("10.0.0.7", "127.0.0.1", False),
    ("10.0.0.7", "0.0.0.0", False), ("10.0.0.7", "10.0.0.7", True), ("fe80::1", "FE80:0::1", True),
    ("0.0.0.0", "example.org", False), ("0.0.0.0", "", False), ("0.0.0.0", "1\0", False),
]  # fmt: skip


def test_an_address_serves_these_hosts() -> None:
    wanted = {(address, host): expected for address, host, expected in SERVED}
    assert {(address, host): tcp.Listener(address, 0, 0).serves(host) for address, host in wanted} == wanted


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"])
@needs_ipv6
def test_it_says_what_a_connection_would_find(address: str, listen: Listen) -> None:
    sock = listen(address)
    (found,) = tcp.listeners(port_of(sock))
    for host in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "localhost"):
        there = {"0.0.0.0": ["127.0.0.1"], "::": ["::1"], "localhost": ["127.0.0.1", "::1"]}.get(host, [host])
        answered = any(tcp.reached(one, port_of(sock), 5).address for one in there)
        assert found.serves(host) is answered, host


def test_which_hosts_are_this_machine() -> None:
    rows: list[tuple[str | None, bool]] = [
        (None, True), ("localhost", True), ("127.0.0.1", True), ("127.3.2.1", True), ("0.0.0.0", True), ("::", True),
        ("[::1]", True),
        ("192.0.2.1", False),  # TEST-NET-1 (RFC 5737), nobody's
        ("2001:db8::1", False),  # the same for IPv6 (RFC 3849)
        ("example.org", False),
        ("", False),
    ]  # fmt: skip
    for host, expected in rows:
        assert tcp.is_local(host) is expected


# --- connecting ------------------------------------------------------------------------------------------------------


def test_a_port_that_listens_answers_and_another_does_not(listen: Listen) -> None:
    sock = listen("127.0.0.1")
    port = port_of(sock)
    for host in ("127.0.0.1", "localhost"):
        found = tcp.reached(host, port, 5)
        assert (found.address, found.refusal) == ("127.0.0.1", None)
    sock.close()
    found = tcp.reached("127.0.0.1", port, 5)
    assert found.address is None and "refused" in (found.refusal or "").lower()


def test_a_name_nobody_has_does_not_answer() -> None:
    for host in ["nobody.invalid", "a..b", "x" * 64]:
        assert tcp.reached(host, 80, 5).refusal


def test_meeting_oneself_is_no_answer(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    class FromThere(socket.socket):
        def connect(self, address: Any) -> None:
            self.bind(address)
            super().connect(address)  # TCP's simultaneous open, with itself

    sock = listen("127.0.0.1")
    port = port_of(sock)
    sock.close()
    monkeypatch.setattr(socket, "socket", FromThere)
    assert tcp.reached("127.0.0.1", port, 5).refusal == "no process listens"
