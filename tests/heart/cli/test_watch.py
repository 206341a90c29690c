"""Watches: lines that a caller wants to be told of, at start or later, bounded, and never missed."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from support import pair
from support.cli import Cli, Jobs
from support.commands import PUT, in_order, python
from support.jobs import background, recorded
from support.wait import until


def hits(cli: Cli, job: str, kind: str = "watch_hit") -> list[dict[str, Any]]:
    found = cli.ok("events", job, "--limit", "0")["events"]
    return [event for event in found if event["type"] == kind]


def over(cli: Cli, job: str) -> None:
    cli.ok("wait", job)
    pair.until_free(cli.root, job)


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def told_whole(path: Path) -> list[dict[str, Any]]:
    """The events of a file whose writer was killed: it may have been in the middle of a line, which comes once more."""
    found = []
    cut = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            cut += 1
    assert cut <= 1
    return found


def told_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


# --- hits ------------------------------------------------------------------------------------------------------------


def test_each_line_that_matches_is_an_event_with_its_place(cli: Cli) -> None:
    script = "echo one ERROR; echo two; echo three ERR >&2; printf 'last ERROR'"
    job = cli.ok("run", "--wait", "--watch", "ERR(OR)?", script)["job_id"]
    over(cli, job)
    found = hits(cli, job)
    merged = cli.ok("log", job, "--since-seq", "0", "--raw")["output"]
    assert sorted(event["line"] for event in found) == ["last ERROR", "one ERROR", "three ERR"]
    for event in found:
        assert merged[event["seq"] :].startswith(event["line"])
        assert (event["watch"], event["pattern"], event["match_type"]) == ("w1", "ERR(OR)?", "regex")
        assert event["stream"] == ("stderr" if "three" in event["line"] else "stdout")


def test_a_line_that_comes_in_pieces_is_one_line(cli: Cli) -> None:
    pieces = in_order(*((1, piece) for piece in ("ER", "RO", "R 1", "\n", "ERROR 2\nERR")))
    job = cli.ok("run", "--wait", "--watch", "^ERROR", *pieces)["job_id"]
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["ERROR 1", "ERROR 2"]


def test_a_prompt_without_newline_is_told_once(cli: Cli, work: Path) -> None:
    job = background(cli, "--watch", "continue", "printf 'continue? '; until [ -e go ]; do sleep 0.1; done; echo yes")
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the prompt")
    (work / "go").touch()
    over(cli, job)
    assert [(event["line"].strip(), event["seq"]) for event in hits(cli, job)] == [("continue?", 0)]


def test_a_progress_line_that_never_rests_is_told_of_while_it_goes_on(cli: Cli, work: Path) -> None:
    script = "printf '\\rERROR 1'; until [ -e go ]; do printf '\\rstep'; sleep 0.05; done; printf '\\r\\nERROR 2\\r\\n'"
    job = background(cli, "--watch", "ERROR", "--watch", "^$", script)
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the hit in a line that goes on")
    (work / "go").touch()
    over(cli, job)
    merged = cli.ok("log", job, "--since-seq", "0", "--raw")["output"]
    found = [event for event in hits(cli, job) if event["pattern"] == "ERROR"]
    assert [event["line"] for event in found] == ["ERROR 1", "ERROR 2"]
    assert all(merged[event["seq"] :].startswith(event["line"]) for event in found)


def test_a_prompt_that_is_told_once_costs_the_job_no_supervisor(cli: Cli, work: Path) -> None:
    job = background(
        cli, "--watch-once", "--watch", "continue", "printf 'continue? '; until [ -e go ]; do sleep 0.1; done"
    )
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the prompt")
    (work / "go").touch()
    over(cli, job)
    assert [event["type"] for event in cli.ok("events", job)["events"] if event["type"] != "started"] == [
        "watch_hit",
        "finished",
    ]


def test_a_watch_that_is_done_ends_no_other(cli: Cli, work: Path) -> None:
    watches = ({"pattern": "ready", "once": True}, {"pattern": "later", "stream": "stdout"})
    flags = [word for watch in watches for word in ("--watch", json.dumps(watch))]
    job = background(cli, *flags, "echo before >&2; echo ready; until [ -e go ]; do sleep 0.1; done; echo later")
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the first hit")
    (work / "go").touch()
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["ready", "later"]
    assert not hits(cli, job, "watch_failed")


def test_streams_kinds_and_once(cli: Cli) -> None:
    watches = (
        {"pattern": "a.c", "match_type": "contains"},
        {"pattern": "abc", "stream": "stderr"},
        {"pattern": "abc", "once": True},
    )
    flags = [word for watch in watches for word in ("--watch", json.dumps(watch))]
    pieces = in_order((1, "abc\nabc\n"), (1, "a.c\n"), (2, "abc\n"))
    job = cli.ok("run", "--wait", *flags, *pieces)["job_id"]
    over(cli, job)
    found: dict[str, list[tuple[str, str]]] = {event["watch"]: [] for event in hits(cli, job)}
    for event in hits(cli, job):
        found[event["watch"]].append((event["line"], event["stream"]))
    assert found == {"w1": [("a.c", "stdout")], "w2": [("abc", "stderr")], "w3": [("abc", "stdout")]}


def test_flags_say_it_for_all_patterns(cli: Cli, work: Path) -> None:
    flags = ("--watch", "x.", "--watch", "y", "--watch-match-type", "contains", "--watch-stream", "stdout")
    job = cli.ok("run", "--wait", *flags, "--watch-once", "--watch-file", "hits", "echo x.; echo xy; echo y >&2")[
        "job_id"
    ]
    over(cli, job)
    assert [(event["watch"], event["line"]) for event in hits(cli, job)] == [("w1", "x."), ("w2", "xy")]
    assert [(event["watch"], event["line"]) for event in told(work / "hits")] == [("w1", "x."), ("w2", "xy")]


def test_colours_and_terminals_do_not_hide_a_line(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--pty", "--watch", "^Ready in .*s$", r"printf '\033[32mReady\033[0m in 3 s\n'")[
        "job_id"
    ]
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["Ready in 3 s"]


# --- sinks -----------------------------------------------------------------------------------------------------------


def test_a_hit_goes_to_the_command_and_the_file_and_is_recorded(cli: Cli, root: Path, work: Path) -> None:
    sink = 'cat > stdin; tail -n 1 "$OUTLIVE_EVENT_PATH" > file; echo "$OUTLIVE_EVENT_TYPE $OUTLIVE_JOB_ID" > names'
    watch = json.dumps({"pattern": "ready", "command": sink, "file": "hits"})
    job = cli.ok("run", "--wait", "--watch", watch, "echo it; echo is ready; echo and more")["job_id"]
    over(cli, job)
    event = json.loads((work / "stdin").read_text())
    assert (event["event_type"], event["job_id"], event["line"]) == ("job.output.matched", job, "is ready")
    assert {"schema_version", "pattern", "match_type", "stream", "stdout_log_path", "stderr_log_path"} <= event.keys()
    assert event["snippet"] == "it\nis ready"
    assert told(work / "hits") == [event]
    assert (work / "names").read_text().split() == ["job.output.matched", job]
    at_delivery = json.loads((work / "file").read_text())
    assert event.items() <= at_delivery.items()
    assert not at_delivery["delivered"]
    (record,) = told(root / job / "notification_events.ndjson")
    assert record["delivered"]
    assert [(one["sink_type"], one["success"]) for one in record["delivery_results"]] == [
        ("file", True),
        ("command", True),
    ]
    assert [one["sink_type"] for one in hits(cli, job, "notification_delivered")] == ["file", "command"]


def test_a_sink_that_fails_is_recorded_and_harms_nothing(cli: Cli, root: Path) -> None:
    watch = json.dumps({"pattern": "ready", "command": "exit 5", "file": "/proc/nowhere/hits"})
    job = cli.ok("run", "--wait", "--watch", watch, "echo ready; exit 3")
    over(cli, job["job_id"])
    assert job["exit_code"] == 3
    failed = hits(cli, job["job_id"], "notification_failed")
    assert [one["sink_type"] for one in failed] == ["file", "command"]
    assert failed[1]["error"] == "exited with code 5"
    (record,) = told(root / job["job_id"] / "notification_events.ndjson")
    assert not record["delivered"]
    assert [one["success"] for one in record["delivery_results"]] == [False, False]


def test_hits_of_a_hanging_sink_hold_up_neither_the_job_nor_the_word_of_its_end(
    cli: Cli, work: Path, jobs: Jobs
) -> None:
    flags = ("--watch", "x", "--watch-command", "sleep 300", "--notify-command", "touch ended")
    answer = cli.ok("run", "--wait", *flags, "seq 100000 | tail -n 1; echo x; echo x")
    assert answer["exit_code"] == 0
    until((work / "ended").exists, what="the word of the end")
    jobs.end()


def test_the_history_of_a_flood_is_capped_and_its_file_has_every_line(cli: Cli, root: Path, work: Path) -> None:
    count = 3_000
    job = cli.ok("run", "--wait", "--watch", "line", "--watch-file", "hits", f"yes a line | head -n {count}")["job_id"]
    over(cli, job)
    (summary,) = hits(cli, job, "watch_suppressed")
    assert len(hits(cli, job)) == limits.HITS_A_MINUTE
    assert summary["count"] == count - limits.HITS_A_MINUTE
    assert (summary["from_seq"], summary["to_seq"]) == (limits.HITS_A_MINUTE * 7, (count - 1) * 7)
    assert summary["line"] == "a line"
    assert [event["seq"] for event in told(work / "hits")] == [number * 7 for number in range(count)]
    records = told(root / job / "notification_events.ndjson")
    assert [(record["seq"], record["delivered"]) for record in records] == [(seq * 7, True) for seq in range(count)]
    delivered = [datetime.fromisoformat(event["at"]) for event in hits(cli, job, "notification_delivered")]
    minutes = 1 + (delivered[-1] - delivered[0]) // timedelta(minutes=1)  # more than one on a machine that is very slow
    assert limits.HITS_A_MINUTE <= len(delivered) <= limits.HITS_A_MINUTE * minutes


def test_the_output_match_of_agent_exec_fires_on_every_line(cli: Cli, root: Path, work: Path) -> None:
    """The lines come faster than the commands run."""
    count = limits.SINK_QUEUE * 2
    job = background(cli, f"until [ -e go ]; do sleep 0.1; done; seq -f 'ERROR %g' {count}")
    cli.ok("notify", "set", job, "--output-pattern", "ERROR", "--output-command", "cat >> matches")
    (work / "go").touch()
    over(cli, job)
    expected = [f"ERROR {number}" for number in range(1, count + 1)]
    assert [event["line"] for event in told(work / "matches")] == expected
    assert [record["line"] for record in told(root / job / "notification_events.ndjson")] == expected


def test_a_watch_that_is_removed_runs_no_command_that_still_waits(cli: Cli, root: Path, work: Path) -> None:
    command = "cat >> told; until [ -e go ]; do sleep 0.1; done"
    job = background(cli, "--watch", "hit", "--watch-command", command, f"seq -f 'hit %g' {limits.SINK_QUEUE * 3}")
    cli.ok("wait", job)
    until(lambda: told_lines(work / "told"), what="the first command")
    cli.ok("notify", "set", job, "--remove-watch", "hit")
    (work / "go").touch()
    over(cli, job)
    assert told_lines(work / "told") == 1
    first, *others = told(root / job / "notification_events.ndjson")
    assert first["delivered"]
    assert {other["delivery_results"][0]["error"] for other in others} == {"not run: its watch was removed"}


def test_a_match_without_a_sink_is_recorded_and_not_called_delivered(cli: Cli, root: Path, work: Path) -> None:
    job = background(cli, "until [ -e go ]; do sleep 0.1; done; echo ERROR; echo ERROR")
    cli.ok("notify", "set", job, "--output-pattern", "ERROR")
    (work / "go").touch()
    over(cli, job)
    records = told(root / job / "notification_events.ndjson")
    assert [(one["delivered"], one["delivery_results"]) for one in records] == [(False, [])] * 2


def test_a_takeover_in_a_flood_leaves_no_line_out(cli: Cli, root: Path, work: Path) -> None:
    """Each line reaches the file, and those that were recorded as delivered only once."""
    count = 2_000
    job = background(cli, "--watch", "hit", "--watch-file", "hits", f"seq -f 'hit %g' {count}; exec sleep 60")
    until(lambda: told_lines(work / "hits") > 300, what="some hits")
    pair.end(pair.supervisor(job))
    until(lambda: told_lines(work / "hits") >= count, 60, what="all hits")
    cli.ok("kill", job)
    over(cli, job)
    lines = [event["line"] for event in told_whole(work / "hits")]
    assert list(dict.fromkeys(lines)) == [f"hit {number}" for number in range(1, count + 1)]
    assert len(lines) <= count + 1, "the delivery that was under way may come twice"
    assert len(told_whole(root / job / "notification_events.ndjson")) == count


def test_a_takeover_runs_the_commands_that_waited(cli: Cli, work: Path) -> None:
    count = 40
    job = background(cli, "--watch", "hit", "--watch-command", "cat >> told", f"seq -f 'hit %g' {count}; exec sleep 60")
    until(lambda: told_lines(work / "told") > 3, what="some commands")
    pair.end(pair.supervisor(job))
    until(lambda: told_lines(work / "told") >= count and not told_missing(work / "told", count), 60, what="all hits")
    cli.ok("kill", job)
    over(cli, job)
    assert told_lines(work / "told") <= count + 1, "the command that was running may run twice"


def told_missing(path: Path, count: int) -> set[str]:
    return {f"hit {number}" for number in range(1, count + 1)} - {event["line"] for event in told(path)}


def test_all_watches_of_a_job_together_are_bounded(cli: Cli) -> None:
    flags = [word for number in range(16) for word in ("--watch", f"a{{{number}}}")]
    job = cli.ok("run", "--wait", *flags, f"yes {'a' * 20} | head -n 100")["job_id"]
    over(cli, job)
    assert len(hits(cli, job)) == limits.JOB_HITS_A_MINUTE
    assert sum(event["count"] for event in hits(cli, job, "watch_suppressed")) == 1600 - limits.JOB_HITS_A_MINUTE


# --- on a running job --------------------------------------------------------------------------------------------------


def test_a_watch_set_later_sees_later_lines_only(cli: Cli, work: Path) -> None:
    code = f"""{PUT}
