"""The history of a job: what happened, in the order of the output, once each, for people and programs."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from support import pair
from support.cli import Cli, Jobs, environment
from support.jobs import background
from support.wait import until


def events(cli: Cli, job: str, kind: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.ok("events", job, "--limit", "0")["events"]
    return [event for event in found if kind in (None, event["type"])]


def over(cli: Cli, job: str) -> list[dict[str, Any]]:
    """Return all events, once no process adds any."""
    return until(lambda: events(cli, job, "finished") and events(cli, job), what="the end")


@pytest.mark.fault("F63")
def test_a_job_that_ran_has_a_start_and_an_end(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "echo hello; exit 3")
    started, finished = over(cli, job["job_id"])
    assert (started["n"], started["seq"], started["type"], started["pid"]) == (1, 0, "started", job["pid"])
    assert (finished["seq"], finished["state"], finished["exit_code"], finished["reason"]) == (6, "exited", 3, "exit")


def test_signals_say_who_sent_them(cli: Cli) -> None:
    job = background(cli, "trap '' TERM; echo on; while :; do sleep 0.1; done")
    cli.ok("wait", job, "--until", "output")
    cli.ok("kill", job, "--signal", "WINCH", "--wait-ms", "0")
    cli.ok("kill", job, "--grace-ms", "300", env={"OUTLIVE_OWNER": "somebody"})
    signals = events(cli, job, "signal_sent")
    assert [(event["signal"], event["by"], event["cause"]) for event in signals[1:]] == [
        ("SIGTERM", "somebody", "kill"),
        ("SIGKILL", "somebody", "kill"),
    ]
    assert (signals[0]["signal"], signals[0]["by"]) == ("SIGWINCH", "cli")


def test_a_time_out_is_a_signal_of_ours(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--timeout", "200", "sleep 60")["job_id"]
    (sent,) = [event for event in over(cli, job) if event["type"] == "signal_sent"]
    assert (sent["signal"], sent["by"], sent["cause"]) == ("SIGTERM", "outlive", "timeout")


def test_prompts_sizes_and_what_is_left_behind_are_told(cli: Cli, jobs: Jobs) -> None:
    job = background(
        cli,
        "--pty",
        "printf 'name? '; read x; (trap '' HUP; touch up; exec sleep 60) & until [ -e up ]; do sleep 0.1; done; exit 0",
    )
    cli.ok("wait", job, "--until", "input")
    cli.ok("resize", job, "--cols", "90", "--rows", "20")
    cli.ok("send-keys", job, "--literal", "Ada", "Enter")
    cli.ok("wait", job)
    found = until(lambda: events(cli, job, "descendants_left") and events(cli, job), what="what is left")
    kinds = [event["type"] for event in found]
    assert kinds[:3] == ["started", "waiting_for_input", "resized"]
    asked, resized = found[1], found[2]
    assert (asked["prompt"], asked["echo"], asked["seq"]) == ("name?", True, 6)
    assert (resized["cols"], resized["rows"]) == (90, 20)
    assert [event["count"] for event in found if event["type"] == "descendants_left"] == [1]
    jobs.end()


def test_a_cursor_neither_misses_nor_repeats(cli: Cli, jobs: Jobs) -> None:
    job = background(cli, "--stdin", "open", "read a; read b")
    first = until(lambda: (found := cli.ok("events", job))["events"][1:] and found, what="a prompt")
    cli.ok("write", job, "--data", "1\n")
    again = until(
        lambda: (found := cli.ok("events", job, "--since-event", str(first["next_event"])))["events"] and found,
        what="the second prompt",
    )
    assert [event["n"] for event in first["events"]] == [1, 2]
    assert [event["n"] for event in again["events"]] == [3]
    assert cli.ok("events", job, "--since-event", str(again["next_event"]))["events"] == []
    jobs.end()


def test_a_part_says_how_to_go_on(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--watch", "^x", "for i in 1 2 3 4 5; do echo x$i; done")["job_id"]
    assert [event["type"] for event in over(cli, job)] == ["started", *["watch_hit"] * 5, "finished"]
    newest = cli.ok("events", job, "--limit", "2")
    assert (newest["truncated"], [event["n"] for event in newest["events"]]) == (True, [6, 7])
    part = cli.ok("events", job, "--limit", "2", "--since-event", "1")
    assert [event["n"] for event in part["events"]] == [2, 3]
    assert part["next_event"] == 3
    assert [event["seq"] for event in cli.ok("events", job, "--since-seq", "9")["events"]] == [9, 12, 15]


def test_follow_prints_one_object_a_line_until_the_job_is_over(cli: Cli, work: Path) -> None:
    job = background(cli, "--watch", "hit", "until [ -e go ]; do sleep 0.1; done; echo a hit; exit 4")
    with cli.spawn("events", job, "--follow") as follower:
        assert follower.stdout
        first = json.loads(follower.stdout.readline())
        assert (first["type"], first["job_id"]) == ("started", job)
        (work / "go").touch()
        rest = [json.loads(line) for line in follower.stdout.read().splitlines()]
        assert follower.wait(60) == 0
    assert [event["type"] for event in rest] == ["watch_hit", "finished"]
    assert rest[1]["exit_code"] == 4


def test_a_follower_whose_stdout_is_full_says_so(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    with (
        open("/dev/full", "wb") as full,
        cli.spawn("events", job, "--follow", stdout=full) as follower,
    ):
        assert follower.communicate(timeout=60)[1] == b"outlive: while writing the answer: No space left on device\n"
        assert follower.returncode == 1


def test_follow_of_a_job_that_is_not_there_is_one_error_object(cli: Cli) -> None:
    assert cli.error("events", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--follow", code="job_not_found", status=1)


def test_a_line_cut_off_by_a_kill_is_passed_over(cli: Cli, root: Path) -> None:
    job = background(cli, "sleep 60")
    until(lambda: events(cli, job, "started"), what="the first event")
    history = root / job / "events.ndjson"
    with history.open("ab") as file:
        file.write(b'{"n":2,"seq":0,"at":"20')
    pair.end(pair.supervisor(job))
    until(lambda: events(cli, job, "adopted"), what="the takeover")
    cli.ok("kill", job)
    found = over(cli, job)
    assert [event["type"] for event in found] == ["started", "adopted", "signal_sent", "finished"]
    assert [event["n"] for event in found] == [1, 3, 4, 5]


def test_lines_that_the_job_itself_wrote_end_no_call(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    own: list[dict[str, Any]] = [
        {},
        {"type": ["a"]},
        {"type": "exited", "at": 5},
        {"type": "watch_hit", "at": "2026-11-28T18:00:00.000Z", "line": "{x}"},
    ]
    with (root / job / "events.ndjson").open("ab") as file:
        for number, members in enumerate(own, 10):
            file.write(json.dumps({"n": number, "seq": 0, **members}, separators=(",", ":")).encode() + b"\n")
    assert [event["type"] for event in cli.ok("events", job)["events"]] == ["started", "finished", "watch_hit"]
    assert "watch_hit  line {x}" in cli.text("--human", "events", job).stdout


def test_files_that_are_too_long_are_cut_down_at_a_takeover_and_what_counts_goes_on(
    cli: Cli, root: Path, work: Path
) -> None:
    """Both were written by a version that knew of no bound."""
    watches = ({"pattern": "hit", "file": "hits"}, {"pattern": "ready", "once": True})
    flags = [word for watch in watches for word in ("--watch", json.dumps(watch))]
    wait = "until [ -e {} ]; do sleep 0.1; done"
    job = background(cli, *flags, f"echo ready; {wait.format('go')}; echo ready; echo a hit; {wait.format('end')}")
    until(lambda: events(cli, job, "watch_hit"), what="the first hit")
    supervisor = pair.supervisor(job)
    hit = {
        "watch": "w1",
        "pattern": "hit",
        "match_type": "regex",
        "stream": "stdout",
        "line": "x" * 500,
        "match": "hit",
    }
    count = limits.EVENTS_BYTES // 600 * 2
    with (root / job / "events.ndjson").open("ab") as file:
        event = {"n": -1, "seq": 6, "at": "2026-11-22T00:00:00.000Z", "type": "watch_hit", **hit}
        line = json.dumps(event, separators=(",", ":"))
        file.writelines(f"{line}\n".replace("-1", str(n), 1).encode() for n in range(3, count))
    record = {"schema_version": "0.1", "event_type": "job.output.matched", "job_id": job, **hit, "snippet": "x" * 2_000}
    with (root / job / "notification_events.ndjson").open("ab") as file:
        for seq in range(1_000, 1_000 + limits.EVENTS_BYTES // 2_500):  # of the stream without hits to come
            content = {**record, "stream": "stderr", "seq": seq, "delivery_results": [], "delivered": seq != 5_000}
            file.write(json.dumps(content).encode() + b" " * 400 + b"\n")
    pair.end(supervisor)
    after = ("--since-event", str(count - 1))
    until(lambda: [one["type"] for one in cli.ok("events", job, *after)["events"]][:1] == ["adopted"], what="takeover")
    until((work / "hits").exists, what="what the killed supervisor had not delivered")
    (work / "go").touch()
    until(lambda: len((work / "hits").read_text(encoding="utf-8").splitlines()) == 2, what="the next hit")
    with cli.spawn("events", job, "--follow", *after) as follower:
        assert follower.stdout
        first = json.loads(follower.stdout.readline())
        (work / "end").touch()
        rest = [json.loads(line) for line in follower.stdout.read().splitlines()]
        assert follower.wait(60) == 0
    assert (first["type"], first["n"]) == ("adopted", count)
    assert [event["n"] for event in rest] == list(range(count + 1, count + 1 + len(rest)))
    assert [event["line"] for event in rest if event["type"] == "watch_hit"] == ["a hit"]
    assert rest[-1]["type"] == "finished"
    found = cli.ok("events", job, "--limit", "0")["events"]
    notes = {event["file"]: event["count"] for event in found if event["type"] == "events_left_out"}
    assert notes["events.ndjson"] == found[-1]["n"] - (len(found) - 1)
    assert [event["type"] for event in sorted(found, key=lambda event: event["n"])[:2]] == ["started", "watch_hit"]
    assert len([event for event in found if event.get("watch") == "w2"]) == 1, "told once is told once"
    for name in ("events.ndjson", "notification_events.ndjson"):
        assert (root / job / name).stat().st_blocks * 512 < limits.EVENTS_BYTES + 65_536, name


def test_a_person_reads_a_table(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--watch", "hel", "echo hello")["job_id"]
    over(cli, job)
    text = cli.text("--human", "events", job).stdout
    assert text.splitlines()[0].split() == ["TIME", "SEQ", "EVENT", "ABOUT"]
    assert "w1 (hel) stdout: hello" in text
    assert re.search(r"usage \(user_ms \d+, system_ms \d+[,)]", text), "as everything else, and not as Python writes it"


def test_an_interrupt_ends_the_following_and_not_the_job(cli: Cli, jobs: Jobs) -> None:
    job = background(cli, "sleep 60")
    with cli.spawn("events", job, "--follow", env=environment(None)) as follower:
        assert follower.stdout
        follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        follower.communicate(timeout=60)
    assert follower.returncode == 130
    assert cli.ok("status", job)["state"] == "running"
    jobs.end()
