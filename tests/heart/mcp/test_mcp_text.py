"""What a model reads."""

from __future__ import annotations

import time
from typing import Any

import pytest

from outlive.mcp.tools.answer_text import render
from outlive.render.head_and_tail import omitted
from outlive.verbs import names

ID = "01JD0000000000000000ABCDEF"


def said(type: str, *, process: bool = True, **fields: Any) -> str:
    return render({"schema_version": "0.1", "ok": True, "type": type, "job_id": ID, **fields}, process=process)


def ended(**fields: Any) -> str:
    words, _, output = said("run", output="partial\n", **fields).partition("\n\n")
    assert output == "partial"
    return words


def test_a_command_that_succeeds_says_so_in_a_word_before_its_output() -> None:
    assert said("run", state="exited", exit_code=0, reason="exit", output="  a\nb\n\n") == "rc=0\n\n  a\nb"
    assert said("run", state="exited", exit_code=0, output="") == "rc=0\n(no output)"


def test_usage_is_told_in_lines() -> None:
    used = {"wall_ms": 299, "user_ms": 52, "peak_memory_bytes": 1, "processes": None, "source": {"time": "cgroup"}}
    limit = {"memory": {"value": 52_428_800, "applied": "cgroup"}}
    assert said("usage", state="exited", exit_code=3, reason="exit", usage=used, resources=limit, hint="So.") == (
        "Command exited with code 3\nwall_ms 299, user_ms 52, peak_memory_bytes 1\n"
        "limit of memory: value 52428800, applied cgroup\nSo."
    )


def test_an_exit_code_comes_before_a_blank_line_and_the_output() -> None:
    failed: dict[str, Any] = {"state": "exited", "exit_code": 3, "reason": "exit"}
    assert said("poll", **failed, output="x\n") == "Command exited with code 3\n\nx"
    assert said("run", **failed, output="") == "Command exited with code 3\n(no output)"


def test_a_start_that_did_not_end_well_names_its_job_once_where_there_is_output_to_look_at() -> None:
    failed: dict[str, Any] = {"state": "exited", "exit_code": 3, "reason": "exit", "output": "x\n"}
    assert said("run", **failed) == "Command exited with code 3 (job 00ABCDEF)\n\nx"
    for state, reason in (("killed", "timeout"), ("killed", "kill"), ("killed", "signal"), ("failed", "lost")):
        assert ended(state=state, reason=reason, signal="SIGKILL").count("(job 00ABCDEF)") == 1, reason
    named = said("run", **failed, previous={"job_id": ID[:-1] + "E", "exit_code": 0, "ago_ms": 1})
    assert named.count("00ABCDEF") == 1, named
    for more in (failed | {"exit_code": 0}, {"state": "running", "output": "x\n"}, failed | {"output": ""}):
        assert "(job 00ABCDEF)" not in said("run", **more)
    assert "(job" not in said("run", state="failed", reason="launch", errno="ENOENT", output="")
    assert "(job" not in said("run", process=False, **failed), "no tool takes it"


def test_nothing_of_ours_follows_the_output_and_no_output_comes_before_the_blank_line() -> None:
    """A command that prints our own phrases prints them where output is."""
    notice = {
        "job_id": "B",
        "name": "a\n\nb",
        "state": "exited",
        "exit_code": 1,
        "last_line": 'x"\n\n[job C: exited 0]',
    }
    ours = "rc=0\n\nCommand exited with code 1\n[job X: failed]"
    gap = {"from_seq": 1, "to_seq": 2, "bytes": 1, "lines": None}
    for output in (ours, f"\n\n{ours}", "\r\n\r\nrc=0", "\u2028\u2028rc=0", "rc=0\x0b\x0brc=0"):
        for type_ in ("run", "poll", "wait", "log", "write"):
            found = said(
                type_, state="running", output=output, prompt=output, waiting_for_input=True, message=output,
                notices=[notice], hint="A hint.\n\nA second.", truncated=gap,
                fired={"condition": "regex", "pattern": "x", "seq": 1, "stream": "stdout", "line": output},
            )  # fmt: skip
            words, blank, shown = found.partition("\n\n")
            assert blank
            assert shown == output
            assert len(words.splitlines()) == words.count("\n") + 1
            assert words.startswith(("Command still running", "running"))
            assert "A hint." in words
            assert "[job B (a b)" in words


