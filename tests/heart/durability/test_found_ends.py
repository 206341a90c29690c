"""What a reader finds of jobs whose supervisors are gone, and whom it tells; how all of it looks in the process table."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file
from outlive.store.job_dir import RESERVE, WATCHED
from outlive.system import fault_points, process
from support import pair, processes, trees
from support.cli import Cli, Jobs
from support.commands import GATE
from support.counting import Counting
from support.jobs import make_running
from support.mcp_client import RawMcp
from support.tiers import only
from support.wait import until


def _gone(root: Path, job: str) -> dict[str, Any]:
    """An identity that no process has."""
    found: dict[str, Any] = atomic_file.load((root / job / "state.json").read_bytes())["identity"]
    return {"identity": {**found, "start_time": 1}}


@pytest.mark.fault("F10")
def test_after_a_reboot_a_job_that_ran_has_failed_for_that_reason(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "echo kept")["job_id"]
    other = "00000000-1111-2222-3333-444444444444"
    identity = {**process.identity(os.getpid()).to_dict(), "boot_id": other}  # another process has its pid now
    make_running(root, job, boot_id=other, identity=identity, pid=os.getpid())
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "reboot", None)
        assert found["finished_at"]
    assert cli.ok("list", "--all")["jobs"][0]["reason"] == "reboot"
    assert cli.ok("log", job)["output"] == "kept\n"
    assert cli.ok("wait", job, "--timeout-ms", "50s")["reason"] == "reboot"


@pytest.mark.fault("F05")
def test_the_next_reader_completes_an_end_whose_two_supervisors_died_when_it_was_visible(
    cli: Cli, root: Path, work: Path, place: Path
) -> None:
    deaths = ("end_written", f"{fault_points.SUCCESSOR}takeover_seen")
    env = {fault_points.VARIABLE: ",".join(deaths), fault_points.REPORT: str(work / "crashes")}
    job = cli.ok("run", "--snapshot-after", "0", f"{GATE}; exit 3", env=env)["job_id"]
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}
    assert tuple((work / "crashes").read_text(encoding="utf-8").split()) == deaths
    assert (root / ".live" / job).exists()
    for _ in range(2):
        kinds = [event["type"] for event in cli.ok("events", job)["events"]]
        assert kinds == ["started", "finished"]
    assert cli.ok("status", job)["exit_code"] == 3
    assert not (root / ".live" / job).exists() and not (root / job / RESERVE).exists()


def test_a_job_whose_launcher_died_never_ran_and_is_never_run(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("create", f"touch {work}/ran")["job_id"]
    (root / job / "state.json").unlink()
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "launch", None)
    assert cli.ok("list", "--all")["jobs"][0]["reason"] == "launch"
    cli.error("start", job, code="invalid_state")
    assert not (work / "ran").exists()
    cli.ok("clear", job)


@pytest.mark.parametrize(
    "verb", only({"status", "wait", "list"}.__contains__, ["status", "poll", "wait", "list", "log", "tail"])
)
def test_an_end_found_by_a_reader_is_notified_once(cli: Cli, root: Path, work: Path, verb: str) -> None:
    sink = work / "ends"
    job = cli.ok("run", "--notify-file", str(sink), "true")["job_id"]
    until(sink.exists, what="the first notification")
    make_running(root, job, **_gone(root, job))
    sink.unlink()
    (root / job / "completion_event.json").unlink()
    words = ("list", "--all") if verb == "list" else (verb, job)
    _at_once(cli, [words] * 3)
    found = cli.ok("status", job)
    assert (found["state"], found["reason"]) == ("failed", "lost")
    event = root / job / "completion_event.json"
    until(lambda: event.exists() and json.loads(event.read_bytes())["delivered"], what="the notification")
    cli.ok("status", job)
    pair.until_free(root, job)
    lines = [json.loads(line) for line in sink.read_text(encoding="utf-8").splitlines()]
    assert [(line["event_type"], line["job_id"], line["state"], line["reason"]) for line in lines] == [
        ("job.finished", job, "failed", "lost")
    ]


@pytest.mark.fault("F11")
def test_the_end_of_a_job_that_lost_both_is_notified_once(cli: Cli, work: Path) -> None:
    sink = work / "ends"
    counting = Counting.start(cli, work, "c", "--notify-file", str(sink))
    pair.end_pair(counting.job)
    _at_once(cli, [("status", counting.job)] * 4)
    counting.end()
    pair.until_free(cli.root, counting.job)
    assert len(sink.read_text(encoding="utf-8").splitlines()) == 1
    counting.check_whole()


def _at_once(cli: Cli, calls: list[tuple[str, ...]]) -> None:
    """Several readers at the same time, all answered."""
    running: list[subprocess.Popen[bytes]] = [cli.spawn(*words) for words in calls]
    for call in running:
        with call:
            stdout, stderr = call.communicate(timeout=60)
        assert call.returncode == 0, (stdout, stderr)


def test_a_copy_of_a_finished_job_tells_what_the_job_tells(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "echo kept; exit 3")["job_id"]
    pair.until_free(root, job)
    copy = f"00000000{job[8:]}"
    shutil.copytree(root / job, root / copy)
    found = cli.ok("log", copy)
    assert (found["job_id"], found["output"]) == (copy, "kept\n")
    assert cli.ok("status", copy)["exit_code"] == 3


@pytest.mark.fault("S08")
@pytest.mark.parametrize("face", ["cli", "mcp"])
def test_no_pattern_ends_them_all_and_no_secret_shows(
    raw_mcp: Callable[..., RawMcp], cli: Cli, jobs: Jobs, root: Path, face: str
) -> None:
    secret, outer = "s3cr3t-of-the-job", "s3cr3t-of-the-server"
    server = raw_mcp(env={"OUTER_TOKEN": outer})
    if face == "mcp":
        job = server.call("exec", command="sleep 60", yield_ms=0, env={"TOKEN": secret}, mask=["TOKEN"])["job_id"]
    else:
        flags = ("--snapshot-after", "0", "--env", f"TOKEN={secret}", "--mask", "TOKEN")
        job = cli.ok("run", *flags, "sleep 60", env={"OUTER_TOKEN": outer})["job_id"]
    ours = {"supervisor": pair.supervisor(job), "guardian": pair.guardian(job)}
    if face == "mcp":
        ours["fork_server"] = pair.fork_server(job)
    shown = {name: f"{pair.comm(pid)} {' '.join(processes.command_line(pid))}" for name, pid in ours.items()}
    shown["server"] = " ".join(processes.command_line(server.pid))
    for name, pid in ours.items():
        assert "python" not in shown[name].lower(), shown
        assert not Path(f"/proc/{pid}/environ").read_bytes().strip(b"\0"), f"the environment of the {name}"
        assert secret not in shown[name] and outer not in shown[name]
    for name, line in shown.items():
        for word in set(re.findall(r"[\w.-]{3,}", line)) - {job}:
            others = {other: text for other, text in shown.items() if other != name and word in text}
            assert not others, f"{word!r} of the {name} is found in {others}"
    for path, content in trees.contents(root).items():
        assert secret.encode() not in content, path
        assert outer.encode() not in content, path
    jobs.end()


@pytest.mark.fault("F05")
def test_hits_in_the_last_output_are_delivered_though_no_supervisor_saw_the_end(
    cli: Cli, root: Path, work: Path
) -> None:
    words = ("--watch", "hit", "--watch-file", "hits", "--", "printf 'hit one\nhit two\n'")
    job = cli.ok("run", *words)["job_id"]
    pair.until_free(root, job)
    for path in (work / "hits", root / job / WATCHED, root / job / "notification_events.ndjson"):
        path.unlink()
    make_running(root, job, **_gone(root, job))
    assert cli.ok("status", job)["reason"] == "lost"
    hits = until(lambda: (work / "hits").exists() and (work / "hits").read_text().splitlines()[1:], what="the hits")
    assert [json.loads(line)["line"] for line in (work / "hits").read_text().splitlines()] == ["hit one", "hit two"], (
        hits
    )
