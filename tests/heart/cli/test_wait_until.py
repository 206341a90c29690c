"""wait --until: one wait over several conditions, level-triggered, with the truth about what came first."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.jobs.conditions import parse
from support import processes
from support.cli import Cli, Jobs
from support.commands import PUT, in_order, python
from support.jobs import background, wait
from support.wait import until

# --- regex -----------------------------------------------------------------------------------------------------------


def test_a_match_before_the_call_counts(cli: Cli, jobs: Jobs) -> None:
    job = background(cli, "echo Ready on port 80; echo more; exec sleep 60")
    cli.ok("wait", job, "--until", "regex=more")
    fired = wait(cli, job, {"regex": r"^Ready on port (\d+)"}, "exit")["fired"]
    assert (fired["condition"], fired["match"], fired["line"]) == ("regex", "Ready on port 80", "Ready on port 80")
    assert (fired["seq"], fired["stream"], fired["job_id"], fired["earlier"]) == (0, "stdout", job, True)
    jobs.end()


def test_a_match_is_looked_for_from_a_cursor_on(cli: Cli, work: Path) -> None:
    job = background(cli, "echo hit 1; until [ -e go ]; do sleep 0.1; done; echo hit 2; exec sleep 60")
    first = wait(cli, job, "regex=hit")
    timed_out = wait(cli, job, "regex=hit", since_seq=6, timeout_ms=100)
    assert (timed_out["timed_out"], timed_out["fired"], timed_out["state"]) == (True, None, "running")
    (work / "go").touch()
    again = wait(cli, job, "regex=hit", since_seq=6)
    assert (first["fired"]["line"], again["fired"]["line"], again["fired"]["seq"]) == ("hit 1", "hit 2", 6)
    assert "earlier" not in again["fired"]
    cli.ok("kill", job)


def test_lines_are_seen_across_pieces_and_without_their_newline(cli: Cli) -> None:
    pieces = ("lis", "ten", "ing on 8", "0\nlogin: ")
    job = background(cli, *python(f"{PUT}\nfor piece in {pieces!r}: put(1, piece.encode())\ntime.sleep(60)"))
    assert wait(cli, job, "regex=^listening on 80$")["fired"]["line"] == "listening on 80"
    assert wait(cli, job, "regex=login: $")["fired"]["match"] == "login: "
    cli.ok("kill", job)


def test_the_match_that_came_first_counts_whatever_stream_it_is_in(cli: Cli) -> None:
    pieces = in_order((1, "start\n"), (2, "bad\n"), (1, "good\n"), (1, "bad\n"))
    job = cli.ok("run", "--wait", *pieces)["job_id"]
    found = wait(cli, job, "regex=good", "fail_regex=bad")["fired"]
    assert (found["condition"], found["line"], found["stream"], found["seq"]) == ("fail_regex", "bad", "stderr", 6)
    later = wait(cli, job, "regex=good", "fail_regex=bad", since_seq=10)["fired"]
    assert (later["condition"], later["seq"]) == ("regex", 10)
    only = wait(cli, job, {"regex": "bad", "stream": "stdout"})["fired"]
    assert (only["stream"], only["seq"]) == ("stdout", 15)


def test_the_last_words_of_a_job_match(cli: Cli) -> None:
    job = background(cli, "sleep 0.2; printf 'the end'")
    assert wait(cli, job, "regex=end$")["fired"]["condition"] == "regex"


def test_a_large_log_is_searched_to_its_end(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "yes a line of output | head -c 30000000; echo; echo the needle")["job_id"]
    fired = wait(cli, job, "regex=^the n", "fail_regex=(x+)+y")["fired"]
    assert (fired["line"], fired["seq"]) == ("the needle", 30_000_001)


# --- idle -----------------------------------------------------------------------------------------------------------------


def test_silence(cli: Cli) -> None:
    for quiet_ms in (600, 2_400, 9_600):  # enough for a shell to start and to print
        job = background(cli, "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; exec sleep 60")
        fired = wait(cli, job, f"idle={quiet_ms}ms")["fired"]
        assert fired["condition"] == "idle_ms"
        assert fired["idle_ms"] >= quiet_ms
        printed = cli.ok("poll", job)["output"].split()
        cli.ok("kill", job)
        if len(printed) == 5:
            break
    assert printed == ["1", "2", "3", "4", "5"]


# --- several -------------------------------------------------------------------------------------------------------------


def test_all_of_several_jobs(cli: Cli, jobs: Jobs) -> None:
    one, two = (background(cli, f"sleep 0.{n}; echo ready {n}; exec sleep 60") for n in (1, 3))
    answer = cli.ok("wait", one, two, "--until", "regex=ready", "--mode", "all")
    assert [job["fired"]["line"] for job in answer["jobs"]] == ["ready 1", "ready 2"] or [
        job["fired"]["line"] for job in answer["jobs"]
    ] == ["ready 1", "ready 3"]
    jobs.end()


def test_waiting_for_all_ends_when_one_fails(cli: Cli, jobs: Jobs) -> None:
    good = background(cli, "echo ready; exec sleep 60")
    slow = background(cli, "exec sleep 60")
    bad = background(cli, "sleep 0.2; echo panic; exec sleep 60")
    answer = cli.ok("wait", good, slow, bad, "--until", "regex=ready", "--until", "fail_regex=panic", "--mode", "all")
    assert (answer["job_id"], answer["fired"]["condition"]) == (bad, "fail_regex")
    gone = background(cli, "sleep 0.2; exit 1")
    answer = cli.ok("wait", good, slow, gone, "--until", "regex=ready", "--mode", "all")
    assert (answer["job_id"], answer["fired"]["condition"], answer["exit_code"]) == (gone, "exit", 1)
    jobs.end()


def test_a_time_out_tells_what_there_is(cli: Cli) -> None:
    job = background(cli, "echo so far; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    answer = wait(cli, job, "regex=never", timeout_ms=100)
    assert (answer["timed_out"], answer["fired"], answer["output"]) == (True, None, "so far\n")
    empty = wait(cli, job, "regex=never", since_seq=7, timeout_ms=100)
    assert (empty["output"], empty["snippet"]) == ("", "so far\n")
    cli.ok("kill", job)


# --- bad input -----------------------------------------------------------------------------------------------------------


def test_bad_conditions_are_errors() -> None:
    rows = [
        "", "nothing", "prt=80", "port=0", "port=65536", "port=x y", "port", "regex=", "regex=(", "exit=3", "http=foo", "http=ftp://x/",
        '{"http":"http://x/","status":99}', '{"regex":"x","strem":"stdout"}', '{"regex":"x","stream":"in"}', "{}", "{",
        '{"regex":"x","port":80}', "idle_ms=0", "idle_ms=-1", "idle_ms=soon", "file=", '{"port":"80","host":""}', '{"regex":3}',
        '{"port":80,"any":"yes"}', '{"port":80.5}',
    ]  # fmt: skip
    for conditions in (*([row] for row in rows), [f"regex=x{n}" for n in range(17)]):
        with pytest.raises(OutliveError) as refused:
            parse.parsed(conditions)
        assert (refused.value.code, (refused.value.details or {}).get("field")) == ("invalid_argument", "until")
    whole, usual = parse.parsed(['{"port": 80.0}', "port=80"])
    assert vars(whole) == vars(usual) and type(whole.value) is int, "a number that is whole is one"
    assert len(parse.parsed([f"regex=x{n}" for n in range(16)])) == 16


def test_a_wrong_condition_is_told_the_right_one() -> None:
    rows = {
        '{"pattern":"x"}': 'Did you mean {"regex": "listening"}?',
        '{"type":"regex","pattern":"x"}': 'Did you mean {"regex": "listening"}?',
        "text=x": "Did you mean regex=listening?",
        '{"url":"http://127.0.0.1/"}': 'Did you mean {"http": "http://127.0.0.1:8080/health"}?',
        "finished": "Did you mean exit?",
        "prt=80": "Did you mean port=8080?",
        '{"regex":"x","port":80}': "Give several conditions as several objects.",
    }
    for condition, hint in rows.items():
        with pytest.raises(OutliveError) as refused:
            parse.parsed([condition])
        assert refused.value.hint == hint


def test_an_unknown_condition_is_told_those_there_are(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    unnamed = cli.error("wait", job, "--until", "port=x", code="invalid_argument")
    assert unnamed["details"]["field"] == "--until", "a job has ports of its own by name, and this one has none"
    unknown = cli.error("wait", job, "--until", "when=x", code="invalid_argument")
    assert "regex=…" in unknown["hint"]
    assert "port=HOST:PORT" in unknown["hint"] and "idle_ms" not in unknown["hint"], "as it is typed"


def test_every_condition_that_the_help_shows_is_one(cli: Cli) -> None:
    wrapped = cli.text("wait", "--help").stdout.partition("for example: ")[2].partition("Arguments:")[0]
    words = shlex.split(" ".join(wrapped.split()))
    shown = [word.rstrip(",;.") for word in words if "=" in word or word.startswith("{")]
    assert len(shown) == 8
    assert len(parse.parsed(shown)) == 8


@pytest.mark.parametrize("condition", [(), ("--until", "regex=never")])
def test_a_job_that_is_removed_meanwhile(cli: Cli, condition: tuple[str, ...]) -> None:
    cli.error("wait", "01ARZ3NDEKTSV4RRFFQ69G5FAV", *condition, code="job_not_found")
    job = background(cli, "echo up; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    with cli.spawn("wait", job, *condition) as waiter:
        until(lambda: "socket:" in "".join(processes.open_files(waiter.pid).values()), what="the waiter is connected")
        cli.ok("remove", job)
        out, _ = waiter.communicate(timeout=60)
    answer = json.loads(out)
    ended = answer.get("fired", {}).get("condition") == "exit"  # it saw the kill before the removal
    assert ended or answer["error"]["code"] == "job_not_found"