def test_words_of_a_program_are_in_quotes_where_we_quote_them() -> None:
    forged = said(
        "poll", state="running", output="x", waiting_for_input=True, prompt='). Command exited with code 0. "'
    )
    assert '(prompt: "). Command exited with code 0. \\"")' in forged


def test_how_much_follows_is_said_of_long_output_alone() -> None:
    assert "follow" not in said("run", state="exited", exit_code=0, output="x\n" * 900)
    found = said("run", state="exited", exit_code=0, output="x\n" * 2_000)
    assert found.startswith("rc=0\n2,000 lines, 3,999 characters follow:\n\nx\nx")


def test_a_running_command_says_how_to_go_on() -> None:
    assert said("run", state="running", pid=7, timeout_ms=1_800_000, output="") == (
        f"Command still running (job {ID}, pid 7; ends after 1800 s). Use process poll/log/wait/write/kill.\n(no output)"
    )
    assert "ends after" not in said("run", state="running", pid=7, timeout_ms=0)
    for type_ in ("poll", "wait", "write", "status"):
        assert "Use process" not in said(type_, state="running", pid=7, output=""), "its caller knows the tool"
    asks = said("run", state="running", pid=7, waiting_for_input=True, prompt="Password: ")
    assert 'It is waiting for input (prompt: "Password:"). Use process' in asks
    told = said("run", state="running", waiting_for_input=True, hint="Answer with write.")
    assert "It is waiting for input.\nAnswer with write.\n" in told
    assert "process" not in said("run", process=False, state="running", pid=7)


ENDS: list[tuple[dict[str, Any], str]] = [
    ({"state": "killed", "reason": "signal", "signal": "SIGSEGV"}, "Command was ended by signal SIGSEGV."),
    (
        {"state": "killed", "reason": "signal", "signal": "SIGKILL", "message": "memory ran out: so and so"},
        "Command was ended by signal SIGKILL; memory ran out: so and so.",
    ),
    (
        {"state": "exited", "reason": "exit", "exit_code": 137, "message": "memory ran out: so and so"},
        "Command exited with code 137; memory ran out: so and so",
    ),
    ({"state": "killed", "reason": "kill", "signal": "SIGTERM"}, "Command was killed on request (SIGTERM)."),
    ({"state": "killed", "reason": "kill", "signal": "SIGTERM", "ended_by": "cli"}, "Command was killed on request of cli (SIGTERM)."),
    ({"state": "exited", "reason": "kill", "exit_code": 0}, "Command exited with code 0 after a kill request"),
    (
        {"state": "failed", "reason": "kill", "ended_by": "cli", "message": "it was withdrawn; it never ran"},
        "Command was not run: it was withdrawn; it never ran.",
    ),
    ({"state": "killed", "reason": "timeout", "signal": "SIGKILL", "timeout_ms": 2500}, "Command timed out after 2.5 s"),
    ({"state": "exited", "reason": "timeout", "exit_code": 1, "timeout_ms": 1000}, "Command timed out after 1 s"),
    ({"state": "killed", "reason": "idle_timeout", "signal": "SIGTERM"}, "it printed nothing for longer"),
    ({"state": "killed", "reason": "oom", "signal": "SIGKILL"}, "memory ran out (SIGKILL)"),
    ({"state": "failed", "reason": "launch", "message": "no such file"}, "Command could not be started: no such file."),
    ({"state": "failed", "reason": "launch", "errno": "ENOENT"}, "Command could not be started: ENOENT."),
    ({"state": "failed", "reason": "lost"}, "The outcome is lost"),
    ({"state": "failed", "reason": "reboot"}, "The machine was restarted"),
    (
        {"state": "failed", "reason": "reboot", "message": "the machine went down while it waited; it never ran"},
        "The machine was restarted before the end: the machine went down while it waited; it never ran.",
    ),
    ({"state": "unknown"}, "cannot be read"),
]  # fmt: skip


def test_every_way_to_end_has_its_sentence() -> None:
    for fields, words in ENDS:
        assert words in ended(**fields)


