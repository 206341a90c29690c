"""No process of ours ends without a word, and no request on a job's control socket ends one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from outlive import limits
from outlive.store.job_dir import CONTROL, IO
from outlive.system import fds
from support import pair
from support.cli import Cli
from support.commands import GATE
from support.installed import Installed
from support.jobs import aged
from support.mcp_client import RawMcp
from support.tiers import slow
from support.wait import until


class Line:
    """A connection to the control socket of a job."""

    def __init__(self, job: Path) -> None:
        self._sock = fds.new_socket()
        self._sock.settimeout(20)
        io = os.open(job / IO, os.O_RDONLY | os.O_DIRECTORY)  # a path of a test is too long for a socket
        try:
            self._sock.connect(fds.socket_path(io, os.path.basename(CONTROL)))
        finally:
            os.close(io)

    def ask(self, message: bytes, *files: int) -> dict[str, Any]:
        """Send one message; hints that come before its answer are passed over."""
        fds.send(self._sock, message, files)
        while not (answer := self._sock.recv(limits.CONTROL_BYTES)).startswith(b"{"):
            assert answer, "the supervisor hung up"
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        self._sock.close()


class Gated:
    """A job with a terminal that goes on at a word, and a line to its supervisor."""

    def __init__(self, cli: Cli, work: Path) -> None:
        self.job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "sh", "-c", f"echo begun; {GATE}")["job_id"]
        self._cli, self._go = cli, work / "go"
        self.pair = pair.supervisor(self.job), pair.guardian(self.job)
        self.line = Line(cli.root / self.job)

    def check(self) -> None:
        """Assert that no process died, and that the job ends as it would have."""
        assert (pair.supervisor(self.job), pair.guardian(self.job)) == self.pair
        assert self._cli.ok("status", self.job)["state"] == "running"
        self._go.touch()
        ended = self._cli.ok("wait", self.job)
        assert (ended["exit_code"], ended["reason"]) == (0, "exit")
        assert not {"fault", "signal_sent"} & {event["type"] for event in self._cli.ok("events", self.job)["events"]}


@pytest.fixture
def gated(cli: Cli, work: Path) -> Iterator[Gated]:
    found = Gated(cli, work)
    with contextlib.closing(found.line):
        yield found


# --- requests --------------------------------------------------------------------------------------------------------

VALUES = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=9)
    | some.lists(some.integers(), max_size=2)
    | some.dictionaries(some.text(max_size=3), some.integers(), max_size=2)
)
# op → its values, and what each may be; everything else is wrong
OPS: dict[str, dict[str, Any]] = {
    "kill": {
        "signal": lambda value: type(value) is int and value in signal.valid_signals(),
        "grace_ms": lambda value: type(value) is int and 0 <= value <= limits.MAX_DURATION_MS,
        "by": lambda value: type(value) is str,
        "removing": lambda value: type(value) is bool,
    },
    "write": {
        "eof": lambda value: type(value) is bool,
        "wait_s": lambda value: type(value) in (int, float) and 0 <= value <= limits.MAX_DURATION_MS / 1000,
    },
    "resize": {
        "cols": lambda value: type(value) is int and 1 <= value <= limits.MAX_TERMINAL_COLS,
        "rows": lambda value: type(value) is int and 1 <= value <= limits.MAX_TERMINAL_ROWS,
    },
    "watch": {"output": lambda value: type(value) is bool},
}


@some.composite
def wrong(draw: some.DrawFn) -> dict[str, Any]:
    """A request of which one value is wrong, or is missing where it must be there."""
    op = draw(some.sampled_from(sorted(OPS)))
    names = OPS[op]
    one = draw(some.sampled_from(sorted(names)))
    right = {
        "signal": 18,
        "grace_ms": 5,
        "by": "test",
        "removing": False,
        "eof": False,
        "wait_s": 0,
        "cols": 80,
        "rows": 24,
    }
    request: dict[str, Any] = {"op": op, **{name: right[name] for name in names if name in right}}
    request[one] = draw(VALUES.filter(lambda value: not names[one](value)))
    if one in ("signal", "cols", "rows") and draw(some.booleans()):
        del request[one]
    return request


def test_a_request_with_a_wrong_value_is_refused_and_changes_nothing(gated: Gated) -> None:
    @given(wrong())
    def refused(request: dict[str, Any]) -> None:
        answer = gated.line.ask(json.dumps(request).encode())
        assert (answer["ok"], answer["code"]) == (False, "invalid_argument"), request

    refused()
    gated.check()


def test_what_is_no_request_is_refused(gated: Gated) -> None:
    messages = some.binary(min_size=1, max_size=99) | VALUES.map(lambda value: json.dumps(value).encode())
    deep, long = b"[" * 60_000, json.dumps({"op": "x" * 60_000}).encode()

    @given(messages | some.sampled_from([deep, long, b'{"op":' + deep]))
    def refused(message: bytes) -> None:
        answer = gated.line.ask(message)
        assert (answer["ok"], answer["code"]) == (False, "invalid_argument"), message

    refused()
    gated.check()


def test_data_that_cannot_be_read_is_refused(gated: Gated, work: Path) -> None:
    ends = os.pipe()
    huge = os.open(work / "huge", os.O_RDWR | os.O_CREAT)
    os.truncate(huge, limits.MAX_STDIN_WRITE_BYTES + 1)
    closed = os.open(work / "huge", os.O_PATH), os.open(work / "small", os.O_WRONLY | os.O_CREAT)
    os.write(closed[1], b"x")
    files = [*ends, huge, *closed, os.open(work, os.O_RDONLY)]
    try:
        for file in files:
            assert gated.line.ask(b'{"op":"write"}', file)["code"] == "invalid_argument"
        assert gated.line.ask(b'{"op":"write"}', *[files[0]] * 20)["code"] == "invalid_argument"
    finally:
        for file in files:
            os.close(file)
    gated.check()


def test_a_job_without_input_or_terminal_says_so(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", GATE)["job_id"]
    with contextlib.closing(Line(cli.root / job)) as line, fds.Closing(fds.memory_file("stdin", b"typed")) as typed:
        refused = {"ok": True, "written": 0, "closed": True, "complete": False, "eof": False}
        assert line.ask(b'{"op":"write","eof":false,"wait_s":60}', typed) == refused
        for request in (b'{"op":"terminal"}', b'{"op":"resize","cols":80,"rows":24}'):
            assert line.ask(request)["code"] == "not_a_pty"
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 0


def test_an_exception_over_a_request_is_recorded_and_survived(cli: Cli, work: Path) -> None:
    words = ("run", "--snapshot-after", "0", "--", "sh", "-c", GATE)
    job = cli.ok(*words, env={"OUTLIVE_CRASH_AT": "raise:kill_recorded"})["job_id"]
    supervisor = pair.supervisor(job)
    assert cli.error("kill", job, "--signal", "CONT", code="internal_error")
    assert pair.supervisor(job) == supervisor
    assert [fault["process"] for fault in cli.ok("status", job)["faults"]] == ["supervisor"]
    assert _told(cli, job) == ["supervisor"]
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 0


# --- exceptions ------------------------------------------------------------------------------------------------------


def _told(cli: Cli, job: str) -> list[str]:
    """Of which processes the events tell."""
    return [event["process"] for event in cli.ok("events", job)["events"] if event["type"] == "fault"]


def _reported(cli: Cli, job: str, process: str, error: str) -> None:
    """status names the traceback of this process, and the file has what a bug report needs."""
    fault = until(
        lambda: [one for one in cli.ok("status", job).get("faults", []) if one["process"] == process],
        what=f"a traceback of the {process}",
    )[0]
    assert error in fault["error"] or len(fault["error"]) == 400
    path = Path(fault["path"])
    assert path.parent == cli.root / job
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert "Traceback (most recent call last):" in text
    assert error in text.splitlines()[-1]
    for line in (f"python: {sys.version_info.major}.", "outlive: ", f"kernel: Linux {os.uname().release}"):
        assert line in text


@pytest.mark.parametrize(
    ("points", "processes"),
    [
        (["start_told"], ["supervisor"]),
        slow((["end_seen"], ["supervisor"])),
        (["guardian_told"], ["guardian"]),
        (["end_seen", "guardian:end_moved"], ["guardian", "supervisor"]),
    ],
)
def test_a_process_that_an_exception_ends_leaves_its_traceback(
    points: list[str], processes: list[str], cli: Cli, work: Path
) -> None:
    env = {"OUTLIVE_CRASH_AT": ",".join(f"raise:{point}" for point in points)}
    # A guardian is woken only for a job that needs large code: RE2 here
    words = ("run", "--snapshot-after", "0", "--watch", "never", "--", "sh", "-c", f"{GATE}; exit 7")
    job = cli.ok(*words, env=env)["job_id"]
    if points == ["guardian_told"]:  # the supervisor adds to the history what it finds at the end of the job
        _reported(cli, job, "guardian", "RuntimeError: the fault point")
    (work / "go").touch()
    ended = cli.ok("wait", job)
    assert ended["exit_code"] in ((7, None) if len(processes) > 1 else (7,))
    for process in processes:
        _reported(cli, job, process, "RuntimeError: the fault point")
    until(lambda: not cli.ok("status", job)["supervised"])
    assert sorted(_told(cli, job)) == processes
    doctor = {check["name"]: check for check in cli.ok("doctor")["checks"]}["jobs"]
    assert doctor["status"] == "warn"
    assert f"{job}/fault-" in doctor["advice"]


def test_a_fork_server_that_an_exception_ends_leaves_its_traceback(place: Path, cli: Cli) -> None:
    env = {"OUTLIVE_CRASH_AT": "raise:fork_server_given"}
    with RawMcp(log=place / "mcp.log", env=env) as raw:
        raw.start()
        job = raw.call("exec", command="true")["job_id"]
        _reported(cli, job, "fork-server", "RuntimeError: the fault point fork_server_given")
        assert raw.call("exec", command="exit 3")["exit_code"] == 3


def test_a_collection_that_an_exception_ends_leaves_its_traceback(cli: Cli) -> None:
    aged(cli, 2000)
    env = {"OUTLIVE_CRASH_AT": "raise:delete_renamed", "OUTLIVE_GC_OLDER_THAN": "7d"}
    job = cli.ok("run", "--wait", "true", env=env)["job_id"]
    _reported(cli, job, "gc", "RuntimeError: the fault point delete_renamed")


def test_a_search_for_the_cursor_that_fails_leaves_its_traceback(cli: Cli, tmp_path: Path, work: Path) -> None:
    old = Installed(tmp_path, libraries=True)
    command = f"stty -icanon; {GATE}; printf '\\033[6n'; dd bs=1 count=6 2>&1 | od -c"
    words = ("run", "--snapshot-after", "0", "--pty", "--", "sh", "-c", command)
    (tmp_path / "site/pyte/__init__.py").write_text("raise ImportError('it is another one')")
    job = cli.ok(*words, env=old.env)["job_id"]
    (work / "go").touch()
    assert "R" in cli.ok("wait", job)["output"], "a guess is better than no answer"
    _reported(cli, job, "cursor", "ImportError: it is another one")


def test_a_traceback_without_end_is_cut(cli: Cli, root: Path) -> None:
    """The file is bounded, and what is last in it stays."""
    from outlive.store import fault_report
    from outlive.store.job_dir import JobDir

    job = cli.ok("run", "--wait", "true")["job_id"]
    with JobDir(str(root), job, os.open(root / job, os.O_RDONLY)) as directory:
        try:
            raise ValueError("x\n" * 1_000_000 + "last")
        except ValueError as error:
            fault_report.write(directory, "supervisor", error)
    assert (root / job / "fault-supervisor.txt").stat().st_size < 40_000
    _reported(cli, job, "supervisor", "last")
