"""What the page asks, and what it is answered."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import socket
import threading
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from outlive.jobs import definition
from outlive.mcp.caller import Caller
from outlive.parts.page import keyboards
from outlive.parts.page.views.rows import LOST, ROW_BYTES
from support import http, pair
from support.calls import calls_of
from support.cli import Cli
from support.commands import WORKS, in_order
from support.ui import Browser, Ui
from support.wait import until


def texts(found: dict[str, Any]) -> list[str]:
    return ["".join(map(str, row[2][1::2])) for row in found["rows"]]


def finished(cli: Cli, command: str, *words: str) -> str:
    job: str = cli.ok("run", "--wait", *words, "--", "sh", "-c", command)["job_id"]
    return job


# --- the list --------------------------------------------------------------------------------------------------------


def test_the_list_is_told_once_and_then_what_changed(browser: Browser, cli: Cli) -> None:
    first = finished(cli, "echo one; exit 3", "--title", "first", "--tag", "a.b")
    found = browser.call("jobs")
    (entry,) = found["jobs"]
    assert (entry["job_id"], entry["exit_code"], entry["name"], entry["tags"]) == (first, 3, "first", ["a.b"])
    assert entry["last_line"] == "one" and not found["more"]
    again = browser.call("jobs", after=found["next"], list=found["list"])
    assert again["jobs"] == [] and again["next"] == found["next"]
    second = finished(cli, "echo two")
    third = browser.call("jobs", after=found["next"], list=found["list"])
    assert [job["job_id"] for job in third["jobs"]] == [second]


def test_older_jobs_are_told_when_they_are_asked_for(browser: Browser, cli: Cli) -> None:
    jobs = [finished(cli, "true") for _ in range(3)]
    found = browser.call("jobs")
    assert [one["job_id"] for one in found["jobs"]] == jobs[::-1]
    assert (found["oldest"], found["left"], found["total"]) == (jobs[0], 0, 3)
    older = browser.call("jobs", list=found["list"], before=jobs[2])
    assert [one["job_id"] for one in older["jobs"]] == [jobs[1], jobs[0]]
    assert (older["oldest"], older["left"]) == (jobs[0], 0)
    assert browser.call("jobs", list=found["list"], before=jobs[0])["jobs"] == []


def test_a_page_that_waits_is_told_of_a_new_job(browser: Browser, cli: Cli) -> None:
    found = browser.call("jobs")
    answers: list[dict[str, Any]] = []
    waiting = threading.Thread(
        target=lambda: answers.append(browser.call("jobs", after=found["next"], list=found["list"], wait_ms=20_000))
    )
    waiting.start()
    job = finished(cli, "true")
    waiting.join()
    assert [one["job_id"] for one in answers[0]["jobs"]] == [job]


def test_a_running_job_is_told_again_when_it_prints_and_when_it_ends(browser: Browser, cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "--", "sh", "-c", "echo one; read x; echo $x")[
        "job_id"
    ]
    seen: dict[str, Any] = {"next": 0, "list": ""}
    entry: dict[str, Any] = {}

    def told(line: str, state: str) -> bool:
        seen.update(browser.call("jobs", after=seen["next"], list=seen["list"]))
        entry.update(next((one for one in seen["jobs"] if one["job_id"] == job), {}))
        return (entry.get("last_line"), entry.get("state")) == (line, state)

    until(lambda: told("one", "running"))
    browser.run("write", job_id=job, data="two\n", wait_ms=0)
    until(lambda: told("two", "exited"))


def test_a_removed_job_is_told(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "true")
    found = browser.call("jobs")
    cli.ok("remove", job)
    gone = browser.call("jobs", after=found["next"], list=found["list"])
    assert gone["removed"] == [job] and gone["total"] == 0


def test_a_page_that_knows_the_list_of_an_ended_server_is_told_everything(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "true")
    found = browser.call("jobs", after=999, list="01J00000000000000000000000")
    assert [one["job_id"] for one in found["jobs"]] == [job]


def test_the_runs_of_a_command_are_told_with_their_times(browser: Browser, cli: Cli, work: Path) -> None:
    jobs = [finished(cli, "cat code; exit `cat code`")]  # fails: there is no such file
    for code in (0, 3):
        (work / "code").write_text(str(code))
        jobs.append(finished(cli, "cat code; exit `cat code`"))
    finished(cli, "true")  # another command
    found = browser.call("runs", job_id=jobs[0])["runs"]
    assert [one["job_id"] for one in found] == jobs
    assert [one["exit_code"] for one in found][1:] == [0, 3]
    assert all(one["started_at"] <= one["finished_at"] for one in found)


def test_a_page_that_looks_is_told_what_running_jobs_use(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", f"echo begun; {WORKS}")["job_id"]
    over = finished(cli, "true")

    def look() -> dict[str, Any]:
        return browser.call("samples", jobs=[job, over, "01J00000000000000000000000"])

    first = until(lambda: (now := look()["samples"]).get(job, {"end": 0})["end"] and now)
    assert list(first) == [job], "neither a job that has ended nor one that is not there"
    assert first[job]["memory"] > 0 and first[job]["end"] == len("begun\n")
    until(lambda: look()["samples"][job]["cpu"] > first[job]["cpu"], what="more processor time")
    assert browser.refused("samples", jobs=[job] * 51)[1]["code"] == "invalid_argument"
    assert browser.refused("samples", jobs=[1])[1]["code"] == "invalid_argument"


@pytest.mark.parametrize("walls", [(), ("--sandbox", "read-only")], ids=["open", "in a sandbox"])
def test_what_a_job_used_is_kept_though_no_page_was_open(
    browser: Browser, cli: Cli, root: Path, walls: tuple[str, ...]
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", *walls, "--", "sh", "-c", f"echo begun; {WORKS}")["job_id"]
    file = root / job / "usage.ndjson"
    until(lambda: file.exists() and file.stat().st_size, what="a sample")
    os.kill(pair.supervisor(job), signal.SIGKILL)
    with file.open("ab") as damaged:  # as a full disk leaves it, and what is no sample
        damaged.write(b'[1,2\n{"a":1}\n[1,2,3]\n')
    until(lambda: len(browser.call("usage", job_id=job)["samples"]) > 2, what="a sample of the next supervisor")
    cli.ok("kill", job)
    first, *taken, last = browser.call("usage", job_id=job)["samples"]
    assert (first["cpu"], first["memory"], first["end"]) == (0, 0, 0)
    assert taken[0]["at"] - first["at"] >= 2000
    for before, after in pairwise([first, *taken, last]):
        assert before["at"] < after["at"] and before["cpu"] < after["cpu"]
        assert after["memory"] > 0 and after["end"] == len("begun\n")
    assert browser.call("usage", job_id=finished(cli, "true"))["samples"] == [], "it ended soon"


# --- rows ------------------------------------------------------------------------------------------------------------


def test_rows_have_numbers_positions_and_streams(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--wait", *in_order((1, "one\n"), (2, "two\n"), (1, "th"), (2, "ree")))["job_id"]
    found = until(lambda: (now := browser.call("rows", job_id=job))["over"] and now)
    assert found["rows"] == [[1, 0, [0, "one"]], [2, 4, [1, "two"]], [3, 8, [0, "th", 1, "ree"]]]
    assert (found["first_row"], found["total_rows"], found["end"], found["over"]) == (0, 3, 13, True)


@pytest.mark.parametrize(
    ("given", "first", "numbers"),
    [
        ({"row": 10, "count": 3}, 10, [11, 12, 13]),
        ({"count": 3}, 997, [998, 999, 1000]),
        ({"row": 998, "count": 50}, 998, [999, 1000]),
        ({"row": 5_000, "count": 50}, 1000, []),
        ({"line": 500, "count": 4}, 498, [499, 500, 501, 502]),
    ],
)
def test_any_rows_can_be_asked_for(
    browser: Browser, cli: Cli, given: dict[str, int], first: int, numbers: list[int]
) -> None:
    job = finished(cli, "seq 1 1000")
    found = browser.call("rows", job_id=job, **given)
    assert found["first_row"] == first
    assert [row[0] for row in found["rows"]] == numbers
    assert texts(found) == [str(number) for number in numbers]


def test_a_position_leads_to_its_row(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "seq 1 1000")
    for row in browser.call("rows", job_id=job, row=700, count=3)["rows"]:
        for seq in (row[1], row[1] + 2):
            found = browser.call("rows", job_id=job, seq=seq)
            assert found["rows"][found["row"] - found["first_row"]] == row


def test_the_rows_of_large_output_are_those_of_log(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "seq 1 700000")
    # An answer waits for lines to be counted for a moment only
    end = until(lambda: (now := browser.call("rows", job_id=job))["total_rows"] == 700_000 and now)
    assert texts(end)[-1] == "700000"
    for row in (0, 149_999, 345_678):
        found = browser.call("rows", job_id=job, row=row, count=3)
        assert texts(found) == [str(row + 1 + more) for more in range(3)]
        assert browser.run("log", job_id=job, offset=row, limit=1)["since_seq"] == found["rows"][0][1]


def test_the_rows_of_utf_16_with_its_mark_are_those_of_its_text(browser: Browser, cli: Cli) -> None:
    lines = [f"上 {number}" for number in range(1, 1001)]
    Path("data").write_bytes("\ufeff{}\n".format("\n".join(lines)).encode("utf-16-le"))
    job = finished(cli, "printf 'caf\\303\\251\\n' >&2; cat data")
    found = browser.call("rows", job_id=job, row=499, count=3)
    assert found["total_rows"] == 1001
    shown = browser.run("log", job_id=job, offset=499, limit=3)
    assert texts(found) == shown["output"].splitlines()
    assert found["rows"][0][1] == shown["since_seq"]
    whole = texts(browser.call("rows", job_id=job, row=0, count=1001))
    assert sorted(whole) == sorted(["café", *lines])


def test_the_gap_is_one_row_at_its_place(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "seq 1 100000", "--quota-bytes", "65536")
    until(lambda: browser.call("rows", job_id=job)["over"])
    found = browser.call("rows", job_id=job)
    (gap,) = found["gaps"]
    rows = found["total_rows"]
    before = browser.run("log", job_id=job, since_seq=0, max_bytes=200_000)["output"].count("\n")
    assert rows < 100_000 == found["total_lines"] and before
    place = browser.call("rows", job_id=job, seq=gap["from_seq"])
    around = place["rows"][place["row"] - place["first_row"] - 1 :][:4]
    assert around[1] == {"gap": gap}
    last, behind = around[0], around[2]
    assert last[1] < gap["from_seq"] <= gap["to_seq"] <= behind[1]
    assert behind[0] - last[0] >= gap["lines"]
    assert texts({"rows": [around[3]]}) == [str(around[3][0])], "numbers behind the gap are those of the lines"


def test_bytes_that_were_cut_out_of_a_log_are_told_at_their_place(browser: Browser, cli: Cli, root: Path) -> None:
    job = cli.ok(
        "run", "--snapshot-after", "0", "--stdin", "open", "--", "sh", "-c", "echo one; read x; echo two; read x"
    )["job_id"]
    until(lambda: browser.call("rows", job_id=job)["end"] == 4)
    (root / job / "stdout.log").write_bytes(b"")
    browser.run("write", job_id=job, data="x\n", wait_ms=0)
    found = until(lambda: (now := browser.call("rows", job_id=job))["end"] == 8 and now)
    runs = [run for row in found["rows"] for run in zip(row[2][::2], row[2][1::2], strict=True)]
    assert (LOST, 4) in runs and (0, "two") in runs
    assert found["missing_bytes"] == 4


def test_a_long_line_is_clipped_and_its_length_told(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "echo before; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after")
    found = until(lambda: (now := browser.call("rows", job_id=job))["total_rows"] == 3 and now)
    assert [row[0] for row in found["rows"]] == [1, 2, 3]
    assert found["rows"][1][3] == 3_000_001
    assert texts(found) == ["before", "x" * ROW_BYTES, "after"]


def test_of_a_long_progress_bar_the_end_is_told(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "for i in $(seq 1 20000); do printf '\\r%05d %%' $i; done; echo")
    shown = texts(browser.call("rows", job_id=job))[0]
    assert shown.endswith("20000 %") and len(shown) <= ROW_BYTES


def test_what_is_no_text_is_shown_as_what_it_is(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "printf '\\377\\000a\\342\\202\\254\\n'")
    assert texts(browser.call("rows", job_id=job)) == ["\ufffd\0a€"]


def test_a_page_that_waits_is_told_of_output_and_of_the_end(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "--", "sh", "-c", "read x; echo $x; read x")[
        "job_id"
    ]
    known = browser.call("rows", job_id=job)
    answers: list[dict[str, Any]] = []

    def wait() -> None:
        told = {name: known[name] for name in ("end", "state", "events")}
        answers.append(browser.call("rows", job_id=job, known=told, wait_ms=20_000))

    waiting = threading.Thread(target=wait)
    waiting.start()
    browser.run("write", job_id=job, data="hello\n", eof=True, wait_ms=0)
    waiting.join()
    assert texts(until(lambda: (now := browser.call("rows", job_id=job))["over"] and now)) == ["hello"]
    assert answers[0]["end"] or answers[0]["state"] == "exited" or answers[0]["events"] != known["events"]


def test_a_wait_ends_in_time_when_nothing_happens(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "60")["job_id"]
    known = browser.call("rows", job_id=job)
    again = browser.call(
        "rows", job_id=job, known={name: known[name] for name in ("end", "state", "events")}, wait_ms=300
    )
    assert again["end"] == known["end"]


@pytest.mark.parametrize("given", [
    {}, {"job_id": 1}, {"job_id": "x", "row": -1}, {"job_id": "x", "row": "1"}, {"job_id": "x", "count": True},
    {"job_id": "x", "what": 1}, {"job_id": "x", "known": []}, {"job_id": "x", "row": 2**70},
])  # fmt: skip
def test_arguments_are_checked(browser: Browser, given: dict[str, Any]) -> None:
    status, error = browser.refused("rows", **given)
    assert (status, error["code"]) == (400, "invalid_argument")


@pytest.mark.parametrize("method", ["rows", "terminal", "ticket"])
def test_a_job_that_is_not_there_is_not_found(browser: Browser, method: str) -> None:
    status, error = browser.refused(method, job_id="01J00000000000000000000000")
    assert (status, error["code"]) == (404, "job_not_found")


def test_a_name_of_several_jobs_is_the_same_error_of_each_method(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "true")
    finished(cli, "true")
    for method in ("rows", "ticket"):
        status, error = browser.refused(method, job_id=job[:6])
        assert (status, error["code"]) == (409, "ambiguous_job_id")


# --- verbs -----------------------------------------------------------------------------------------------------------


def test_process_answers_as_the_command_line_does(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "seq 1 20")
    asked: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("log", job, "--offset", "5", "--limit", "2"), {"action": "log", "offset": 5, "limit": 2}),
        (("log", job, "--search", "^1"), {"action": "log", "search": "^1"}),
        (("tail", job), {"action": "tail"}),
        (("events", job), {"action": "events", "limit": 200}),
    ]
    for words, given in asked:
        assert browser.call("process", job_id=job, **given) == cli.ok(*words)


def test_an_unknown_action_and_an_unknown_method_are_errors(browser: Browser) -> None:
    assert browser.refused("process", action="dance")[0] == 400
    status, error = browser.refused("dance")
    assert status == 400 and "rows" in error["hint"]


def test_a_job_is_ended_restarted_and_tagged(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "600")["job_id"]
    browser.run("kill", job_id=job, grace_ms=1000)
    until(lambda: cli.ok("status", job)["state"] == "killed")
    browser.run("tag_set", job_id=job, tags=["x.y"])
    assert cli.ok("status", job)["tags"] == ["x.y"]
    again = browser.run("restart", job_id=job, background=True)["job_id"]
    assert cli.ok("status", again)["restarted_from"] == job
    assert cli.ok("status", again)["owner"] == "cli"


def test_a_person_at_the_page_approves_and_denies(browser: Browser, cli: Cli, place: Path) -> None:
    config = place / "home" / ".config" / "outlive"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[policy]\ndefault = "ask"\n')
    asked = [cli.ok("run", "--snapshot-after", "0", "--", "echo", word)["job_id"] for word in ("yes", "no")]
    (config / "config.toml").unlink()  # it is the home of other tests too
    yes = browser.call("approve", job_id=asked[0])
    assert yes["approval"]["state"] == "approved" and yes["approval"]["by"].endswith("(outlive ui)")
    no = browser.call("deny", job_id=asked[1], reason="not today")
    assert no["approval"]["state"] == "denied" and "not today" in no["message"]
    until(lambda: cli.ok("status", asked[0])["state"] == "exited")
    assert cli.ok("status", asked[1])["reason"] == "denied"


def test_a_job_that_makes_a_link_for_itself_approves_nothing(ui: Ui, cli: Cli) -> None:
    """`outlive approve` is denied in a job; a link to the server of a person must be no way around it."""
    link = cli.ok("ui", "--no-open", env={"OUTLIVE_JOB_ID": "01J00000000000000000000000"})["url"]
    with Browser(ui, link) as browser:
        assert browser.call("jobs")["ok"]
        for method in ("approve", "deny"):
            status, error = browser.refused(method, job_id="01J00000000000000000000000")
            assert (status, error["code"]) == (403, "denied")


# --- terminal and download -------------------------------------------------------------------------------------------


def test_a_terminal_is_its_screen_and_then_what_comes(browser: Browser, cli: Cli) -> None:
    job = cli.ok(
        "run", "--pty", "--snapshot-after", "0", "--", "sh", "-c", "printf '\\033[31mred\\033[0m'; read x; echo got $x"
    )["job_id"]
    first = until(lambda: (now := browser.call("terminal", job_id=job))["next_seq"] and now)
    screen = base64.b64decode(first["data"])
    assert first["reset"] and b"red" in screen and first["size"] == [120, 30]
    browser.run("write", job_id=job, data="it\r", wait_ms=0)
    seq, data = first["next_seq"], b""
    while b"got it" not in data:
        more = browser.call("terminal", job_id=job, seq=seq, size=[120, 30], wait_ms=20_000)
        assert not more["reset"]
        seq, data = more["next_seq"], data + base64.b64decode(more["data"])
        assert not more["over"] or b"got it" in data


def test_a_tab_that_holds_the_keyboard_is_seen_by_all_and_types(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    status, error = browser.refused("type", job_id=job, tab="one", data="too early\n")
    assert (status, error["code"]) == (409, "invalid_state")
    assert browser.call("keyboard", job_id=job, tab="one", take=True, size=[100, 40])["mine"]
    told = cli.ok("screen", job)
    assert told["keyboard"]["held_by"].endswith("(outlive ui)")
    assert (told["cols"], told["rows"]) == (100, 40), "the terminal has the size of the window"
    browser.call("type", job_id=job, tab="one", data="hello\n")
    until(lambda: "hello" in cli.ok("screen", job)["lines"])
    seen = browser.call("terminal", job_id=job, tab="one")
    assert seen["mine"] and seen["keyboard"] == told["keyboard"]
    assert not browser.call("terminal", job_id=job, tab="two")["mine"]
    browser.call("keyboard", job_id=job, tab="one", take=False)
    assert "keyboard" not in cli.ok("screen", job)
    until(lambda: cli.ok("screen", job)["cols"] == 120)


def test_a_tab_takes_the_keyboard_from_another_only_on_purpose(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    assert browser.call("keyboard", job_id=job, tab="one", take=True, size=[100, 40])["mine"]
    seen = browser.call("terminal", job_id=job, tab="one")
    assert not browser.call("keyboard", job_id=job, tab="two", take=True, size=[90, 20])["mine"]
    answers: list[dict[str, Any]] = []
    known = {"seq": seen["next_seq"], "keyboard": seen["keyboard"]["since"], "tab": "one", "wait_ms": 20_000}
    waiting = threading.Thread(target=lambda: answers.append(browser.call("terminal", job_id=job, **known)))
    waiting.start()
    assert browser.call("keyboard", job_id=job, tab="two", take=True, force=True, size=[90, 20])["mine"]
    waiting.join()
    assert not answers[0]["mine"], "the other tab is told"
    assert browser.refused("type", job_id=job, tab="one", data="x")[1]["code"] == "invalid_state"
    browser.call("keyboard", job_id=job, tab="one", take=False)  # of what it does not hold
    assert cli.ok("screen", job)["keyboard"]
    browser.call("keyboard", job_id=job, tab="two", take=False)
    until(lambda: cli.ok("screen", job)["cols"] == 120, what="the size before the first of them")


def test_the_user_types_into_every_job_whatever_the_sandbox_of_the_configuration(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "outlive.toml"
    settings.write_text('[sandbox]\nmode = "read-only"\n')
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    env = {"OUTLIVE_ROOT": str(root), "HOME": str(tmp_path), "OUTLIVE_CONFIG": str(settings)}
    with Ui(tmp_path / "ui.log", env=env) as ui, Browser(ui) as browser:
        assert browser.call("keyboard", job_id=job, tab="one", take=True, size=[80, 24])["mine"]
        assert browser.call("type", job_id=job, tab="one", data="x")["bytes_written"] == 1
    cli.ok("kill", job)


def test_who_takes_a_keyboard_at_the_page_is_in_the_audit_record(cli: Cli, root: Path, tmp_path: Path) -> None:
    on = {"OUTLIVE_AUDIT_TO": "file", "XDG_STATE_HOME": str(tmp_path / "state")}
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    env = {**on, "OUTLIVE_ROOT": str(root), "HOME": str(tmp_path)}
    with Ui(tmp_path / "ui.log", env=env) as ui, Browser(ui) as browser:
        assert browser.call("keyboard", job_id=job, tab="one", take=True, size=[80, 24])["mine"]
        browser.call("type", job_id=job, tab="one", data="x")
    acts = [(one["verb"], one["job_id"]) for one in reversed(cli.ok("audit", env=on)["entries"])]
    assert acts == [("attach", job), ("write", job)]
    cli.ok("kill", job)


def test_a_tab_that_takes_the_keyboard_twice_at_once_holds_it_once(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    both = threading.Barrier(2)
    monkeypatch.setattr(definition, "require_input", lambda *_: both.wait(20))
    me = Caller("me", "ui", "ui", program="ui")

    async def twice() -> None:
        held = keyboards.Keyboards(calls)
        take = partial(held.take, me, job, "one", [90, 20], force=True)
        assert all(await asyncio.gather(take(), take()))
        assert held.holds(me, job, "one") and cli.ok("status", job)["keyboard"]
        await held.release(me, job, "one")

    with closing(calls_of(root)) as calls:
        asyncio.run(twice())
        assert "keyboard" not in cli.ok("status", job)
    cli.ok("kill", job)


def test_a_tab_that_is_gone_lets_go_of_the_keyboard(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    assert browser.call("keyboard", job_id=job, tab="one", take=True, size=[100, 40])["mine"]
    until(lambda: "keyboard" not in cli.ok("status", job), timeout=60)
    assert cli.ok("screen", job)["cols"] == 120


def test_a_page_that_is_closed_while_it_takes_the_keyboard_lets_go_of_it(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    supervisor = pair.supervisor(job)
    address = urlsplit(browser.base)
    assert browser.keys is not None
    call = browser.keys.seal("keyboard", {"job_id": job, "tab": "one", "take": True, "size": [100, 40]})
    lines = [f"{name}: {value}" for name, value in {"Host": address.netloc, **call.headers}.items()]
    head = "\r\n".join(["POST /api/call HTTP/1.1", *lines, f"Content-Length: {len(call.body)}", "", ""])
    os.kill(supervisor, signal.SIGSTOP)  # so that the terminal gets no new size yet
    try:
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(head.encode() + call.body)
            until(lambda: "keyboard" in cli.ok("status", job), what="the keyboard of the page")
    finally:
        os.kill(supervisor, signal.SIGCONT)
    until(lambda: "keyboard" not in cli.ok("status", job), timeout=60, what="the end of its lease")


def test_a_job_without_a_terminal_has_none_to_show(browser: Browser, cli: Cli) -> None:
    status, error = browser.refused("terminal", job_id=finished(cli, "true"))
    assert (status, error["code"]) == (409, "not_a_pty")


def test_a_download_is_the_whole_output_good_once_and_no_page(browser: Browser, cli: Cli) -> None:
    job = finished(cli, "seq 1 100000; echo '<script>' >&2")
    ticket = browser.call("ticket", job_id=job)["ticket"]
    answer = browser.get(f"/download/{ticket}")
    assert answer.text.startswith("1\n2\n") and "<script>" in answer.text and len(answer.content) == 588_895 + 9
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert browser.get(f"/download/{ticket}").status_code == 404
    errors = browser.call("ticket", job_id=job, stream="stderr")["ticket"]
    assert browser.get(f"/download/{errors}").text == "<script>\n"


def test_a_download_ends_with_the_session_that_asked(ui: Ui, cli: Cli) -> None:
    with Browser(ui, ui.new_link()) as other:
        ticket = other.call("ticket", job_id=finished(cli, "echo secret"))["ticket"]
        other.call("logout")
        assert other.get(f"/download/{ticket}").status_code == 404


# --- cost ------------------------------------------------------------------------------------------------------------


def test_a_call_whose_page_is_gone_ends(browser: Browser, ui: Ui, cli: Cli) -> None:
    """More of them than are allowed at a time: each would be open for 20 s."""
    job = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "60")["job_id"]
    known = {name: browser.call("rows", job_id=job)[name] for name in ("end", "state", "events")}
    assert browser.keys is not None
    for _ in range(70):
        call = browser.keys.seal("rows", {"job_id": job, "known": known, "wait_ms": 20_000})
        with http.client(timeout=0.02) as client, pytest.raises(httpx2.TimeoutException):
            client.post(f"{ui.base}/api/call", content=call.body, headers=call.headers)
    until(lambda: browser.post("jobs").status_code == 200)


def test_large_answers_and_files_are_packed_for_who_asks(browser: Browser, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "seq 1 20000")["job_id"]
    assert browser.keys is not None
    sizes = []
    for more in ({}, {"gzip": True}):
        asked = {"method": "rows", "given": {"job_id": job, "count": 2000}, **more}
        call = browser.keys.seal("rows", json.dumps(asked).encode())
        answer = browser.send(call)
        assert browser.keys.opened(call, answer.content)["total_rows"] == 20_000
        sizes.append(len(answer.content))
    assert sizes[1] * 3 < sizes[0]
    plain, packed = (browser.get("/static/job.js", accept_encoding=way) for way in ("identity", "gzip"))
    assert (plain.headers.get("content-encoding"), packed.headers["content-encoding"]) == (None, "gzip")
    assert plain.text == packed.text
    assert int(packed.headers["content-length"]) * 2 < int(plain.headers["content-length"])