put(1, b"early hit\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
put(1, b"late hit\\n")
put(2, b"other\\n")
"""
    job = background(cli, *python(code))
    cli.ok("wait", job, "--until", "output")
    answer = cli.ok("notify", "set", job, "--watch", "hit")
    assert [(watch["id"], watch["from_seq"]) for watch in answer["notification"]["watches"]] == [("w1", 10)]
    assert [watch["id"] for watch in cli.ok("notify", "set", job, "--watch", "other")["notification"]["watches"]] == [
        "w1",
        "w2",
    ]
    (work / "go").touch()
    over(cli, job)
    assert [(event["watch"], event["line"]) for event in hits(cli, job)] == [("w1", "late hit"), ("w2", "other")]


def test_a_watch_that_was_removed_tells_nothing(cli: Cli, work: Path) -> None:
    job = background(
        cli, "--watch", "hit", "--watch", "oth", "until [ -e go ]; do sleep 0.1; done; echo hit; echo other"
    )
    left = cli.ok("notify", "set", job, "--remove-watch", "hit")["notification"]["watches"]
    assert [watch["id"] for watch in left] == ["w2"]
    cli.error("notify", "set", job, "--remove-watch", "w7", code="invalid_argument")
    (work / "go").touch()
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["other"]


def test_the_output_match_of_agent_exec(cli: Cli, work: Path) -> None:
    job = background(
        cli, "echo ERROR old; until [ -e go ]; do sleep 0.1; done; echo an ERROR.; echo ERR >&2; echo ERROR 3"
    )
    cli.ok("wait", job, "--until", "output")
    answer = cli.ok("notify", "set", job, "--output-pattern", "ERROR", "--output-command", "cat >> matches.ndjson")
    stored = answer["notification"]["on_output_match"]
    assert (stored["pattern"], stored["match_type"], stored["stream"]) == ("ERROR", "contains", "either")
    (work / "go").touch()
    over(cli, job)
    events = told(work / "matches.ndjson")
    assert [event["line"] for event in events] == ["an ERROR.", "ERROR 3"]
    assert {event["event_type"] for event in events} == {"job.output.matched"}
    assert {(event["pattern"], event["match_type"], event["stream"]) for event in events} == {
        ("ERROR", "contains", "stdout")
    }


def test_output_match_flags_keep_what_they_do_not_name(cli: Cli, jobs: Jobs) -> None:
    job = background(cli, "sleep 60")
    cli.error("notify", "set", job, "--output-file", "/tmp/x", code="invalid_argument")
    cli.ok("notify", "set", job, "--command", "true", "--output-pattern", "^ERR", "--output-match-type", "regex")
    stored = cli.ok("notify", "set", job, "--output-stream", "stderr")["notification"]
    assert stored["notify_command"] == "true"
    match = stored["on_output_match"]
    assert (match["pattern"], match["match_type"], match["stream"]) == ("^ERR", "regex", "stderr")
    jobs.end()


def test_a_finished_job_can_be_set_and_nothing_runs(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--wait", "echo hit")["job_id"]
    answer = cli.ok("notify", "set", job, "--output-pattern", "hit", "--output-command", "touch ran", "--watch", "hit")
    assert "hint" in answer
    assert hits(cli, job) == []
    again = cli.ok("restart", job, "--wait")["job_id"]
    over(cli, again)
    assert sorted(event["watch"] for event in hits(cli, again)) == ["output_match", "w1"]
    assert (work / "ran").exists()


# --- processes that are killed ----------------------------------------------------------------------------------------


def test_a_takeover_neither_misses_nor_repeats_a_hit(cli: Cli, work: Path) -> None:
    script = "i=0; until [ -e go ]; do i=$((i+1)); echo line $i; sleep 0.01; done; echo $i > count"
    job = background(cli, "--watch", json.dumps({"pattern": "line .*0$", "file": "hits"}), script)
    for _ in range(3):
        seen = len(hits(cli, job))
        until(lambda seen=seen: len(hits(cli, job)) > seen, what="another hit")
        pair.end(pair.supervisor(job))
        pair.supervisor(job)  # the guardian took over
        break
    until(lambda: len(hits(cli, job)) >= 4, what="hits after the takeover")
    (work / "go").touch()
    over(cli, job)
    count = int((work / "count").read_text())
    expected = [f"line {number}" for number in range(10, count + 1, 10)]
    reported = expected[: limits.HITS_A_MINUTE]
    assert [event["line"] for event in hits(cli, job)][: len(reported)] == reported
    assert list(dict.fromkeys(event["line"] for event in told(work / "hits"))) == expected
    assert hits(cli, job, "adopted")


def test_a_successor_looks_for_what_was_set_later(cli: Cli, work: Path) -> None:
    job = background(cli, "--watch", "old", "until [ -e go ]; do sleep 0.1; done; echo old; echo new; exec sleep 60")
    cli.ok("notify", "set", job, "--watch", "new", "--remove-watch", "old")
    pair.end(pair.supervisor(job))
    (work / "go").touch()
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the hit")
    assert [(event["watch"], event["line"]) for event in hits(cli, job)] == [("w2", "new")]
    cli.ok("kill", job)


def test_a_takeover_before_any_whole_line_tells_of_no_prompt_twice(cli: Cli, work: Path) -> None:
    job = background(cli, "--watch", "continue", "printf 'continue? '; until [ -e go ]; do sleep 0.1; done; echo yes")
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the prompt")
    pair.end(pair.supervisor(job))
    until(lambda: recorded(cli.root, job, "adopted"), what="the guardian took over")
    (work / "go").touch()
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["continue? "]


def test_hits_that_wait_for_their_command_are_told_though_both_were_killed_after_the_end(cli: Cli, work: Path) -> None:
    """The state is final by then: only the mark of a live job says that something is owed."""
    command = f"until [ -e {work}/go ]; do sleep 0.1; done; cat >> {work}/told; echo >> {work}/told"
    watch = json.dumps({"pattern": "line", "command": command})
    job = background(cli, "--watch", watch, "printf 'line %s\\n' 1 2 3")
    assert cli.ok("wait", job)["exit_code"] == 0
    pair.end_both(pair.supervisor(job))
    (work / "go").touch()
    cli.ok("list")
    over(cli, job)
    told = [json.loads(line)["line"] for line in (work / "told").read_text().splitlines() if line]
    assert sorted(set(told)) == ["line 1", "line 2", "line 3"]


def test_a_job_that_is_adopted_where_re2_is_missing_goes_on_and_says_that_it_watches_no_more(
    cli: Cli, work: Path, place: Path
) -> None:
    job = background(cli, "--watch", "ready", "echo up; until [ -e go ]; do sleep 0.1; done; echo ready; exit 7")
    cli.ok("wait", job, "--until", "output")
    (place / "missing").mkdir()
    (place / "missing" / "re2.py").write_text("raise ImportError('no RE2 here')")
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(f"import sys; sys.path.insert(0, {str(place / 'missing')!r})")
    pair.end_both(pair.supervisor(job))
    cli.ok("status", job, env={"PYTHONPATH": str(place / "site")})
    until(lambda: recorded(cli.root, job, "watch_failed"), what="what the adopter says")
    (work / "go").touch()
    over(cli, job)
    (failed,) = hits(cli, job, "watch_failed")
    assert "RE2" in failed["message"]
    assert hits(cli, job) == []
    assert cli.ok("poll", job)["output"] == "up\nready\n"


def test_a_takeover_looks_for_what_was_set_last(cli: Cli, work: Path) -> None:
    job = background(
        cli,
        "--watch",
        "old",
        "echo old 1; until [ -e go ]; do sleep 0.1; done; echo old 2; echo new; until [ -e end ]; do sleep 0.1; done",
    )
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the first hit")
    cli.ok("notify", "set", job, "--remove-watch", "w1", "--watch", "new", "--watch-once")
    pair.end(pair.supervisor(job))
    until(lambda: recorded(cli.root, job, "adopted"), what="the guardian took over")
    (work / "go").touch()
    until(lambda: len(hits(cli, job)) > 1, what="the hit of the watch that was set later")
    (work / "end").touch()
    over(cli, job)
    assert [event["line"] for event in hits(cli, job)] == ["old 1", "new"]


def test_a_takeover_does_not_tell_what_was_suppressed_before(cli: Cli, root: Path, work: Path) -> None:
    script = (
        "for i in $(seq 100); do printf 'hit %d %4000s\\n' $i x; done; touch all; until [ -e go ]; do sleep 0.1; done"
    )
    job = background(cli, "--watch", "hit", "--watch-file", "hits", script)
    until((work / "all").exists, what="all lines")
    until(lambda: told_lines(work / "hits") >= 100, what="all hits")
    size = (root / job / "stdout.log").stat().st_size
    until(lambda: int((root / job / ".watched").read_text().split()[0]) == size, what="all of it was searched")
    pair.end(pair.supervisor(job))
    until(lambda: recorded(cli.root, job, "adopted"), what="the guardian took over")
    (work / "go").touch()
    over(cli, job)
    assert len(hits(cli, job)) == limits.HITS_A_MINUTE
    assert told_lines(work / "hits") == 100


def test_removing_a_job_tells_of_no_hit_again(cli: Cli, work: Path) -> None:
    job = background(cli, "--watch", "hit", "--watch-file", "hits", "echo a hit; sleep 60")
    until(lambda: told(work / "hits"), what="the hit")
    cli.ok("remove", job)
    assert len(told(work / "hits")) == 1


def test_what_was_not_delivered_is_delivered_by_the_successor(cli: Cli, root: Path, work: Path) -> None:
    sink = "if [ -e second ]; then cat > got; else touch first; sleep 300; fi"
    job = background(
        cli,
        "--watch",
        json.dumps({"pattern": "hit", "command": sink}),
        "echo a hit; until [ -e go ]; do sleep 0.1; done",
    )
    until((work / "first").exists, what="the first delivery")
    (work / "second").touch()
    pair.end(pair.supervisor(job))
    got = until(lambda: json.loads((work / "got").read_text()), what="the second delivery, whole")
    (work / "go").touch()
    cli.ok("kill", job)
    assert got["line"] == "a hit"
    assert len(hits(cli, job)) == 1


# --- bad input -----------------------------------------------------------------------------------------------------------


def test_a_bad_watch_starts_nothing(cli: Cli, work: Path) -> None:
    for watch in (
        "(",
        "",
        "x" * 1001,
        '{"pattern":"x","strem":"stdout"}',
        '{"pattern":"x","stream":"stdin"}',
        '{"pattern":"x","match_type":"glob"}',
        '{"pattern":"x","once":"maybe"}',
        '{"pattern":3}',
        '{"pattern":"x","command":""}',
        '{"pattern":"x","file":""}',
    ):
        error = cli.error("run", f"--watch={watch}", "touch ran", code="invalid_argument")
        assert error["details"]["field"] == "--watch", watch
    for name, meant in (("regex", "pattern"), ("contains", "pattern, with")):  # as the conditions of wait are called
        watch = json.dumps({"pattern": "x", name: "x"})
        error = cli.error("run", "--watch", watch, "touch ran", code="invalid_argument")
        assert error["hint"].startswith(f"Did you mean {meant}")
    for flag in ("--watch-command", "--watch-file"):
        assert flag in cli.error("run", flag, "x", "touch ran", code="invalid_argument")["message"], "without a watch"
    assert cli.ok("list", "--all")["jobs"] == []
    assert not (work / "ran").exists()


def test_the_same_watch_again_tells_nothing_twice(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--watch", "x", "--watch", "x", "exec sleep 60")["job_id"]
    for more in ([], ["--watch-stream", "stdout"], ["--watch-once"], ["--watch-once"]):
        cli.ok("notify", "set", job, "--watch", "x", *more)
    watches = cli.ok("notify", "set", job)["notification"]["watches"]
    assert [(watch["stream"], watch["once"]) for watch in watches] == [
        ("both", False),
        ("stdout", False),
        ("both", True),  # to be told once, and once more
        ("both", True),
    ]
    assert [watch["id"] for watch in watches] == ["w1", "w2", "w3", "w4"]
    cli.ok("kill", job)


def test_seventeen_watches_are_too_many(cli: Cli, jobs: Jobs) -> None:
    flags = [word for number in range(17) for word in ("--watch", f"p{number}")]
    cli.error("run", *flags, "true", code="invalid_argument")
    job = background(cli, *flags[:32], "sleep 60")
    before = cli.ok("notify", "set", job)["notification"]
    cli.error("notify", "set", job, "--watch", "one more", code="invalid_argument")
    assert cli.ok("notify", "set", job)["notification"] == before
    jobs.end()


@pytest.mark.fault("S15")
def test_a_costly_pattern_does_no_harm(cli: Cli, work: Path) -> None:
    script = (
        "import os\nfor _ in range(20): os.write(1, b'a' * 100_000 + b'b\\n')\nos.write(1, b'a' * 100_000 + b'\\n')"
    )
    job = cli.ok("run", "--wait", "--watch", "(a+)+$", "--", sys.executable, "-c", script)
    over(cli, job["job_id"])
    assert job["exit_code"] == 0
    assert [event["seq"] for event in hits(cli, job["job_id"])] == [20 * 100_002]
