"""Logs that other programs cut, delete, rotate or replace: the job goes on, and what is missing is said and counted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.store.output.gap import Hole
from outlive.store.output.merged import Output
from support import pair
from support.cli import Cli
from support.kept import made
from support.mcp_client import RawMcp
from support.tiers import first, only
from support.wait import until

LINES = 200
COUNT = "i=0; while [ $i -lt {} ]; do i=$((i+1)); echo {}out $i; echo {}err $i >&2; done"
COMMAND = (
    f"{COUNT.format(LINES, '', '')}; touch first; until [ -e tick ]; do sleep 0.1; done; "
    f"until [ -e go ]; do echo tick; sleep 0.05; done; {COUNT.format(LINES, 'last ', 'last ')}; exit 3"
)
OUT = "".join(f"out {n}\n" for n in range(1, LINES + 1))
ERR = "".join(f"err {n}\n" for n in range(1, LINES + 1))
LAST_OUT = "".join(f"last out {n}\n" for n in range(1, LINES + 1))
LAST_ERR = "".join(f"last err {n}\n" for n in range(1, LINES + 1))
MIDDLE = 777


def _truncate(log: Path) -> None:
    os.truncate(log, 0)


def _cut(log: Path) -> None:
    os.truncate(log, MIDDLE)


def _delete(log: Path) -> None:
    log.unlink()


def _rotate(log: Path) -> None:
    log.rename(log.with_suffix(".log.1"))


def _rotate_and_make(log: Path) -> None:
    _rotate(log)
    log.touch(0o600)


WAYS: dict[str, Callable[[Path], None]] = {
    "truncated": _truncate,
    "cut": _cut,
    "deleted": _delete,
    "rotated": _rotate,
    "rotated and made": _rotate_and_make,
}
CUT, GONE = ["truncated", "cut"], ["deleted", "rotated", "rotated and made"]


class _Job:
    """COMMAND at its first gate."""

    def __init__(self, cli: Cli, *flags: str) -> None:
        self.cli = cli
        self.id: str = cli.ok("run", "--snapshot-after", "0", *flags, COMMAND)["job_id"]
        until(Path("first").exists, what="the first half")
        until(lambda: cli.ok("status", self.id)["next_seq"] == len(OUT + ERR), what="all of it in the logs")
        self.log = cli.root / self.id / "stdout.log"

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.cli.ok("events", self.id)["events"] if event["type"] == kind]

    def go_on_when_told(self) -> dict[str, Any]:
        Path("tick").touch()
        until(lambda: self.events("output_missing"), what="what is missing in the history")
        return self.end()

    def end(self) -> dict[str, Any]:
        Path("tick").touch()
        Path("go").touch()
        ended = self.cli.ok("wait", self.id, "--timeout-ms", "50s")
        pair.until_free(self.cli.root, self.id)
        return ended

    def seen(self, since: int = 0) -> str:
        """What poll shows, raw."""
        words = ("poll", self.id, "--since-seq", str(since), "--raw", "--max-bytes", "1048576")
        found: str = self.cli.ok(*words)["output"]
        return found


def _of(text: str, word: str) -> str:
    return "".join(line for line in text.splitlines(True) if word in line)


def _check_said(cli: Cli, job: str, count: int) -> None:
    """Every answer that shows output says it."""
    for verb in ("status", "poll", "log", "tail", "wait"):
        found = cli.ok(verb, job, *(("--since-seq", "0") if verb in ("poll", "wait") else ()))
        assert found["missing_bytes"] == count, verb
        assert f"{count:,} bytes of output are missing" in found["hint"], verb


@pytest.mark.fault("F22", "F23")
@pytest.mark.parametrize("way", only({"cut", "rotated and made"}.__contains__, WAYS))
def test_a_log_that_somebody_took_or_cut_costs_what_was_taken_and_nothing_else(cli: Cli, work: Path, way: str) -> None:
    job = _Job(cli)
    cursor = cli.ok("poll", job.id)["next_seq"]
    WAYS[way](job.log)
    ended = job.go_on_when_told()
    assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", 3, "exit")
    kept = MIDDLE if way == "cut" else 0
    (said,) = job.events("output_missing")
    assert (said["stream"], said["from_byte"]) == ("stdout", kept)
    lost = cli.ok("status", job.id)["missing_bytes"]
    if way in CUT:
        assert lost == len(OUT) - kept, "each byte that was cut, and no other"
    else:
        assert lost >= len(OUT), "ticks that went into the old file"
    status = cli.ok("status", job.id)
    assert status["stdout_bytes"] == job.log.stat().st_size
    assert status["next_seq"] == status["stdout_bytes"] + status["stderr_bytes"]
    _check_said(cli, job.id, lost)
    whole = job.seen()
    assert "\0" not in whole
    assert _of(whole, "last out") == LAST_OUT and _of(whole, "err ") == ERR + LAST_ERR
    assert whole.startswith("out 1\n") == bool(kept)
    behind = job.seen(cursor)
    assert cursor == len(OUT + ERR) and behind == _of(behind, "tick") + behind[len(_of(behind, "tick")) :]
    assert _of(behind, "last out") == LAST_OUT and _of(behind, "err ") == LAST_ERR, "the cursor of before is right"
    tail = cli.ok("tail", job.id, "--tail-lines", str(LINES))
    assert (tail["stdout_tail"], tail["stderr_tail"]) == (LAST_OUT, LAST_ERR)
    raw = cli.ok("log", job.id, "--stream", "stdout", "--limit", "100000", "--raw", "--max-bytes", "1048576")["output"]
    assert "\0" not in raw and raw.endswith(LAST_OUT)
    assert cli.ok("log", job.id, "--search", "last out 200$", "--context", "0")["matches"] == 1


@pytest.mark.fault("F22", "F23")
@pytest.mark.parametrize("way", only(lambda way: way in ("truncated", "deleted"), WAYS))
def test_a_reader_of_a_cut_log_is_answered_at_any_time(cli: Cli, work: Path, way: str) -> None:
    """Also before the supervisor has found out: the job is quiet."""
    job = _Job(cli, "--stdin", "open")
    WAYS[way](job.log)
    for words in (
        ("poll", job.id),
        ("poll", job.id, "--since-seq", "100"),
        ("log", job.id),
        ("log", job.id, "--search", "out"),
        ("log", job.id, "--stream", "stdout"),
        ("tail", job.id),
        ("status", job.id),
        ("wait", job.id, "--timeout-ms", "50"),
        ("wait", job.id, "--until", "regex=nothing", "--timeout-ms", "50"),
        ("list",),
    ):
        assert "\0" not in str(cli.ok(*words)), words
    assert job.end()["exit_code"] == 3
    assert _of(job.seen(), "err ") == ERR + LAST_ERR


@pytest.mark.fault("F22")
@pytest.mark.parametrize("way", first(1, WAYS))
def test_over_mcp_it_is_said_in_words_and_in_numbers(raw_mcp: Callable[..., RawMcp], cli: Cli, way: str) -> None:
    job = _Job(cli)
    WAYS[way](job.log)
    job.go_on_when_told()
    lost = cli.ok("status", job.id)["missing_bytes"]
    server = raw_mcp()
    for action in ("poll", "log", "tail", "wait", "status"):
        more = {"since_seq": 0} if action in ("poll", "wait") else {}
        answer = server.tool_answer(server.begin_call("process", action=action, job_id=job.id, **more))
        assert answer["missing_bytes"] == lost, action
        assert f"{lost:,} bytes of output are missing" in answer.text, action
        assert "\0" not in answer.text


@pytest.mark.fault("F23")
@pytest.mark.parametrize("way", first(2, ["truncated", "cut", "deleted"]))
def test_a_log_that_is_cut_after_the_end_is_known_to_have_been_longer(cli: Cli, way: str) -> None:
    job = _Job(cli)
    ended = job.end()
    size = job.log.stat().st_size
    before = job.seen()
    WAYS[way](job.log)
    kept = MIDDLE if way == "cut" else 0
    status = cli.ok("status", job.id)
    assert (status["stdout_bytes"], status["next_seq"], status["exit_code"]) == (size, ended["next_seq"], 3)
    _check_said(cli, job.id, size - kept)
    after = job.seen()
    assert "\0" not in after and _of(after, "err ") == _of(before, "err ")
    assert after.startswith("out 1\n") == bool(kept)
    cli.ok("clear", job.id)


@pytest.mark.fault("F22")
def test_a_line_that_is_waited_and_watched_for_is_found_behind_a_deletion(cli: Cli) -> None:
    job = _Job(cli, "--watch", "last out 200$")
    with cli.spawn("wait", job.id, "--until", "regex=last err 7$", "--until", "regex=last out 150$") as waits:
        _delete(job.log)
        job.go_on_when_told()
        assert waits.wait(60) == 0
    assert [event["line"] for event in job.events("watch_hit")] == ["last out 200"]


@pytest.mark.fault("F22")
def test_a_guardian_takes_over_though_a_log_is_gone(cli: Cli) -> None:
    job = _Job(cli)
    _delete(job.log)
    _delete(job.log.with_name("stderr.log"))
    pair.take_over(job.id)
    ended = job.end()
    assert ended["exit_code"] == 3
    tail = cli.ok("tail", job.id, "--tail-lines", str(LINES))
    assert (tail["stdout_tail"], tail["stderr_tail"]) == (LAST_OUT, LAST_ERR)


@pytest.mark.fault("F22")
def test_what_stands_in_the_place_of_a_log_and_is_no_file_is_not_written_to(cli: Cli, place: Path) -> None:
    (place / "precious").write_text("kept", encoding="utf-8")
    job = _Job(cli)
    _delete(job.log)
    job.log.symlink_to(place / "precious")
    err = job.log.with_name("stderr.log")
    _delete(err)
    err.mkdir()
    assert job.end()["exit_code"] == 3
    assert (place / "precious").read_text(encoding="utf-8") == "kept"
    assert not list(err.iterdir())
    assert cli.ok("poll", job.id)["state"] == "exited"
    cli.ok("remove", job.id)


def test_a_terminals_log_may_be_taken_away(cli: Cli) -> None:
    words = ("run", "--snapshot-after", "0", "--pty", "echo up; until [ -e go ]; do sleep 0.1; done; echo on; exit 3")
    job = cli.ok(*words)["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")
    (cli.root / job / "stdout.log").unlink()
    cli.ok("screen", job)
    Path("go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 3
    cli.ok("screen", job)


@pytest.mark.fault("F22", "F23")
@pytest.mark.parametrize("way", first(1, CUT[::-1]))
def test_a_log_that_is_cut_again_and_again_is_said_once_and_read_from_the_last_cut_on(cli: Cli, way: str) -> None:
    """What lies between two cuts need not be shown; positions and what comes after do."""
    count = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo {}; done"
    waits = "until [ -e go$n ]; do sleep 0.05; done"
    command = f"n=0; while [ $n -lt 4 ]; do {count.format('line $n $i')}; touch at$n; {waits}; n=$((n+1)); done; exit 3"
    job = cli.ok("run", "--snapshot-after", "0", command)["job_id"]
    log = cli.root / job / "stdout.log"
    for n in range(4):
        until(Path(f"at{n}").exists, what="its part")
        whole = "".join(f"line {part} {i}\n" for part in range(n + 1) for i in range(1, 51))
        until(lambda whole=whole: cli.ok("status", job)["next_seq"] == len(whole), what="all of it in the log")
        cursor = len(whole)
        if n < 3:
            WAYS[way](log)
        Path(f"go{n}").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (ended["exit_code"], ended["next_seq"]) == (3, cursor)
    assert [one["stream"] for one in cli.ok("events", job)["events"] if one["type"] == "output_missing"] == ["stdout"]
    shown = cli.ok("log", job, "--raw", "--limit", "10000", "--max-bytes", "1048576")["output"]
    assert "\0" not in shown and shown.endswith("".join(f"line 3 {i}\n" for i in range(1, 51)))


def test_missing_bytes_are_left_out_and_a_line_that_was_cut_is_ended(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        job.put(0, bytes(range(100, 110)))
        with Output(job.dir) as output:
            for gone, shown in {
                (0, 0): bytes(range(100, 110)),
                (0, 4): bytes(range(104, 110)),
                (2, 5): bytes((100, 101, 10, *range(105, 110))),
                (7, 99): bytes((*range(100, 107), 10)),
                (0, 10): b"",
            }.items():
                output.missing[0] = Hole(*gone)
                assert output.shown_stream(0, 0, 10) == shown
                assert b"".join(data for _, data in output.pieces(0, 10)) == shown
                assert output.read_stream(0, 0, 10) == bytes(range(100, 110))
