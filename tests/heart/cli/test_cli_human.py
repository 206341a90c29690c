"""Answers for a person, and that nothing in them reaches the terminal as a control character."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from outlive.cli import human
from outlive.cli.text import Style, columns, table
from outlive.core.quoted import visible
from outlive.core.units import seconds_of

NOW = "2026-03-15T12:00:00.000Z"
STYLE = Style(now=seconds_of(NOW))
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31mred\x08\r\u202egpj.exe\x7f\ud800"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def job(**changes: Any) -> dict[str, Any]:
    return {
        "job_id": "01JQ0000000000000000ABCDEF",
        "short_id": "00ABCDEF",
        "state": "exited",
        "exit_code": 0,
        "signal": None,
        "reason": "exit",
        "name": "make test",
        "command": ["make", "test"],
        "tags": ["ci", "build.x"],
        "started_at": "2026-03-15T11:57:00.000Z",
        **changes,
    }


def listed(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ok": True, "type": "list", "root": "/r", "jobs": list(jobs), "truncated": False, "skipped": 0, **more}


def shown(type_: str, verbose: bool = False, **fields: Any) -> str:
    return human.answer({"schema_version": "0.1", "ok": True, "type": type_, **fields}, STYLE, verbose=verbose)


def test_a_list_is_a_table_with_one_line_a_job() -> None:
    text = human.answer(listed(job(), job(state="running", exit_code=None, reason=None, name="npm run dev")), STYLE)
    assert text.splitlines() == [
        "JOB       STATE    RESULT  AGE   NAME         TAGS",
        "00ABCDEF  exited   0       3min  make test    ci build.x",
        "00ABCDEF  running          3min  npm run dev  ci build.x",
    ]


def test_a_timeout_looks_like_a_timeout_and_a_code_like_a_code() -> None:
    rows: list[tuple[dict[str, Any], str]] = [
        ({"exit_code": 3}, "3"),
        ({"state": "killed", "exit_code": None, "reason": "signal", "signal": "SIGSEGV"}, "SIGSEGV"),
        ({"state": "killed", "exit_code": None, "reason": "timeout", "signal": "SIGTERM"}, "timeout"),
        ({"state": "exited", "exit_code": 143, "reason": "timeout"}, "timeout"),
        ({"state": "failed", "exit_code": None, "reason": "lost"}, "lost"),
    ]
    for fields, result in rows:
        assert human.answer(listed(job(**fields)), STYLE).splitlines()[1].split()[2] == result


def test_a_list_that_is_empty_or_was_cut_says_so() -> None:
    assert human.answer(listed() | {"hint": "None here."}, STYLE) == "None here.\n"
    assert human.answer(listed(), STYLE) == "There is no job to list.\n"
    text = human.answer(listed(job(), truncated=True, skipped=2), STYLE)
    assert text.splitlines()[2:] == ["(There are more than these 1: --limit 0 shows all. 2 could not be read.)"]


def test_rows_are_cut_at_the_width_of_the_terminal() -> None:
    style = Style(now=STYLE.now, width=40)
    for row in human.answer(listed(job(name="長い名前" * 9), job(name="é" * 90)), style).splitlines():
        assert columns(row) <= 40


def test_wide_and_combining_characters_keep_the_columns_straight() -> None:
    rows = table(("A", "B"), [["日本", "x"], ["e\u0301", "x"], ["abcd", "x"]], STYLE).splitlines()
    assert {columns(row[: row.rindex("x")]) for row in rows[1:]} == {6}


def test_colours_are_there_only_where_they_are_asked_for() -> None:
    assert "\x1b" not in human.answer(listed(job()), STYLE)
    coloured = human.answer(listed(job()), Style(colour=True, now=STYLE.now))
    assert "\x1b[32m" in coloured
    assert coloured.count("\x1b[0m") == len(coloured.splitlines())


@pytest.mark.parametrize(
    ("tty", "env", "colour"),
    [(False, {}, False), (True, {}, True), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_only_a_terminal_gets_colours_and_no_color_is_respected(
    monkeypatch: pytest.MonkeyPatch, tty: bool, env: dict[str, str], colour: bool
) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: tty)
    assert Style.of_stdout(env).colour is colour


@pytest.mark.fault("F70")
def test_no_control_character_reaches_the_terminal() -> None:
    rows: list[str] = [
        human.answer(listed(job(name=EVIL, tags=[EVIL], state="x" + EVIL, reason=EVIL, short_id=EVIL)), STYLE),
        shown("status", job_id=EVIL, state=EVIL, reason=EVIL, name=EVIL, command=[EVIL, EVIL], tags=[EVIL]),
        shown("status", job_id=EVIL, state="failed", message=EVIL, name=EVIL, command=[EVIL]),
        shown("status", state="running", job_id="J", prompt=EVIL, waiting_for_input=True, host=EVIL),
        shown("wait", state="exited", job_id="J", signal=EVIL, fired={"condition": EVIL, "line": EVIL}),
        shown("kill", state="killed", job_id="J", ended_signal=EVIL, survivors=[{"pid": 1, "command": EVIL}]),
        shown("gc", root=EVIL, jobs=[], dry_run=True, used_jobs=1, used_bytes=1, freed_bytes=1),
        shown(
            "status", True, state="running", job_id=EVIL, name=EVIL, command=[EVIL, EVIL], tags=[EVIL],
            nested={EVIL: EVIL}, **{EVIL: 1},
        ),
        shown("run", state="running", job_id="J", output=EVIL, hint=EVIL, snapshot={"stdout_tail": EVIL}),
        shown("tail", stdout_tail=EVIL, stderr_tail=EVIL),
        shown(
            "kill", True, state="x", job_id="J", survivors=[{"pid": 1, "command": EVIL, EVIL: EVIL}], mixed=[1, EVIL]
        ),
        shown("screen", lines=[EVIL]),
        shown(
            "install", client="codex", scope="user", change="added", written=False, entry={},
            name=EVIL, path=EVIL, backup=EVIL, fragment=EVIL, own_command=EVIL, hint=EVIL,
        ),
        human.error({"message": EVIL, "hint": EVIL}),
    ]  # fmt: skip
    for text in rows:
        assert not CONTROL.search(text)


def test_a_name_with_a_line_break_stays_in_its_row() -> None:
    assert len(human.answer(listed(job(name="a\nb\u2028c")), STYLE).splitlines()) == 2
    assert visible("a\nb\t\x1b") == "a\\nb\\t\\e"


def test_an_answer_with_v_is_its_fields_and_below_them_the_output() -> None:
    text = shown(
        "run",
        True,
        job_id="01J",
        state="exited",
        exit_code=0,
        signal=None,
        command=["echo", "hello world"],
        duration_ms=1_500,
        stdout_bytes=2_048,
        truncated=False,
        tags=[],
        output="hello\x1b[1m world\n",
        snapshot={"stdout_tail": "hello world\n"},
        hint="More: log.",
    )
    assert text == (
        "echo 'hello world'  job 01J\n"
        "exited with code 0 after 1.5 s\n"
        "\n"
        "job id     01J\n"
        "state      exited\n"
        "exit code  0\n"
        "command    echo 'hello world'\n"
        "duration   1.5 s\n"
        "stdout     2 KiB\n"
        "truncated  no\n"
        "\n"
        "hello world\n"
        "\n"
        "(More: log.)\n"
    )


def test_a_shell_string_and_output_are_shown_as_they_are() -> None:
    text = shown("status", job_id="J", state="running", name="echo hi", command=["echo hi | wc"])
    assert "\n$ echo hi | wc\n" in text
    assert shown("log", job_id="J", output="one\ntwo", total_lines=2) == "one\ntwo\n"
    assert shown("log", job_id="J", output="") == "(no output)\n"
    assert shown("tail", job_id="J", stdout_tail="out", stderr_tail="err\n") == "out\n\n--- stderr ---\nerr\n"


def test_a_list_of_objects_is_a_table() -> None:
    text = shown("gc", True, deleted=1, jobs=[{"job_id": "A", "bytes": 7}, {"job_id": "B", "reason": "young"}])
    assert [line.split() for line in text.splitlines()] == [
        ["deleted", "1"],
        ["jobs"],
        ["JOB", "ID", "BYTES", "REASON"],
        ["A", "7"],
        ["B", "young"],
    ]


def test_the_schema_is_json_for_a_person_too() -> None:
    assert json.loads(shown("schema", schema={"a": [1]})) == {"a": [1]}


def test_an_error_is_its_message_and_its_hint() -> None:
    assert human.error({"message": "no job 'x'", "hint": "Try list."}) == "error: no job 'x'\nhint: Try list.\n"
    assert human.answer({"ok": False, "type": "error", "error": {"message": "m"}}, STYLE) == "error: m\n"


def client_change(type_: str = "install", **changes: Any) -> str:
    found = {
        "client": "codex",
        "scope": "user",
        "path": "/h/c.toml",
        "name": "outlive",
        "change": "added",
        "written": True,
    }
    more: dict[str, Any] = {"entry": {}, "fragment": "[x]\ny = 1\n", "own_command": None} if type_ == "install" else {}
    return shown(type_, **{**found, "backup": None, **more, **changes})


def test_a_change_of_a_clients_configuration_is_a_sentence() -> None:
    rows: list[tuple[str, str]] = [
        (client_change(), "Added to /h/c.toml (server outlive).\n"),
        (client_change(change="updated", backup="/b"), "Updated in /h/c.toml (server outlive).\nAs it was before the first change: /b\n"),
        (client_change(written=False), "outlive would be added to /h/c.toml; nothing was written.\n\n[x]\ny = 1\n"),
        (
            client_change(written=False, change=None, own_command="codex x", hint="line 3."),
            "outlive cannot be merged into /h/c.toml; nothing was written.\n\n[x]\ny = 1\n\nOr: codex x\n(line 3.)\n",
        ),
        (client_change(change="none", written=False), "Nothing to do in /h/c.toml (server outlive).\n"),
        (client_change("uninstall", change="removed"), "Removed from /h/c.toml (server outlive).\n"),
        (client_change("uninstall", change="none", written=False), "Nothing to do in /h/c.toml (server outlive).\n"),
        (client_change("uninstall", change="removed", written=False), "outlive would be removed from /h/c.toml; nothing was written.\n"),
    ]  # fmt: skip
    for text, wanted in rows:
        assert text == wanted


def about(**fields: Any) -> list[str]:
    """The lines about a job that `status` shows."""
    return shown("status", **{"job_id": "01JQ0000000000000000ABCDEF", "state": "running", **fields}).splitlines()


def test_how_a_job_is_doing_is_said_in_one_line() -> None:
    rows: list[tuple[dict[str, Any], str]] = [
        ({"elapsed_ms": 200_000}, "running for 3 min 20 s"),
        ({"elapsed_ms": 90_000, "idle_ms": 12_000}, "running for 1 min 30 s, silent for 12 s"),
        ({"elapsed_ms": 1_000, "waiting_for_input": True}, "running for 1 s, waits for input"),
        ({"waiting_for_input": True, "prompt": "Password:"}, "running, waits for input: Password:"),
        ({"elapsed_ms": 1_000, "timeout_ms": 60_000}, "running for 1 s, at most 1 min"),
        ({"state": "created"}, "not started"),
        ({"state": "created", "approval": {"state": "pending"}}, "waits for approval"),
        ({"state": "exited", "exit_code": 3, "reason": "exit", "duration_ms": 1_500}, "exited with code 3 after 1.5 s"),
        (
            {"state": "exited", "exit_code": 0, "finished_at": "2026-03-15T11:55:00.000Z"},
            "exited with code 0, 5 min ago",
        ),
        ({"state": "killed", "reason": "timeout", "signal": "SIGTERM"}, "killed at its time limit (SIGTERM)"),
        ({"state": "killed", "reason": "kill", "signal": "SIGKILL"}, "killed on request (SIGKILL)"),
        ({"state": "killed", "reason": "oom"}, "killed: out of memory"),
        ({"state": "killed", "reason": "signal", "signal": "SIGSEGV"}, "killed: SIGSEGV"),
        ({"state": "exited", "reason": "kill", "exit_code": 9}, "exited: kill (code 9)"),
        ({"state": "failed", "reason": "lost", "message": "its supervisor died"}, "failed: its supervisor died"),
    ]
    for fields, said in rows:
        assert about(**fields)[1] == said


def test_a_person_sees_first_what_it_is_how_it_does_and_the_last_lines() -> None:
    lines = about(
        short_id="00ABCDEF",
        name="dev",
        command=["npm run dev"],
        pid=7,
        tags=["web"],
        elapsed_ms=3_000,
        cwd="/x",
        env_vars=["A=1"],
        usage={"user_ms": 900, "system_ms": 100, "peak_memory_bytes": 2_048},
        snippet="ready\n",
        hint="Do this.",
    )
    assert lines == [
        *(
            "dev  job 00ABCDEF",
            "$ npm run dev",
            "running for 3 s",
            "pid 7, CPU 1 s, memory 2 KiB, tags web",
            "cwd: /x",
            "",
        ),
        *("ready", "", "(Do this.)"),
    ]


def test_what_ended_a_wait_is_said() -> None:
    fired = {"condition": "regex", "line": "listening"}
    assert "regex: listening" in shown("wait", job_id="J", state="running", fired=fired)
    assert "The time is up; the job goes on." in shown("wait", job_id="J", state="running", timed_out=True, fired=None)
    assert shown("wait", job_id="J", state="created", timed_out=True, fired=None).endswith("The time is up.\n")


def test_an_answer_about_several_jobs_says_how_each_is_doing() -> None:
    every: list[dict[str, object]] = [
        {"job_id": "01JD0000000000000000000001", "name": "db", "state": "killed"},
        {"job_id": "01JD0000000000000000000002", "name": "web", "state": "exited", "exit_code": 2},
        {"job_id": "01JD0000000000000000000003", "name": "\x1bmine", "state": "running", "error": "out of reach"},
    ]
    for kind in ("kill", "wait"):
        text = shown(kind, job_id=every[0]["job_id"], state="killed", jobs=every)
        assert "web  job 00000002: exited with code 2\n" in text
        assert "\\emine  job 00000003: out of reach\n" in text
        assert "00000001: " not in text, "the other lines are about it"


def test_what_a_job_uses_is_a_line_for_each_thing_with_its_limit() -> None:
    used = {
        "wall_ms": 60_000, "user_ms": 30_000, "system_ms": 3_000, "memory_bytes": 2_048, "peak_memory_bytes": 4_096,
        "processes": 2, "output_bytes": 10, "read_bytes": 0, "written_bytes": 1_024,
        "source": {"time": "rusage", "memory": "cgroup", "processes": "sampled"},
    }  # fmt: skip
    resources = {"memory": {"value": 1_073_741_824, "applied": "cgroup"}, "cpu_time": {"value": 60_000}}
    text = shown("usage", job_id="0" * 18 + "00ABCDEF", state="running", usage=used, resources=resources)
    assert text.splitlines() == [
        "job 00ABCDEF  running",
        "time       1 min",
        "processor  33 s, 55% of one: 30 s user, 3 s system  (limit 1 min, of its processes that have ended)",
        "memory     2 KiB now, at most 4 KiB  (limit 1 GiB)",
        "processes  2  (as far as seen now)",
        "output     10 B",
        "disk       0 B read, 1 KiB written",
    ]
    used = {"wall_ms": 60_000, "user_ms": None, "peak_memory_bytes": None, "source": {"time": "rusage"}}
    text = shown("usage", job_id="0" * 18 + "00ABCDEF", state="killed", reason="oom", usage=used)
    assert text == "job 00ABCDEF  killed: out of memory\ntime  1 min\n"


def test_a_list_of_anything_is_a_table_and_an_empty_one_a_sentence() -> None:
    hosts = [{"name": "local", "kind": "local", "default": True}, {"name": "box", "kind": "ssh", "default": False}]
    assert shown("hosts", hosts=hosts) == "NAME   KIND   DEFAULT\nlocal  local  yes\nbox    ssh    no\n"
    assert shown("token_list", root="/r", tokens=[]).startswith("There are no tokens")
    assert shown("policy_list", rules=[], approvals=[]) == "There are no rules, and nothing was approved for good.\n"


def test_members_of_an_object_are_lines_and_what_agents_get_twice_is_left_out() -> None:
    watch = {"id": "w1", "pattern": "x", "command": None, "once": False}
    text = shown("notify_set", job_id="J", sessionId="J", status="running", notification={"watches": [watch]})
    assert "sessionId" not in text and "status" not in text and "{" not in text
    assert "ID  PATTERN  ONCE\n        w1  x        no" in text


def test_a_list_with_v_has_owner_directory_and_command() -> None:
    text = human.answer(listed(job(owner="cli", cwd="/x", command=["a", "b c"])), STYLE, verbose=True)
    assert text.splitlines()[0].split()[-3:] == ["OWNER", "DIRECTORY", "COMMAND"]
    assert text.splitlines()[1].endswith("cli    /x         a 'b c'")


def test_events_of_one_kind_are_one_row() -> None:
    waits = [
        {"n": n, "at": f"2026-03-15T12:00:0{n}.000Z", "seq": n, "type": "waiting_for_input", "echo": True}
        for n in range(3)
    ]
    started = {"n": 9, "at": NOW, "seq": 0, "type": "started", "pid": 7}
    rows = shown("events", events=[started, *waits, started]).splitlines()[1:]
    assert [row.split()[2:5] for row in rows] == [
        ["started", "pid", "7"],
        ["waiting_for_input", "×", "3"],
        ["started", "pid", "7"],
    ]
    assert rows[1].startswith("2026-03-15T12:00:02.000Z  2 ")
