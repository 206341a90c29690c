"""The leases of ports: one job at a time, for as long as anything of it lives."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.parts.ports import leases
from outlive.parts.ports.leases import Leases, Line
from outlive.system.tree import COOKIE

FIRST, LAST = 21_000, 21_003
PLACE, OTHER = "/one", "/two"


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "ports")


@pytest.fixture
def opened(table: str) -> Iterator[list[Leases]]:
    made: list[Leases] = []
    yield made
    for one in made:
        one.close()


@pytest.fixture(autouse=True)
def every_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other programs of this machine listen on."""
    monkeypatch.setattr(leases, "is_free", lambda _port: True)
    monkeypatch.setattr(leases, "_LET_GO_S", 0.0)
    monkeypatch.setattr(leases, "_RESTART_S", 0.0)


class Holder:
    """A supervisor, as far as leases know one."""

    def __init__(self, table: str, opened: list[Leases]) -> None:
        self.leases = Leases.opened(table)
        self.job = new_id()
        opened.append(self.leases)

    def lease(self, place: str = PLACE, name: str = "web", last: int = LAST, before: str | None = None) -> int:
        return self.leases.lease(FIRST, last, place, name, self.job, before)


def test_no_two_jobs_have_the_same_port(table: str, opened: list[Leases]) -> None:
    holders = [Holder(table, opened) for _ in range(4)]
    assert sorted(one.lease() for one in holders) == [*range(FIRST, LAST + 1)]
    late = Holder(table, opened)
    with pytest.raises(OSError, match="no port from 21000 to 21003 is free"):
        late.lease(OTHER)
    assert not late.leases.ports


def test_the_ports_of_one_job_differ(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    assert len({one.lease(name="web"), one.lease(name="db"), one.lease(name="web")}) == 3


def test_a_worktree_gets_the_same_port_again(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    port = one.lease()
    one.leases.release()
    for _ in range(3):
        other, again = Holder(table, opened), Holder(table, opened)
        assert other.lease(OTHER) != port, "a port that no other worktree had is tried first"
        assert again.lease() == port
        other.leases.release()
        again.leases.release()


def test_a_worktree_goes_on_with_the_port_that_it_had_last(
    table: str, opened: list[Leases], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Holder(table, opened)
    first = one.lease()
    one.leases.release()
    (Path(table)).unlink()
    monkeypatch.setattr(leases, "is_free", lambda port: port != first)
    moved = Holder(table, opened)
    second = moved.lease()
    assert second != first, "another program listens on its first"
    moved.leases.release()
    monkeypatch.setattr(leases, "is_free", lambda _port: True)
    assert Holder(table, opened).lease() == second


def test_ports_of_other_worktrees_are_taken_when_there_are_no_others(table: str, opened: list[Leases]) -> None:
    for place in map(str, range(4)):
        one = Holder(table, opened)
        one.lease(place)
        one.leases.release()
    assert FIRST <= Holder(table, opened).lease("new") <= LAST


def test_a_lease_ends_with_the_last_copy_of_its_file(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    port = one.lease(last=FIRST)
    copy = os.dup(one.leases.fd)
    with pytest.raises(OSError, match="free"):
        Holder(table, opened).lease(last=FIRST)
    opened.remove(one.leases)
    one.leases.close()
    with pytest.raises(OSError, match="free"):
        Holder(table, opened).lease(last=FIRST)
    os.close(copy)
    assert Holder(table, opened).lease(last=FIRST) == port


def test_a_port_is_leased_as_long_as_a_process_of_its_job_lives(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    # In the session of all tests it would keep those beside it from approving: they would belong to a job
    with subprocess.Popen(["sleep", "60"], env={**os.environ, COOKIE: one.job}, start_new_session=True) as left:
        try:
            port = one.lease(last=FIRST)
            one.leases.release()
            late = Holder(table, opened)
            assert late.leases.holder(port) == one.job
            with pytest.raises(OSError, match="free"):
                late.lease(last=FIRST)
        finally:
            left.kill()
    assert late.leases.holder(port) is None
    assert late.lease(last=FIRST) == port


def test_a_successor_goes_on_with_the_leases(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    port = one.lease(last=FIRST)
    held = Leases(os.dup(one.leases.fd))
    opened.append(held)
    held.resume([port], anew=False)
    held.release()
    adopter = Holder(table, opened)
    adopter.leases.resume([port], anew=True)
    assert adopter.leases.ports == [port]
    with pytest.raises(OSError, match="free"):
        Holder(table, opened).lease(last=FIRST)
    late = Holder(table, opened)
    late.leases.resume([port], anew=True)
    assert late.leases.ports == []


def test_what_another_program_has_spoilt_counts_as_nothing(table: str, opened: list[Leases]) -> None:
    one = Holder(table, opened)
    port = one.lease(last=FIRST)
    one.leases.release()
    for junk in (b"\0" * 64, b"x" * 64, b"\xff\xfe\n", b""):
        with Path(table).open("r+b") as file:
            file.seek(port * 64)
            file.write(junk)
        holder = Holder(table, opened)
        assert holder.lease(last=FIRST) == port
        holder.leases.release()
    os.truncate(table, 0)
    assert Holder(table, opened).lease(last=FIRST) == port


def test_a_line_holds_the_longest_name() -> None:
    line = Line(new_id(), f"0123abcd {'n' * 24}")
    assert len(line.to_bytes()) == 64
    assert Line.read(line.to_bytes()) == line


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1", "127.0.0.9", "::", "::1"])
def test_a_port_that_another_program_listens_on_is_not_free(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        sock = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"nothing can listen on {address} here")
    with sock:
        port = sock.getsockname()[1]
        assert not leases.is_free(port)
    assert leases.is_free(port)
