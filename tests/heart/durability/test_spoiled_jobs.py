"""What a job, or a version without today's checks, has put into the files of the job: no reader hangs, dies or repeats
itself over it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from outlive.store.inspection import adoptions
from outlive.store.job_dir import LOGS
from support import pair, processes
from support.cli import Cli
from support.commands import GATE
from support.jobs import collected, rewrite
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, first, only
from support.wait import until


def _orphan(cli: Cli, root: Path, *words: str, **changes: Any) -> str:
    """A running job whose supervisors are dead, and whose definition is another one now."""
    job: str = cli.ok("run", "--snapshot-after", "0", *words, "sleep", "600")["job_id"]
    pair.end_pair(job)
    rewrite(root / job / "meta.json", **changes)
    return job


@pytest.mark.parametrize("poison", first(2, ["echo a\0b", "echo \ud83d", 7, ["a"]]))
def test_a_notification_that_no_system_call_takes_is_recorded_and_the_other_one_told_once(
    cli: Cli, root: Path, work: Path, poison: Any
) -> None:
    sink = work / "sink"
    job = _orphan(cli, root, notification={"notify_file": str(sink), "notify_command": poison})
    cli.ok("kill", job, "--signal", "KILL")
    event = root / job / "completion_event.json"
    until(lambda: event.exists() and not json.loads(event.read_bytes())["pending"], what="the end of the delivery")
    for _ in range(5):
        cli.ok("list", "--all")
    pair.until_free(root, job)
    results = {one["sink_type"]: one for one in json.loads(event.read_bytes())["delivery_results"]}
    assert (results["file"]["success"], results["command"]["success"]) == (True, False)
    assert "no program can be given this" in results["command"]["error"]
    assert len(sink.read_bytes().splitlines()) == 1
    assert not list((root / job).glob("fault-*")), "a supervisor died of it"
    failed = [one for one in cli.ok("events", job)["events"] if one["type"] == "notification_failed"]
    assert [one["sink_type"] for one in failed] == ["command"]


@pytest.mark.parametrize("path", ["/tmp/a\0b", "/tmp/\ud83d", 7])
def test_a_file_that_no_system_call_takes_is_a_failed_delivery(cli: Cli, root: Path, path: Any) -> None:
    job = _orphan(cli, root, notification={"notify_file": path})
    cli.ok("kill", job, "--signal", "KILL")
    event = root / job / "completion_event.json"
    until(lambda: event.exists() and not json.loads(event.read_bytes())["pending"], what="the end of the delivery")
    (result,) = json.loads(event.read_bytes())["delivery_results"]
    assert not result["success"]
    assert "not a path" in result["error"]
    pair.until_free(root, job)


def test_a_job_whose_every_supervisor_dies_is_given_up_with_a_reason(cli: Cli, root: Path, work: Path) -> None:
    sink = work / "sink"
    job = _orphan(cli, root, notification={"notify_file": str(sink)})
    dies = {"OUTLIVE_CRASH_AT": "raise:adopt_told,raise:guardian:takeover_locked"}
    looks = 0
    while cli.ok("list", "--all", env=dies)["jobs"][0]["state"] == "running":
        pair.until_free(root, job)
        looks += 1
        assert looks <= adoptions.MOST
    found = cli.ok("status", job)
    assert (found["state"], found["reason"]) == ("failed", "lost")
    assert f"{adoptions.MOST} supervisors in a row" in found["message"]
    assert "the fault point takeover_locked" in found["message"]
    assert "killed" not in found["message"], "none of them was"
    for _ in range(3):
        cli.ok("list", "--all")
    assert not pair.is_supervised(root, job)
    assert not sink.exists() or len(sink.read_bytes().splitlines()) <= 1
    cli.text("kill", job)  # which starts one more, for that alone
    assert not processes.is_alive(found["pid"])


@pytest.mark.parametrize("watches", first(1, [[{}], [7], 7]))
def test_watches_that_make_no_sense_end_no_supervisor(cli: Cli, root: Path, watches: Any) -> None:
    job = _orphan(cli, root, notification={"watches": watches})
    cli.text("list", "--all")  # which breaks the schema, as the definition does
    cli.text("kill", job)
    found = json.loads(cli.text("status", job).stdout)
    assert (found["state"], found["reason"]) == ("killed", "kill")
    assert not list((root / job).glob("fault-*"))


def test_a_change_of_a_job_that_holds_its_own_lock_is_an_error_soon(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    cli.ok("tag", "set", job, "--tag", "one")
    with (root / job / "meta.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli.error("tag", "set", job, "--tag", "two", code="io_error", timeout=60)["retryable"]
    assert cli.ok("tag", "set", job, "--tag", "three")["tags"] == ["three"]


def test_a_delivery_whose_supervisor_is_killed_each_time_is_given_up(cli: Cli, root: Path, work: Path) -> None:
    sink = work / "sink"
    # It ends its own supervisor and guardian, as a clean-up that is too thorough does
    ends = f"echo told >> {sink}; kill -9 $(ps -o ppid= -p $PPID) $PPID"
    job = cli.ok("run", "--notify-command", ends, "true")["job_id"]
    event = root / job / "completion_event.json"

    def is_over() -> bool:
        cli.ok("list", "--all")
        return bool(event.exists() and not json.loads(event.read_bytes())["pending"])

    until(is_over, what="the end of the delivery")
    pair.until_free(cli.root, job)
    (result,) = json.loads(event.read_bytes())["delivery_results"]
    assert "given up" in result["error"]
    assert 1 <= len(sink.read_bytes().splitlines()) <= 3
    for _ in range(3):
        cli.ok("list", "--all")
    assert len(sink.read_bytes().splitlines()) <= 3


# --- files that are none ------------------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _huge(path: Path) -> None:
    # No record is that long. A log may be, and is read to its end: a busy machine counts lines for a minute
    size = 128 << 20 if path.name == "stdout.log" else 3 << 30
    with path.open("wb") as file:
        file.truncate(size)


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000, encoding="ascii")


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


NAMES = ("meta.json", "state.json", "events.ndjson", "order", "stdout.log", "lock", "completion_event.json", "gap")
KINDS: dict[str, Callable[[Path], object]] = {
    "FIFO": _fifo,
    "socket": _socket,
    "huge": _huge,
    "deep": _deep,
    "link": _link,
    "directory": Path.mkdir,
}
# By default each kind once, in turn in place of the definition and of the state
SOME_PLACES = set(zip(cycle(NAMES[:2]), KINDS, strict=False))
LOOKS = ("status", "poll", "log", "tail", "events", "wait")


@MODERN_FIRST
@pytest.mark.parametrize(("name", "kind"), only(SOME_PLACES.__contains__, product(NAMES, KINDS)))
def test_whatever_stands_in_place_of_a_job_s_file_no_reader_waits_for_it(
    cli: Cli, shared_session: McpSession, name: str, kind: str
) -> None:
    other, job = (shared_session.ok("exec", command="echo text")["job_id"] for _ in range(2))
    root = Path(shared_session.ok("process", action="list")["root"])
    pair.until_free(root, job)  # it may write that file once more
    spoiled = root / job / name
    spoiled.unlink(missing_ok=True)
    KINDS[kind](spoiled)
    for verb in LOOKS:
        by_cli = cli.run("--root", str(root), verb, job, timeout=60).json
        by_mcp = shared_session.call("process", action=verb, job_id=job)
        assert by_cli["ok"] is not by_mcp.is_error, (verb, by_cli, by_mcp.result)
    listed = shared_session.ok("process", action="list", all=True)
    assert other in [one["job_id"] for one in listed["jobs"]]
    assert cli.ok("--root", str(root), "list", "--all", timeout=60)["jobs"]
    if name in ("meta.json", "state.json"):
        (said,) = [one for one in listed["jobs"] if one["job_id"] == job]
        if name == "state.json":  # the history has the end, and no rename replaces a directory
            assert (said["state"], said["exit_code"]) == ("exited", 0)
        if name == "meta.json" or kind == "directory":
            assert said["damage"].startswith(name)
            checks = cli.ok("--root", str(root), "doctor", timeout=60)["checks"]
            assert any(job in json.dumps(one) for one in checks), "doctor does not name it"
        else:
            assert cli.ok("--root", str(root), "status", job)["message"].startswith(name)
    cli.ok("--root", str(root), "remove", job)


@pytest.mark.parametrize("kind", first(1, ["directory", "link", "FIFO"]))
def test_events_of_a_job_whose_history_cannot_be_read_say_so(cli: Cli, root: Path, kind: str) -> None:
    job = cli.ok("run", "true")["job_id"]
    pair.until_free(root, job)
    (root / job / "events.ndjson").unlink()
    KINDS[kind](root / job / "events.ndjson")
    found = cli.ok("events", job)
    assert (found["state"], found["events"]) == ("exited", [])
    assert found["damage"].startswith("events.ndjson: it is ")
    assert cli.text("--human", "events", job).stdout == f"({found['damage']})\n"


RECORDS: dict[str, dict[str, Any]] = {
    "texts that are none": {"file": "meta.json", "masked_env": [[]], "tags": [7]},
    "a directory that no system call takes": {"file": "meta.json", "cwd": "/a\0b"},
    "a directory with half a character": {"file": "meta.json", "cwd": "/a\ud83d"},
    "an input that no system call takes": {"file": "meta.json", "stdin": "file", "stdin_path": "/a\0b"},
    "a file that no system call takes": {"file": "meta.json", "env_files": ["/a", "/b\ud83d"]},
    "no command": {"file": "meta.json", "command": []},
    "no shell": {"file": "meta.json", "shell": []},
    "less than no quota": {"file": "meta.json", "quota_bytes": -1},
    "an end without a cause": {"file": "state.json", "ending": {"a": 1}},
    "logs longer than a file can be": {"file": "state.json", "log_bytes": [2**63, 0]},
    "a terminal of too many cells": {"file": "state.json", "terminal": {"sizes": [[0, 10_000, 10_000]]}},
    "a terminal without a size": {"file": "state.json", "terminal": {"sizes": [[0, 80]]}},
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_other_types_is_damage_of_that_job_alone(cli: Cli, root: Path, name: str) -> None:
    job = cli.ok("run", "exit 3")["job_id"]
    pair.until_free(root, job)
    changes = dict(RECORDS[name])
    file = changes.pop("file")
    rewrite(root / job / file, **changes)
    (listed,) = cli.ok("list", "--all")["jobs"]
    assert listed["damage"].startswith(file)
    for verb in LOOKS:
        assert cli.ok(verb, job)
    assert cli.ok("list", "--all")["jobs"][0]["exit_code"] == 3
    assert cli.ok("list")
    cli.error("wait", code="job_not_found")  # none runs
    if file == "meta.json":
        cli.error("restart", job, code="io_error")


def test_a_time_that_is_none_holds_up_neither_its_job_nor_the_list_nor_gc(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    pair.until_free(root, job)
    times = dict.fromkeys(("started_at", "finished_at", "updated_at"), "2026-13-45")
    rewrite(root / job / "state.json", **times, duration_ms=None)
    for words in ((verb, job) for verb in LOOKS):
        assert json.loads(cli.text(*words).stdout)["ok"]
        assert not cli.text("--human", *words).status
    assert json.loads(cli.text("list", "--all", "--since", "1h").stdout)["jobs"]
    found = collected(cli, "--older-than", "1h")
    assert found is None or [kept["reason"] for kept in found["jobs"]] == ["it is within the window"]


ORDERS = {"garbled": b"\xff" * 96, "of no stream": b"\0" * 8 + b"\x07" + b"\0" * 23, "empty": b"", "zeros": bytes(64)}


@pytest.mark.fault("D04")
@pytest.mark.parametrize("order", first(2, ["missing", "cut", *ORDERS]))
def test_without_its_order_the_output_is_shown_and_that_is_said(cli: Cli, root: Path, order: str) -> None:
    job = cli.ok("run", "echo out; echo err >&2")["job_id"]
    pair.until_free(root, job)
    path = root / job / "order"
    if order == "missing":
        path.unlink()
    else:
        path.write_bytes(ORDERS.get(order, path.read_bytes()[:32]))
    for verb in ("poll", "log", "tail", "status", "wait"):
        found = cli.ok(verb, job)
        assert found["damage"].startswith("order: it")
        assert sorted(found.get("output", "out\nerr\n").split()) == ["err", "out"]
    assert len(cli.ok("list", "--all")["jobs"]) == 1


@pytest.mark.fault("D04")
def test_zeros_behind_the_order_are_what_a_power_cut_leaves_and_no_records(cli: Cli, root: Path) -> None:
    """ext4 keeps the length of a file whose last block was there already, and not what was written into it."""
    job = cli.ok("run", "echo out; echo err >&2; sleep 0.2; echo more")["job_id"]
    pair.until_free(root, job)
    with (root / job / "order").open("ab") as order:
        order.write(bytes(96))
    found = cli.ok("log", job)
    assert found["output"].split()[-1] == "more" and sorted(found["output"].split()) == ["err", "more", "out"]
    assert "damage" not in found


# What a power cut, or a program, makes of a file
DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "missing": Path.unlink,
    "garbled": lambda path: path.write_bytes(b"\xff{]" * 40),
}
ALL_NAMES = (*NAMES[:7], "stderr.log")


@pytest.mark.fault("D04")
@pytest.mark.parametrize(("name", "kind"), only(lambda one: one[1] == "empty", product(ALL_NAMES, DAMAGE)))
def test_whatever_is_left_of_a_file_every_verb_answers(cli: Cli, root: Path, name: str, kind: str) -> None:
    job = cli.ok("run", "echo out; echo err >&2; exit 3")["job_id"]
    pair.until_free(root, job)
    path = root / job / name
    if path.exists():
        DAMAGE[kind](path)
    for verb in (*LOOKS, "kill"):
        found = cli.ok(verb, job)
        assert found.get("exit_code", 3) == 3
        if "output" in found and name not in LOGS:
            assert sorted(found["output"].split()) == ["err", "out"]
    assert [one["exit_code"] for one in cli.ok("list", "--all")["jobs"]] == [3]
    dry = collected(cli, "--older-than", "1w", "--dry-run")
    assert dry is None or dry["skipped"] == 1
    cli.ok("remove", job)


def _garbled(path: Path) -> None:
    path.write_bytes(b"\xff{]" * 40)


@pytest.mark.parametrize("both", [False, True], ids=["supervisor", "supervisor and guardian"])
@pytest.mark.parametrize(("name", "spoil"), [("state.json", _garbled), ("order", _garbled), ("events.ndjson", _link)])
def test_a_successor_looks_after_a_command_though_a_file_of_its_job_is_spoilt(
    cli: Cli, root: Path, work: Path, name: str, spoil: Callable[[Path], object], both: bool
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--watch", "two", f"echo one; {GATE}; echo two; exit 5")["job_id"]
    until(lambda: cli.ok("poll", job)["output"] == "one\n", what="the first line")
    (root / job / name).unlink()
    spoil(root / job / name)
    pair.end(*([pair.guardian(job)] if both else []), pair.supervisor(job))
    until(lambda: cli.ok("status", job).get("adopted") == 1, what="a successor")
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert ended["exit_code"] == 5 or (both and ended["reason"] == "lost")
    assert cli.ok("tail", job)["stdout_tail"] == "one\ntwo\n"
    pair.until_free(root, job)
    assert "faults" not in cli.ok("status", job)