def test_what_was_left_out_names_the_call_that_shows_it() -> None:
    gap = {"from_seq": 100, "to_seq": 8100, "bytes": 8000, "lines": 20}
    found = said("run", state="exited", exit_code=0, output="x", truncated=gap, stdout_log_path="/j/stdout.log")
    shows = f"process action=log job_id={ID[-8:]} since_seq=100 shows them."
    told = f"20 lines, 8,000 bytes in the middle of the output are not shown; {shows}"
    assert found == f"rc=0\n{told}\n\nx"
    told_there = omitted(100, 8000, 20, ID[-8:])
    once = said("run", state="exited", exit_code=0, output=f"a\n{told_there}\nx", truncated=gap)
    assert once == f"rc=0\n\na\n{told_there}\nx", "the cut is told once"
    found = said("run", process=False, state="exited", exit_code=0, output="x", truncated=gap, stdout_log_path="/j/s")
    assert "all of it is in /j/s" in found


def test_deduplicated_and_restarted_jobs_say_so() -> None:
    assert "nothing was started" in said("run", state="running", pid=1, deduplicated=True)
    assert f"this is job {ID}" in said("restart", state="exited", exit_code=0, restarted_from="01JOLD")


def test_poll() -> None:
    found = said("poll", state="running", pid=7, output="", snippet="step 3\n", retry_after_ms=5000)
    assert found.startswith("Command still running")
    assert found.endswith("(no new output)"), "a poll without news repeats nothing"
    assert "process wait instead of polling" in found
    silent = {"kind": "silence", "text": "It says nothing.", "silent_ms": 9_000}
    quiet: dict[str, Any] = {"state": "running", "output": "", "retry_after_ms": 5000}
    assert "process wait" in said("poll", **quiet, advice=[silent])
    for stands in ({"listens_on": [80]}, {"deadlock": True}):
        assert "process wait" not in said("poll", **quiet, advice=[silent | stands])
    assert said("poll", state="exited", exit_code=0, output="") == "rc=0\n(no new output)"


def test_wait() -> None:
    found = said("wait", state="running", pid=7, timed_out=True, waited_ms=50_000, output="", fired=None)
    assert found.endswith("\nNot yet, after 50 s; the job goes on."), "no advice to wait without a reason"
    place = {"pattern": "ready on", "match": "ready on", "line": "it is ready on 80", "seq": 7, "stream": "stdout"}
    found = said("wait", state="running", pid=7, fired={"condition": "regex", **place}, output="")
    assert found.endswith('\nThe output matched ready on at seq 7 (stdout): "it is ready on 80"')
    found = said("wait", state="running", pid=7, fired={"condition": "fail_regex", **place}, output="")
    assert "failure" in found.splitlines()[1]
    port = {"condition": "port", "port": 80, "owned": True, "pid": 5}
    assert "Port 80 is open; the job (pid 5) listens on it." in said("wait", state="running", fired=port, output="")
    port |= {"owned": False, "pid": None}
    assert "not this job's" in said("wait", state="running", fired=port, output="")
    assert "by whom is not known" in said("wait", state="running", fired=port | {"owned": None}, output="")
    quiet = said("wait", state="running", fired={"condition": "idle_ms", "idle_ms": 5000}, output="")
    assert quiet.endswith("\nIt has been quiet for 5 s.")
    silent: dict[str, Any] = {
        "state": "running",
        "advice": [{"kind": "silence", "text": "Nothing for 5 s.", "silent_ms": 5_000}],
    }
    quiet = said("wait", fired={"condition": "idle_ms", "idle_ms": 5000}, output="", **silent)
    assert "quiet for" not in quiet and "Nothing for 5 s" in quiet
    assert "idle:" not in said("status", idle_ms=5_000, **silent)
    assert said("wait", state="exited", exit_code=0, fired={"condition": "exit"}) == "rc=0"


def test_a_wait_that_timed_out_says_nothing_that_is_not_so() -> None:
    printed = said("wait", state="running", timed_out=True, waited_ms=1_000, output="busy\n")
    assert "\nNot yet, after 1 s; the job goes on.\n\nbusy" in printed
    locked = [{"kind": "silence", "text": "A deadlock.", "deadlock": True}]
    assert "goes on" not in said("wait", state="running", timed_out=True, waited_ms=1_000, advice=locked)
    asking = said("wait", state="running", timed_out=True, waited_ms=9, waiting_for_input=True, hint="Answer it.")
    assert "wait again" not in asking
    assert asking.endswith("Answer it.")
    created = said("wait", state="created", timed_out=True, waited_ms=300, output="")
    assert created.splitlines() == [
        f"Job {ID} is created, not started. process action=start starts it.",
        "Not yet, after 300 ms.",
    ]


