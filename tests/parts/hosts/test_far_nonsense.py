"""A far end that talks nonsense is given up at once: in bounded memory, and nothing it claims is believed."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from outlive.core.records import State
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.local_copy import LocalCopy
from outlive.store.job_dir import LOGS, ORDER, JobDir
from outlive.store.output.gap import Gap, Hole
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import follow_to_end, mirror_of
from support.cli import Cli
from support.fake_ssh import PYTHON, FakeSsh
from support.tiers import first, only
from support.wait import until

MEMORY_KB = 150_000  # of a mirror, at its peak
GREETING = {"version": "1", "python": "3.11", "machine": {"name": "box", "id": "x"}}


def said(word: str, **values: Any) -> bytes:
    """Return a word that our end would not say."""
    return wire.message(wire.WORD, 0, json.dumps({"word": word, **values}).encode())


HELLO = wire.HELLO + json.dumps(GREETING).encode() + b"\n"
# What comes, and whether it goes on without end
NONSENSE: dict[str, tuple[bytes, bytes]] = {
    "noise without end": (b"", b"x" * 65_536),
    "lines without end": (b"", b"welcome\n" * 8_192),
    "it asks for the bundle again and again": (b"", wire.NEED + b"\n"),
    "a greeting that is no JSON": (wire.HELLO + b"{\n", b""),
    "a greeting without a machine": (wire.HELLO + b"{}\n", b""),
    "a greeting as deep as the sea": (wire.HELLO + b"[" * 60_000 + b"\n", b""),
    "a word without end": (HELLO + wire.header(wire.WORD, 0, 0xFFFFFFFF), b"x" * 65_536),
    "an unknown kind": (HELLO + wire.message(200, 0, b"x"), b""),
    "a word that is no JSON": (HELLO + wire.message(wire.WORD, 0, b"{"), b""),
    "a word that is no object": (HELLO + wire.message(wire.WORD, 0, b"[]"), b""),
    "an unknown word": (HELLO + said("Hello"), b""),
    "a state that is none": (HELLO + said("Status", state={"state": "flying"}), b""),
    "events that are none": (HELLO + said("Events", events=[7]), b""),
    "an answer that is none": (HELLO + said("Answer", id=1, content={"ok": 7}), b""),
    "output for a position far away": (HELLO + wire.message(wire.STDOUT, 1 << 40, b"x"), b""),
    "a position beyond any file": (HELLO + wire.message(wire.STDERR, (1 << 64) - 1, b"x"), b""),
    "a record for a position far away": (HELLO + wire.message(wire.ORDER, 1 << 40, bytes(32)), b""),
}
BY_DEFAULT = {"it asks for the bundle again and again", "a greeting that is no JSON", "a word without end"}
PROGRAM = f"""#!{PYTHON} -IS
import os, sys, time
place = os.environ["FAKE_SSH"]
with open(os.path.join(place, "heard"), "a") as file:
    file.write("x")
with open(os.path.join(place, "begin"), "rb") as file:
    begin = file.read()
with open(os.path.join(place, "then"), "rb") as file:
    then = file.read()
os.write(1, begin)
for _ in range(20_000 if then else 0):  # 1.3 GB of the longest
    os.write(1, then)
