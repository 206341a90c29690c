"""A job in line hears that a slot or a place is free: it does not find out by looking again and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.parts.queues import QUEUE, in_supervisor
from outlive.parts.queues.asked import Asked
from outlive.parts.queues.in_supervisor import QueueOfJob
from outlive.parts.queues.table import Table
from outlive.supervisor.added import Waiting
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.request import Request
from support.cli import configured, environment
from support.commands import GATE

_BOUND_S = 60
_NEVER_S = 1_000_000.0


class InLine:
    """A job that waits, as its supervisor sees it."""

    def __init__(self, path: str) -> None:
        self.loop = EventLoop()
        self.is_free = False
        kept = {QUEUE: Asked(name="heavy", slots=1, table=path).to_dict()}
        self.job = QueueOfJob(Definition(job_id=new_id(), kept=kept))
        state: State = State()
        assert self.job.wait(
            Waiting(self.loop, Request(), lambda: state, lambda _name, _value: None, self._go, self._fail)
        )

    def _go(self) -> None:
        self.is_free = True
        self.loop.stop()

    def _fail(self, reason: str, message: str) -> None:
        raise AssertionError((reason, message))

    def does(self, *actions: Callable[[], None]) -> None:
        """Have it look, and then do this; then wait until it may start, or the bound."""
        for action in actions:
            self.loop.timer(action).after(0)
        self.loop.timer(self.loop.stop).after(_BOUND_S)
        self.loop.run()

    def end(self) -> None:
        self.job.end_wait()
        self.job.discard()
        for fd in self.job.held().values():
            os.close(fd)
        self.loop.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "queues" / "heavy")


@pytest.fixture
def table(path: str) -> Iterator[Table]:
    """Of a job that has the only slot."""
    opened = Table.opened(path)
    yield opened
    opened.close()


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job looks by the clock."""
    for name in ("_LOOK_S", "_PLACE_S"):
        monkeypatch.setattr(in_supervisor, name, _NEVER_S)


@pytest.mark.usefixtures("deaf")
def test_the_first_in_line_hears_that_a_slot_is_free(path: str, table: Table) -> None:
    slot = table.take(1, new_id())
    assert slot is not None
    late = InLine(path)
    late.does(lambda: table.free(slot))
    assert late.is_free
    late.end()


# A supervisor, as far as a table knows one: it takes a slot, or joins the line before all others
_HOLDER = """
import sys
from outlive.core.ids import new_id
from outlive.parts.queues.table import Table
table = Table.opened(sys.argv[1])
assert table.take(1, new_id()) if sys.argv[2] == "slot" else table.join(10)
print("there", flush=True)
sys.stdin.read()
"""


@pytest.mark.usefixtures("deaf")
@pytest.mark.parametrize("what", ["slot", "place"])
def test_it_hears_that_who_had_a_slot_or_was_before_it_was_killed(path: str, what: str) -> None:
    words = [sys.executable, "-c", _HOLDER, path, what]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"there\n"
        late = InLine(path)
        late.does(holder.kill)
        assert late.is_free
        late.end()


@pytest.mark.usefixtures("deaf")
def test_the_next_in_line_hears_that_the_one_before_it_left(path: str, table: Table) -> None:
    slot = table.take(1, new_id())
    assert slot is not None
    first, second = InLine(path), InLine(path)
    second.does(lambda: table.free(slot), first.end)
    assert (first.is_free, second.is_free) == (False, True)
    second.end()


def watches() -> int:
    """Return how many files of this process the kernel wakes it for."""
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum("inotify" in os.readlink(path) for path in paths if os.path.lexists(path))


def test_a_long_line_takes_few_of_the_files_that_the_kernel_watches_for_a_user(path: str, table: Table) -> None:
    assert table.take(1, new_id())
    before = watches()
    line = [InLine(path) for _ in range(12)]
    for job in line:
        job.does(job.loop.stop)
    assert watches() - before == 8
    for job in line:
        job.end()
    assert watches() == before


@pytest.mark.fault("F28")
def test_where_the_kernel_watches_no_more_files_a_job_in_line_looks_by_the_clock(work: Path, place: Path) -> None:
    """A namespace of users has a limit of its own."""
    configured(place, "[queue.heavy]\nslots = 1\n")
    run = f"{sys.executable} -m outlive run --snapshot-after 0 --queue heavy"
    code = f"""
        echo 0 > /proc/sys/user/max_inotify_instances || exit 77
        {run} '{GATE}' > first && {run} 'echo late' > late && touch go
        {sys.executable} -m outlive wait "$(sed 's/.*"job_id": *"\\([^"]*\\)".*/\\1/' late)"
    """
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", code],
        cwd=work,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_BOUND_S,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no limit of its own here: {done.stderr.strip()}")
    assert json.loads((work / "late").read_text())["state"] == "created"
    assert json.loads(done.stdout)["output"] == "late\n"