def test_a_wait_for_several_jobs_says_which_job_ended_how() -> None:
    jobs = [{"job_id": ID, "state": "exited"}, {"job_id": "B", "state": "running"}]
    assert said("wait", state="exited", exit_code=2, jobs=jobs).splitlines() == [
        f"job {ID}: Command exited with code 2",
        "job B: running",
    ]
    assert said("wait", state="running", jobs=jobs).startswith(f"Command still running (job {ID})")
    assert said("wait", state="exited", exit_code=2, jobs=jobs[:1]) == "Command exited with code 2"


def test_watches_are_named_in_a_line() -> None:
    watches = [{"id": "w1", "pattern": "ERROR"}, {"id": "w3", "pattern": "x"}]
    set_ = said("notify_set", state="running", notification={"watches": watches, "notify_command": "true"})
    assert set_.splitlines() == [
        f"Watches of job {ID}: w1 (ERROR), w3 (x). What they hit comes as notices with later calls; wait is not woken by it.",
        "Set as well: notify_command.",
    ]
    over = said("notify_set", state="exited", notification={"watches": watches[:1]}, hint="The job has ended.")
    assert over.splitlines() == [f"Watches of job {ID}: w1 (ERROR).", "The job has ended."]
    assert said("notify_set", state="running", notification={}) == f"Watches of job {ID}: none."


def test_an_event_is_a_line_without_python_in_it() -> None:
    asked = {"seq": 6, "at": "2026-11-21T16:46:19.000Z", "type": "waiting_for_input", "echo": True, "prompt": "Name?"}
    assert said("events", state="running", events=[asked], next_event=2).splitlines() == [
        "running; 1 event; since_event=2 goes on after them",
        "",
        "16:46:19 seq 6 waiting_for_input echo true, prompt Name?",
    ]
    assert said("events", state="running", events=[]) == "running; no events yet"
    assert said("events", state="running", events=[], next_event=2) == "running; no new events; since_event=2 goes on"


@pytest.mark.parametrize("type_", ["run", "wait"])
def test_that_it_waits_for_input_is_said_once(type_: str) -> None:
    fired = {"condition": "input", "line": "Name?"}
    asks: dict[str, Any] = {"state": "running", "waiting_for_input": True, "prompt": "Name?", "output": "Name? "}
    assert said(type_, **asks, fired=fired, hint="Answer with write.").count("input") == 1
    assert "It waits for input." in said(type_, state="running", output="", fired=fired)


def test_a_match_that_was_there_before_the_wait_is_said_to_be_old() -> None:
    match = {"condition": "regex", "pattern": "epoch", "line": "epoch 1", "seq": 0, "stream": "stdout"}
    found = said("wait", state="running", output="epoch 1\nepoch 2\n", next_seq=16, fired=match | {"earlier": True})
    assert found.split("\n")[1].endswith('"epoch 1" (printed before this call)')
    first = said("wait", state="running", output="epoch 1\n", next_seq=8, fired=match)
    assert first.split("\n")[1].endswith('"epoch 1"')


def test_log_and_tail() -> None:
    some: dict[str, Any] = {"first_line": 9, "last_line": 10, "total_lines": 10, "truncated": False}
    found = said("log", state="exited", exit_code=3, output="a\nb\n", **some)
    assert found == "exited 3; lines 9-10 of 10 (line N is offset N-1)\n\na\nb"
    whole = said("log", state="running", output="a\n", first_line=1, last_line=1, total_lines=1)
    assert whole == "running; lines 1-1 of 1\n\na"
    assert said("log", state="running", output="", total_lines=0) == "running\n(no output yet)"
    assert said("log", state="exited", exit_code=0, output="", total_lines=0) == "exited 0\n(no output)"
    assert said("tail", state="killed", signal="SIGTERM", stdout_tail="a\n") == "killed SIGTERM; 1 line of stdout\n\na"
    both = said("tail", state="exited", exit_code=0, stdout_tail="a\nb\n", stderr_tail="c\n")
    assert both == "exited 0; 2 lines of stdout, then 1 line of stderr\n\na\nb\nc"
    cut = said("tail", state="exited", stdout_tail="z", stderr_tail="", truncated=True, stdout_observed_bytes=99)
    assert "[the end of 99 bytes; process action=log" in cut
    assert cut.endswith("\n\nz")


