"""What the policy or a person decided about runs in the directory that this was about, whatever its name leads to later."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, configured
from support.mcp_client import McpSession
from support.tiers import ONE_ERA
from support.wait import until

RULES = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n'
Change = Callable[[Path], None]


@pytest.fixture(autouse=True)
def config(place: Path) -> Path:
    return configured(place, RULES)


@pytest.fixture
def ways(work: Path) -> Path:
    """Two directories `a/in` and `b/in`; `link` leads to the first, and so does `up/in` through a link higher up."""
    for name in ("a/in", "b/in"):
        (work / name).mkdir(parents=True)
    (work / "link").symlink_to("a/in")
    (work / "up").symlink_to("a")
    return work


def relinked(ways: Path) -> None:
    for name, target in (("link", "b/in"), ("up", "b")):
        (ways / "new").symlink_to(target)
        (ways / "new").rename(ways / name)


def replaced(ways: Path) -> None:
    """Put the other directory in the place of the first."""
    (ways / "a/in").rename(ways / "a/was")
    (ways / "b/in").rename(ways / "a/in")


def replaced_above(ways: Path) -> None:
    (ways / "a").rename(ways / "was")
    (ways / "b").rename(ways / "a")


def replaced_by_link(ways: Path) -> None:
    (ways / "a/in").rename(ways / "a/was")
    (ways / "a/in").symlink_to("../b/in")


CHANGES: list[Change] = [replaced, replaced_above, replaced_by_link]


def made(ways: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(ways)) for path in ways.rglob("made"))


def asked(cli: Cli, cwd: str, *words: str, **how: Any) -> str:
    found = cli.ok("run", "--snapshot-after", "0", "--cwd", cwd, *(words or ("--", "touch", "made")), **how)
    assert found["approval"]["state"] == "pending"
    job: str = found["job_id"]
    return job


def directory(cli: Cli, job: str) -> list[str]:
    return [one["value"] for one in cli.ok("status", job)["approval"]["facts"] if one["label"] == "Directory"]


@pytest.mark.parametrize("cwd", ["link", "up/in"])
def test_what_is_shown_is_where_it_leads_and_there_it_starts(cli: Cli, ways: Path, cwd: str) -> None:
    job = asked(cli, cwd)
    assert directory(cli, job) == [str(ways / "a/in")]
    relinked(ways)
    cli.ok("approve", job)
    assert cli.ok("wait", job)["exit_code"] == 0
    assert made(ways) == ["a/in"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_approved_starts_in_no_other_directory(cli: Cli, ways: Path, change: Change) -> None:
    job = asked(cli, "link", "--notify-command", "touch made", "--", "touch", "made")
    change(ways)
    cli.ok("approve", job)
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert f"the directory {ways / 'a/in'} is not the one that was decided about: " in ended["message"]
    assert made(ways) == []


@pytest.mark.parametrize("waits", [True, False])
def test_a_directory_that_is_gone_is_said_to_be(cli: Cli, ways: Path, waits: bool) -> None:
    call = cli.spawn(
        "run", *(("--wait",) if waits else ("--snapshot-after", "0")), "--cwd", "link", "--", "touch", "made"
    )
    (job,) = until(lambda: cli.ok("list", "--all")["jobs"], what="the question")
    if not waits:
        call.communicate(timeout=60)
    (ways / "a/in").rmdir()
    cli.ok("approve", job["job_id"])
    call.communicate(timeout=60)
    ended = cli.ok("wait", job["job_id"])
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert "decided about: no such file or directory" in ended["message"]


@pytest.mark.parametrize("change", [relinked, *CHANGES])
@pytest.mark.parametrize("cwd", ["link", "up/in"])
def test_always_holds_in_that_directory_alone(cli: Cli, ways: Path, cwd: str, change: Change) -> None:
    job = asked(cli, cwd)
    cli.ok("approve", "--always", job)
    cli.ok("wait", job)
    (ways / "a/in/made").unlink()
    assert cli.ok("run", "--wait", "--cwd", "a/in", "--", "touch", "made")["exit_code"] == 0
    assert [one["cwd"] for one in cli.ok("policy", "list")["approvals"]] == [str(ways / "a/in")]
    (ways / "a/in/made").unlink()
    change(ways)
    asked(cli, cwd)
    assert made(ways) == []


def test_a_created_job_is_bound_when_it_is_asked_about(cli: Cli, ways: Path) -> None:
    job = cli.ok("create", "--cwd", "link", "--", "touch", "made")["job_id"]
    replaced(ways)
    assert cli.ok("start", job, "--snapshot-after", "0")["approval"]["state"] == "pending"
    (ways / "a/in").rename(ways / "b/in")
    (ways / "a/was").rename(ways / "a/in")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert made(ways) == []


@pytest.mark.usefixtures("system_path")
def test_a_job_that_is_restarted_is_decided_about_anew(cli: Cli, ways: Path, config: Path) -> None:
    job = cli.ok("run", "--wait", "--cwd", "link", "--", "ls")["job_id"]
    replaced(ways)
    again = cli.ok("restart", "--wait", job)
    assert again["exit_code"] == 0
    config.unlink()
    (ways / "a/in").rename(ways / "b/in")
    (ways / "a/was").rename(ways / "a/in")
    assert cli.ok("restart", "--wait", again["job_id"])["exit_code"] == 0


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize("sandbox", ["off", "workspace-write"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_rule_allowed_starts_in_no_other_directory(
    cli: Cli, ways: Path, config: Path, change: Change, sandbox: str
) -> None:
    rule = f'[[policy.rule]]\ndirectory = "{ways}/a/in"\ndecision = "allow"\n'
    config.write_text(f'[policy]\ndefault = "deny"\n{rule}', encoding="utf-8")
    cli.error("run", "--cwd", "b/in", "--", "touch", "made", code="denied")
    with cli.stopped_at("send_request", "run", "--cwd", "link", "--sandbox", sandbox, "--", "touch", "made") as call:
        change(ways)
        os.kill(call.pid, signal.SIGCONT)
        out, _ = call.communicate(timeout=60)
    assert b'"denied"' in out
    assert b"is not the one that was decided about" in out
    assert cli.ok("list", "--all")["jobs"] == []
    assert made(ways) == []


@pytest.mark.parametrize("late", [False, True])
def test_the_end_of_a_job_that_was_denied_at_its_start_is_recorded(
    cli: Cli, ways: Path, config: Path, late: bool
) -> None:
    """By a look before the start, or when it starts: the directory may change between these two."""
    config.write_text(f'{RULES}[audit]\nto = "file"\n', encoding="utf-8")
    job = asked(cli, "link")
    if not late:
        replaced(ways)
        cli.ok("approve", job)
    else:
        with cli.stopped_at("send_request", "approve", job):
            replaced(ways)
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    (event,) = (one for one in cli.ok("events", job)["events"] if one["type"] == "finished")
    assert event["reason"] == "denied"
    assert event["message"] == ended["message"]
    (entry,) = cli.ok("audit", "--verb", "end")["entries"]
    assert (entry["job_id"], entry["reason"]) == (job, "denied")
    assert "is not the one that was decided about" in entry["message"]
    assert made(ways) == []


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize("sandbox", ["off", "workspace-write"])
def test_a_notification_runs_in_no_other_directory(cli: Cli, ways: Path, sandbox: str) -> None:
    words = ("--sandbox", sandbox, "--notify-command", "touch made; touch ran")
    job = asked(cli, "link", *words, "touch begun; until test -e go; do sleep 0.01; done")
    cli.ok("approve", job)
    until((ways / "a/in/begun").exists, what="the job runs")
    (ways / "b/in/go").touch()
    (ways / "a/in/go").touch()
    replaced(ways)
    cli.ok("wait", job)
    event = cli.root / job / "completion_event.json"
    (result,) = until(lambda: json.loads(event.read_text())["delivery_results"], what="the command was tried")
    assert "is not the one that was decided about" in result["error"]
    assert made(ways) == []


def test_a_shell_finds_its_way_by_no_link(cli: Cli, ways: Path) -> None:
    script = "touch begun; until test -e go; do sleep 0.01; done; cd . && touch made"
    job = asked(cli, "link", script, env={"PWD": str(ways / "link")})
    cli.ok("approve", job, env={"PWD": str(ways / "link")})
    until((ways / "a/in/begun").exists, what="the job runs")
    relinked(ways)
    (ways / "a/in/go").touch()
    cli.ok("wait", job)
    assert made(ways) == ["a/in"]


@ONE_ERA
@pytest.mark.parametrize("change", CHANGES)
def test_a_server_starts_it_in_no_other_directory(
    cli: Cli, ways: Path, mcp_connect: Callable[..., McpSession], change: Change
) -> None:
    session = mcp_connect()
    job = session.ok("exec", command="touch made", cwd=str(ways / "link"), yield_ms=0)["job_id"]
    assert directory(cli, job) == [str(ways / "a/in")]
    change(ways)
    cli.ok("approve", job)
    assert session.ok("process", action="wait", job_id=job)["reason"] == "denied"
    assert made(ways) == []