time.sleep(1000)
"""


def talk(box: FakeSsh, name: str) -> None:
    """From now on this is what answers at the other end."""
    begin, then = NONSENSE[name]
    (box.place / "begin").write_bytes(begin)
    (box.place / "then").write_bytes(then)
    (box.place / "heard").unlink(missing_ok=True)
    put(box, PROGRAM)


def put(box: FakeSsh, program: str) -> None:
    """Replace the program `ssh`, also while it runs."""
    new = box.bin / "new"
    new.write_text(program, encoding="utf-8")
    new.chmod(0o755)
    new.rename(box.bin / "ssh")


def peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


@pytest.mark.fault("H28")
@pytest.mark.parametrize(
    "name",
    only(
        BY_DEFAULT.__contains__,
        [name for name in NONSENSE if not name.endswith("se without end") and name != "lines without end"],
    ),
)
def test_a_check_of_a_host_that_talks_nonsense_says_so_at_once(cli: Cli, box: FakeSsh, name: str) -> None:
    talk(box, name)
    (found,) = cli.ok("host", "check", "box", timeout=30)["checks"]
    assert (found["name"], found["status"]) == ("reach", "fail")
    assert "does not talk as outlive does" in found["found"]


@pytest.mark.fault("H28")
@pytest.mark.parametrize("name", first(1, ["noise without end", "lines without end"]))
def test_a_start_at_a_host_that_prints_without_end_fails_and_leaves_nothing(cli: Cli, box: FakeSsh, name: str) -> None:
    talk(box, name)
    error = cli.error("run", "--host", "box", "true", code="io_error", timeout=30)
    assert "the login shell prints without end" in error["message"]
    assert cli.ok("list", "--all")["jobs"] == []


def end_connections(box: FakeSsh) -> None:
    for pid in box.connections():
        with suppress(ProcessLookupError):  # a mirror that hears nonsense ends its connection itself
            os.kill(pid, 9)


@pytest.mark.fault("H28")
def test_a_job_survives_every_nonsense_and_its_mirror_stays_small(cli: Cli, box: FakeSsh) -> None:
    real = (box.bin / "ssh").read_text(encoding="utf-8")
    words = ("--stdin", "open", "--snapshot-after", "0", "--", "echo one; read x; echo two; exit 6")
    job = cli.ok("run", "--host", "box", *words)["job_id"]
    cli.ok("wait", job, "--until", "regex=one", "--timeout-ms", "50s")
    mirror = mirror_of(job)
    for name in ("a word without end", "output for a position far away", "a state that is none", "an unknown kind"):
        talk(box, name)
        end_connections(box)
        until((box.place / "heard").exists, what=f"a connection to {name}")
    found = until(lambda: (one := cli.ok("status", job)).get("reachable") is False and one, what="it is out of reach")
    assert found["state"] == "running"
    assert mirror_of(job) == mirror and peak_kb(mirror) < MEMORY_KB
    assert (cli.root / job / "stdout.log").read_bytes() == b"one\n"
    put(box, real)
    end_connections(box)
    until(lambda: "reachable" not in cli.ok("status", job), what="it is back")
    cli.ok("write", job, "--data", "x\n")
    assert follow_to_end(cli, box, job)["exit_code"] == 6
    assert (cli.root / job / "stdout.log").read_bytes() == b"one\ntwo\n"


# --- each claim by itself --------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[LocalCopy]:
    path = tmp_path / "copy"
    path.mkdir()
    for name in (ORDER, *LOGS):
        (path / name).touch()
    with JobDir(str(tmp_path), "copy", os.open(path, os.O_RDONLY | os.O_DIRECTORY)) as job:
        found = LocalCopy(job, 1 << 20)
        yield found
        found.close()


def record(start: int, stream: int, offset: int) -> bytes:
    return struct.pack("<QQQQ", start, stream, offset, 1)


def gap(start: int, *, length: int = 10, log: int | None = None, lines: int = 0, records: int = 1) -> bytes:
    """`log`: how much of the log of stdout is gone, if that is not as much as of the output."""
    hole = Hole(start, start + length)
    of_log = Hole(start, start + (length if log is None else log), lines)
    return Gap(hole, (of_log, Hole()), Hole(0, records)).packed()


@pytest.mark.fault("H28")
@pytest.mark.parametrize(
    ("kind", "at", "data"),
    [
        (wire.STDOUT, 6, b"x"),
        (wire.STDERR, 1, b"x"),
        (wire.ORDER, 64, record(5, 0, 5)),
        (wire.ORDER, 33, record(5, 0, 5)),
        (wire.ORDER, 32, record(6, 0, 5)),
        (wire.ORDER, 32, record(5, 0, 6)),
        (wire.ORDER, 32, record(5, 2, 5)),
        (wire.ORDER, 32, b"short"),
        (wire.GAP, 0, gap(1 << 40)),
        (wire.GAP, 0, b"x" * 96),
        (wire.GAP, 0, gap(0, length=1 << 62)),
        (wire.GAP, 0, gap(0, length=(1 << 64) - 1)),
        (wire.GAP, 0, gap(0, log=1 << 40)),
        (wire.GAP, 0, gap(0, lines=11)),
        (wire.GAP, 0, gap(0, records=1 << 62)),
    ],
)
def test_a_position_for_which_nothing_has_come_is_refused(copy: LocalCopy, kind: int, at: int, data: bytes) -> None:
    copy.take(wire.ORDER, 0, record(0, 0, 0))
    copy.take(wire.STDOUT, 0, b"12345")
    with pytest.raises(wire.Nonsense):
        copy.take(kind, at, data)
    assert copy.end == 5


def test_a_gap_that_can_be_is_taken(copy: LocalCopy) -> None:
    copy.take(wire.ORDER, 0, record(0, 0, 0))
    copy.take(wire.STDOUT, 0, b"12345")
    copy.take(wire.GAP, 0, gap(3, lines=10))
    assert copy.end == 13


def test_a_state_speaks_of_no_output_that_has_not_come(copy: LocalCopy) -> None:
    copy.take(wire.ORDER, 0, record(0, 0, 0))
    copy.take(wire.STDOUT, 0, b"12345")
    state = copy.cut(State(log_bytes=[1 << 40, 0], log_cuts=[1 << 40, 2, 1 << 40, 1 << 50]))
    assert (state.log_bytes, state.log_cuts) == ([5, 0], [5, 2, 0, 0])


@pytest.mark.fault("H28")
def test_a_far_end_fills_no_disk_beyond_the_quota_of_the_job(copy: LocalCopy) -> None:
    copy.take(wire.ORDER, 0, record(0, 0, 0))
    os.ftruncate(copy._fds[0], 1 << 29)
    with pytest.raises(wire.Nonsense, match="quota"):
        copy.take(wire.STDOUT, 1 << 29, b"x")


@pytest.mark.fault("H28")
@pytest.mark.parametrize(
    "content",
    [
        {"word": "Followed", "cwd": 7},
        {"word": "Followed", "cwd": "a\0"},
        {"word": "Kept", "jobs": [7]},
        {"word": "Refused", "refused": "Start", "error": {}},
        {"word": "Status", "state": {"log_bytes": [1, -1]}},
        {"word": "Status", "state": {"exit_code": "0"}},
        {"word": "Events", "events": [{"type": "started", "seq": -1, "at": "x", "n": 1}]},
        {"word": "Events", "events": {}},
        {"word": "Events", "events": [{"type": "started", "seq": 1, "at": "x", "n": 1, "more": "x" * 65_536}]},
        {"word": "Events", "events": [{"type": "started", "seq": 1, "at": "x", "n": 1, "more": [10**400]}]},
        {"word": "Followed", "cwd": "/" + "a" * 4_096},
        {"word": "Status", "state": {"duration_ms": 10**400}},
        {"word": "Status", "state": {"kept": {"made_up": float("inf")}}},
        {"word": "Status", "state": {"kept": {"made_up": float("nan")}}},
        {"word": "Status", "state": {"reason": "x" * 65_536}},
        {"word": "Refused", "refused": "Start", "error": {"code": "io_error", "message": "x" * 65_536}},
        {"word": "Answer", "id": "1"},
        {"word": "Checked", "free_bytes": 1},
        {"word": "Checked", "free_bytes": "1", "root": "/", "workdir": "/", "python": "3"},
        {"word": "Checked", "free_bytes": 1, "root": "/", "workdir": "/", "python": "3", "sandbox": {}},
        {},
    ],
)
def test_a_word_with_other_content_than_it_has_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(wire.Nonsense):
        words.unpacked(json.dumps(content).encode())


LONG: dict[str, Any] = {
    "state": "exited",
    "phase": "finished",
    "exit_code": 0,
    "started_at": "2026-11-30T15:00:00.000Z",
    "duration_ms": 1 << 62,
    "format": 99,
}


@pytest.mark.fault("H28")
def test_a_far_end_chooses_neither_how_long_answers_are_nor_a_number_that_ends_one(cli: Cli, box: FakeSsh) -> None:
    events = [{"type": "made_up", "at": "y", "seq": 0, "n": number, "more": "x" * 60_000} for number in (1, 2)]
    NONSENSE["a long end"] = (
        HELLO
        + said("Opened", root="/far")
        + said("Started")
        + said("Followed", cwd="/there")
        + said("Events", events=events)
        + said("Status", state={**LONG, "message": "m" * 1_000_000})
        + said("Over")
        + said("Forgotten"),
        b"",
    )
    talk(box, "a long end")
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "true")["job_id"]
    cli.ok("wait", job)
    found = cli.ok("status", job)
    assert (found["state"], len(found["message"]), found["cwd"]) == ("exited", limits.SHOWN_BYTES, "/there")
    assert cli.text("wait", job, "--human")