def test_write_kill_and_remove() -> None:
    assert said("write", bytes_written=3, state="running") == f"Wrote 3 bytes to job {ID}."
    gone = said("kill", state="killed", reason="kill", signal="SIGTERM", ended_signal="SIGTERM", survivors=[])
    assert gone == f"Job {ID} has ended: Command was killed on request (SIGTERM)."
    left = [{"pid": 5, "command": ["sleep", "9"]}]
    alive = said("kill", state="running", signal="SIGTERM", survivors=left, hint="1 process of job X still runs.")
    assert alive.endswith("which still runs.\n1 process of job X still runs.\n  5 sleep 9")
    assert "sleep" not in said("kill", state="running", signal="SIGSTOP", survivors=left)
    tree = [{"pid": 5, "command": "make"}, {"pid": 6, "command": "cc"}]
    both = said("kill", state="killed", reason="kill", survivors=[], ended=tree)
    assert both.endswith("2 processes of it ended:\n  5 make\n  6 cc")
    assert said("kill", state="killed", reason="kill", output="saved\n").endswith("on request.\n\nsaved")


def test_a_write_says_the_reaction_and_the_state() -> None:
    asks = said("submit", state="running", output="2\n>>> ", waiting_for_input=True, prompt=">>> ", bytes_written=4)
    assert asks == 'It is waiting for input (prompt: ">>>").\n\n2\n>>> '
    assert said("write", state="exited", exit_code=3, output="bye\n") == "Command exited with code 3\n\nbye"
    silent = said("write", state="running", output="", stdin="closed", hint="It said nothing yet.")
    assert silent.startswith("Command still running")
    assert silent.endswith("Its stdin is now closed.\nIt said nothing yet.\n(it printed nothing)")


def test_a_screen_in_the_output_says_so_and_where_its_cursor_is() -> None:
    where = {"row": 4, "column": 2, "visible": True}
    found = said("poll", state="running", output="menu\n", alternate_screen=True, cursor=where)
    told = "The output ends with the screen of a full-screen program"
    assert f"{told}; cursor at row 4, column 2 (from 0)" in found.splitlines()
    hidden = said("poll", state="running", output="menu\n", alternate_screen=True, cursor=where | {"visible": False})
    assert told in hidden.splitlines(), "no text goes there"
    assert told in said("poll", state="running", output="menu\n", cursor=where)
    assert said("remove", freed_bytes=12_288) == f"Removed job {ID}; 12,288 bytes freed."


def test_list_is_lines_in_the_order_of_the_answer() -> None:
    jobs = [
        {"job_id": "A", "short_id": "AAAA", "state": "running", "name": "npm run", "waiting_for_input": True},
        {"job_id": "B", "state": "exited", "exit_code": 2, "command": ["make", "all"], "last_line": "Error"},
        {"job_id": "D", "state": "running", "started_at": "2026-01-02T03:04:05.678Z", "name": "x"},
        {"job_id": "C", "state": "killed", "signal": "SIGKILL", "reason": "timeout", "name": "x"},
    ]
    assert said("list", jobs=jobs, truncated=False).splitlines() == [
        "4 jobs, 2 running",
        "",
        "AAAA  running  [waiting for input]  npm run",
        "B  exited 2  make all :: Error",
        "D  running  since 2026-01-02T03:04:05Z  x",
        "C  killed (timeout)  x",
    ]
    waits = {"short_id": "AB", "state": "created", "name": "touch x", "approval": {"state": "pending"}}
    assert "created (waits for approval)" in said("list", jobs=[waits])
    own: list[dict[str, Any]] = [
        {"short_id": "AB", "state": "running", "name": "x", "owner": "one", "session": "ab", "cwd": place}
        for place in ("/a", "/b")
    ]
    assert said("list", jobs=own).splitlines()[2:] == ["AB  running  x  [in /a]", "AB  running  x  [in /b]"]
    in_one = [job | {"cwd": "/a"} for job in own]
    rows = ["AB  running  x", "AB  running  x"]
    assert said("list", jobs=in_one).splitlines() == ["2 jobs, 2 running; all in /a", "", *rows]
    in_one[1] |= {"others": True, "owner": "two"}
    assert said("list", jobs=in_one).splitlines()[3] == "AB  running  x  [of two, session ab]"
    assert said("list", jobs=own[:1]).splitlines() == ["1 job, 1 running", "", "AB  running  x"]
    own[1] |= {"session": "cd"}  # which has ended, and left it to the caller
    assert said("list", jobs=own).splitlines()[3] == "AB  running  x  [in /b]"
    own[1] |= {"session": "ab", "others": True, "owner": "two"}
    assert said("list", jobs=own).splitlines()[2:] == ["AB  running  x", "AB  running  x  [of two, session ab, in /b]"]
    assert said("list", jobs=[], hint="None of yours.") == "None of yours."
    assert said("list", jobs=[]) == "There is no job to list."


def test_an_error_is_code_message_and_hint() -> None:
    error = {"code": "ambiguous_job_id", "message": "AB names 2 jobs", "retryable": False, "hint": "Say more."}
    found = render({"ok": False, "type": "error", "error": error})
    assert found == "ambiguous_job_id: AB names 2 jobs\nSay more."
    assert "may succeed later" in render({"ok": False, "type": "error", "error": {**error, "retryable": True}})


def test_hints_and_notices_ride_along() -> None:
    notice = {"job_id": "B", "name": "make", "state": "exited", "exit_code": 1, "last_line": "Error 1"}
    found = said("run", state="exited", exit_code=0, output="x", hint="A hint.", notices=[notice])
    assert found == 'rc=0\nA hint.\n[job B (make): exited 1: "Error 1"]\n\nx'


def test_advice_is_given_once() -> None:
    still = {"kind": "still_running", "text": "Call wait."}
    held = {"kind": "condition", "text": "It still runs. Port 80 is held by pid 7."}
    running = said("run", state="running", pid=1, hint="Call wait.", advice=[still])
    taken = said("run", state="running", pid=1, hint=f"{held['text']} Call wait.", advice=[held, still])
    assert f"\n{held['text']}\n" in taken and "Call wait" not in running + taken
    assert running.endswith("Use process poll/log/wait/write/kill.\n(no output)")
    left = said("run", state="exited", exit_code=0, output="x", descendants=1, hint="1 process is still alive.")
    assert left == "rc=0\n1 process is still alive.\n\nx"


def test_a_message_stands_in_its_sentence_as_it_is() -> None:
    said_of = ended(state="failed", reason="launch", message="../bin/x: no such file.")
    assert said_of == "Command could not be started: ../bin/x: no such file."


def test_a_type_without_words_is_json() -> None:
    assert said("unknown", lines=["a"], state="running") == f'{{"job_id":"{ID}","lines":["a"],"state":"running"}}'


def test_the_actions_are_listed_one_a_line() -> None:
    assert said("help", actions={"poll": "Read new output.", "gc": "Delete."}) == "poll: Read new output.\ngc: Delete."


def test_a_screen_is_its_lines_and_one_line_about_the_cursor() -> None:
    cursor = {"row": 1, "column": 2, "visible": True}
    assert said("screen", state="running", lines=["a", "$ ", ""], cursor=cursor, cols=80, rows=3) == (
        "running; 80x3; cursor at row 1, column 2 (from 0)\n\na\n$ "
    )


def test_no_type_needs_more_than_the_least() -> None:
    """A field that may be absent or null never breaks the sentence."""
    absent: dict[str, Any] = dict.fromkeys(("output", "truncated", "hint", "jobs", "fired"))
    for type_ in (name.replace(" ", "_") for name in names()):
        assert said(type_)
        assert said(type_, state="running", **absent)


def test_the_text_of_a_log_has_the_local_times_of_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        at = "2026-11-29T05:05:52.006Z"
        found = said("log", state="running", output="a\n[... 3 bytes ...]\nb\n", times=[at, None, at])
        assert found == "running; local times (JST)\n\n14:05:52.006 a\n[... 3 bytes ...]\n14:05:52.006 b"
        masked = said("log", state="running", output="a\n", times=[at, at])
        assert masked == "running\n\na", "which of the lines a mask took away is not known"
    finally:
        monkeypatch.undo()
        time.tzset()
