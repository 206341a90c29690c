"""Starting a command: words, output, how the end is told and when, time-outs, keys, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support import processes, trees
from support.commands import GATE, in_order, python
from support.face import Face
from support.jobs import job_ids
from support.tiers import first

ENOUGH_MS = 50_000  # a call that is answered before
FILE = __file__  # which is no directory
ENDLESS = "while :; do sleep 0.05; done"


# --- output and the end --------------------------------------------------------------------------------------------


def test_a_short_command_is_answered_with_its_output_and_its_code(face: Face, work: Path) -> None:
    found = face.ok("run", command="echo out; echo err >&2; exit 3")
    assert (found["state"], found["exit_code"], found["reason"], found["signal"]) == ("exited", 3, "exit", None)
    assert sorted(found["output"].splitlines()) == ["err", "out"]
    assert (found["snapshot"]["stdout_tail"], found["snapshot"]["stderr_tail"]) == ("out\n", "err\n")
    assert Path(found["stdout_log_path"]).read_bytes() == b"out\n"
    assert Path(found["stderr_log_path"]).read_bytes() == b"err\n"
    assert (found["cwd"], found["truncated"], found["next_seq"]) == (str(work), False, 8)
    assert found["started_at"] <= found["finished_at"]
    assert found["short_id"] == found["job_id"][-8:]


@pytest.mark.parametrize("code", first(2, [1, 255, 137]))
def test_an_exit_code_is_told_as_it_was(face: Face, code: int) -> None:
    found = face.ok("run", command=f"exit {code}")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", code, "exit")


@pytest.mark.parametrize("name", first(2, ["KILL", "INT", "HUP"]))
def test_a_command_ended_by_a_signal_is_killed_and_names_the_signal(face: Face, name: str) -> None:
    found = face.ok("run", command=python(f"import os, signal; os.kill(os.getpid(), signal.SIG{name})")[1:])
    assert (found["state"], found["signal"], found["exit_code"]) == ("killed", f"SIG{name}", None)
    assert found["reason"] == "signal"


@pytest.mark.fault("F56")
def test_a_program_that_is_not_there_fails_at_its_launch(face: Face) -> None:
    found = face.ok("run", command=["no-such-program-anywhere", "x"])
    assert (found["state"], found["reason"], found["errno"], found["exit_code"]) == ("failed", "launch", "ENOENT", None)
    assert "no-such-program-anywhere" in found["message"]
    status = face.ok("status", found["job_id"])
    assert (status["state"], status["reason"], status["errno"]) == ("failed", "launch", "ENOENT")
    shell = face.ok("run", command="no-such-command-anywhere")
    assert (shell["state"], shell["exit_code"]) == ("exited", 127)


def test_a_command_without_output_has_empty_output(face: Face) -> None:
    found = face.ok("run", command="true")
    assert (found["output"], found["next_seq"], found["snapshot"]["stdout_tail"]) == ("", 0, "")


# --- what describes a command --------------------------------------------------------------------------------------


def test_several_words_are_an_argument_vector_that_no_shell_sees(face: Face) -> None:
    words = ["echo", "$HOME", "a  b", ";", "*", "", "--root"]
    found = face.ok("run", command=words)
    assert (found["output"], found["command"]) == ("$HOME a  b ; *  --root\n", words)


@pytest.mark.parametrize(
    "text",
    [
        '["echo", "$HOME", "*"]',
        '[\n  "echo",\n  "$HOME",\n  "*"\n]',
        ' ["echo","$HOME","*"]\n',
        '[ "echo", "$HOME", "*" ]',
    ],
)
def test_the_text_of_an_array_is_that_array(face: Face, work: Path, text: str) -> None:
    (work / "e").touch()  # which a shell would find for the pattern
    ran = face.ok("run", command=text)
    assert (ran["output"], ran["exit_code"]) == ("$HOME *\n", 0)
    assert face.ok("status", ran["job_id"])["command"] == ["echo", "$HOME", "*"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('["echo", 1]', "an array of 2 values that are not all strings"),
        ('["echo"', "no JSON"),
        ('["a"] && ["b"]', "no JSON"),
        ("[]", "an empty array"),
        ("[1,2]", "an array of 2 values that are not all strings"),
        ("[ 1, 2 ]", "an array of 2 values that are not all strings"),
        ("[null]", "an array of 1 values that are not all strings"),
        (r'["echo", "\ud800"]', "an array with a NUL character, or half a character"),
        (r'["echo", "\u0000"]', "an array with a NUL character, or half a character"),
    ],
)
def test_the_text_of_no_argument_vector_is_refused_with_what_was_seen(
    face: Face, root: Path, text: str, seen: str
) -> None:
    error = face.error("run", command=text, code="invalid_argument")
    assert f"looks like the text of an array, but is {seen}" in error["message"]
    assert job_ids(root) == set()


@pytest.mark.parametrize("text", ['[ "x" ]', "[[ a == [a]* ]]", "[ 1 ]", "[ -d . ]", "[ -d / ] && true"])
def test_a_test_of_the_shell_is_no_array(face: Face, text: str) -> None:
    ran = face.ok("run", command=text, shell="bash -c")
    assert ran["exit_code"] == 0 and ran["command"] == [text]


def test_a_command_has_a_directory_variables_and_input(face: Face, root: Path, work: Path) -> None:
    (work / "sub dir").mkdir()
    assert face.ok("run", command=["pwd"], cwd="sub dir")["output"] == f"{work}/sub dir\n"
    assert face.ok("run", command=["printenv", "PWD"], cwd="sub dir")["output"] == f"{work}/sub dir\n"
    above = face.ok("run", command=["pwd"], cwd=f"{work}/sub dir/..")
    assert (above["output"], above["cwd"]) == (f"{work}\n", str(work))
    secret = "s3cr3t=with $signs"
    show = 'echo "$PLAIN|$TOKEN|$OUTLIVE_JOB_ID|$OUTLIVE_ROOT|$OUTLIVE_SHELL"'
    env = face.ok("run", command=show, env={"PLAIN": "$HOME x", "TOKEN": secret}, mask=["TOKEN"])
    assert env["output"] == f"$HOME x|{'*' * len(secret)}|{env['job_id']}|{root}|exec\n"
    for answer in (env, face.ok("status", env["job_id"])):
        assert sorted(answer["env_vars"]) == ["PLAIN=$HOME x", "TOKEN=***"]
    for path, content in trees.contents(root / env["job_id"]).items():
        assert secret.encode() not in content or path.suffix == ".log", path
    assert face.ok("run", command="cat; echo end", stdin_data="zwei\nöl")["output"] == "zwei\nölend\n"
    assert face.ok("run", command="wc -c", stdin_data="")["output"].strip() == "0"
    assert face.ok("run", command="cat; echo end")["output"] == "end\n", "stdin is closed unless it is asked for"


def test_what_outlive_itself_tells_a_job_cannot_be_given(face: Face, root: Path) -> None:
    ours = ("JOB_ID", "ROOT", "SHELL", "EVENT_PATH", "EVENT_TYPE")
    show = ["sh", "-c", "; ".join(f'echo "${{OUTLIVE_{name}-}}"' for name in ours)]
    ran = face.ok("run", command=show, env={f"OUTLIVE_{name}": "given" for name in ours})
    assert ran["output"].split("\n") == [ran["job_id"], str(root), "exec", "", "", ""]


@pytest.mark.parametrize(
    "between",
    [b"\x1b[01;31m\x1b[K", b"\0", b"\x1b]8;;http://x\x07", b"\xc2\x9b1m", b"\xe2\x80\xae"],
    ids=["colour", "nul", "link", "8 bits", "direction"],
)
def test_what_is_not_seen_in_a_masked_value_does_not_hide_it(face: Face, between: bytes) -> None:
    secret = "hunter2secretVALUE77"
    write = (
        f"import os, sys; sys.stdout.buffer.write(({between!r}).join([b'is hunter2', b'secret', b'VALUE77']) + b'\\n')"
    )
    given = {"env": {"API_TOKEN": secret}, "mask": ["API_TOKEN"]}
    ran = face.ok("run", command=[sys.executable, "-c", write], until=["exit"], **given)
    log, raw = face.ok("log", ran["job_id"]), face.ok("log", ran["job_id"], raw=True)
    tail, listed = face.ok("tail", ran["job_id"])["stdout_tail"], face.ok("list")["jobs"][0]["last_line"]
    for text in (ran["output"], log["output"], raw["output"], tail, listed):
        assert text.startswith("is ****") and "VALUE" not in text and "secret" not in text, text


def test_a_mask_that_can_mask_nothing_is_told(face: Face) -> None:
    found = face.ok("run", command="echo $PIN", env={"PIN": "123"}, mask=["PIN", "NOWHERE"])
    assert found["output"] == "123\n"
    assert "mask names no variable of the job: NOWHERE." in found["hint"]
    assert "The value of PIN is too short to be masked in output (under 4 characters)." in found["hint"]


def test_another_shell_can_be_asked_for(face: Face) -> None:
    assert face.ok("run", command="echo $0", shell="sh -c")["output"] == "sh\n"
    assert face.ok("run", command="print(6 * 7)", shell=f"{sys.executable} -c")["output"] == "42\n"


def test_a_job_is_named_by_its_title_or_else_by_verb_and_target(face: Face) -> None:
    assert face.ok("run", command="true", title="the build")["name"] == "the build"
    assert face.ok("run", command=["true", "--quiet", "target"])["name"] == "true target"
    assert face.ok("run", command="X=1 /bin/echo -n hello | cat")["name"] == "echo hello"


def test_tags_are_kept_once_each_in_their_order_and_find_the_job(face: Face) -> None:
    found = face.ok("run", command="true", tags=["project.build", "ci", "project.build"])
    assert found["tags"] == face.ok("status", found["job_id"])["tags"] == ["project.build", "ci"]
    face.ok("run", command="true", tags=["projector"])
    listed = face.ok("list", all=True, tags=["project.*"])["jobs"]
    assert [job["job_id"] for job in listed] == [found["job_id"]]


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        *(({"tags": [tag]}, "invalid_tag", "tags") for tag in ("", "a b", "a.*", "ä", "a\n", "a..b", "a_b")),
        *(({"shell": shell}, "invalid_argument", "shell") for shell in ("no-such-shell -c", "", "'unclosed")),
        ({"command": ""}, "invalid_argument", "command"),
        ({"command": "  "}, "invalid_argument", "command"),
        ({"command": ["", "x"]}, "invalid_argument", "command"),
        *(({"cwd": path}, "invalid_argument", "cwd") for path in ("missing", "", FILE, f"{FILE}/below")),
        *(({"mask": [name]}, "invalid_argument", "mask") for name in ("TOKEN=x", "", "1A")),
        ({"title": "x" * 200}, "invalid_argument", "title"),
        *(({"env": {name: "1"}}, "invalid_argument", "env") for name in ("A-B", "1A", "A B")),
        ({"watch": ["("]}, "invalid_argument", "watch"),
        ({"until": ["prt=80"]}, "invalid_argument", "until"),
        *(({"quota_bytes": size}, "invalid_argument", "quota_bytes") for size in (65_535, -1, "much")),
    ],
)
def test_what_is_refused_is_named_and_nothing_runs(
    face: Face, root: Path, work: Path, given: dict[str, Any], code: str, field: str
) -> None:
    error = face.error("run", code=code, **{"command": "touch ran", **given})
    assert error["details"]["field"] == field
    assert job_ids(root) == set()
    assert not (work / "ran").exists()


# --- when the answer comes -----------------------------------------------------------------------------------------


def test_without_patience_the_answer_comes_while_it_runs(face: Face) -> None:
    found = face.ok("run", command="sleep 60", yield_ms=0)
    assert found["state"] == "running"
    assert found["pid"] and processes.is_alive(found["pid"])
    assert {"exit_code", "signal", "reason", "finished_at"}.isdisjoint(found)
    assert found["hint"]


def test_the_answer_of_a_running_job_holds_what_it_put_out_so_far(face: Face) -> None:
    for patience_ms in (200, 2_000, 20_000):  # enough for a shell to start and to print
        found = face.ok("run", command="echo so far; sleep 60", yield_ms=patience_ms)
        if found["output"]:
            break
    assert (found["state"], found["output"], found["snapshot"]["stdout_tail"]) == ("running", "so far\n", "so far\n")


def test_a_condition_is_answered_when_it_holds(face: Face) -> None:
    command = "echo starting; echo listening on 80; sleep 60"
    up = face.ok("run", command=command, until=["regex=listening on", "fail_regex=error"], yield_ms=ENOUGH_MS)
    assert (up["state"], up["timed_out"], up["fired"]["line"]) == ("running", False, "listening on 80")
    late = face.ok("run", command="exec sleep 60", until=["file=never"], yield_ms=50)
    assert (late["state"], late["fired"], late["timed_out"]) == ("running", None, True)
    assert "there is no" in late["hint"]


def test_the_end_of_the_job_ends_the_wait_for_what_cannot_come_any_more(face: Face) -> None:
    found = face.ok("run", command="echo address in use; exit 3", until=["regex=ready"], yield_ms=ENOUGH_MS)
    assert (found["fired"]["condition"], found["exit_code"], found["timed_out"]) == ("exit", 3, False)
    assert found["hint"].startswith("The job ended before regex came true.")


def test_a_question_is_answered_before_what_is_waited_for(face: Face) -> None:
    ask = "printf 'Name? '; read name; echo hello"
    found = face.ok("run", command=ask, stdin="open", until=["regex=hello"], yield_ms=ENOUGH_MS)
    assert (found["fired"]["condition"], found["waiting_for_input"], found["prompt"]) == ("input", True, "Name?")


# --- time-outs -----------------------------------------------------------------------------------------------------


def _timed_out(face: Face, command: str, limit: str = "timeout_ms", **given: Any) -> dict[str, Any]:
    """Return the answer about a command whose time was over after it had said that it is up."""
    for limit_ms in (150, 1_000, 5_000, 20_000):
        found = face.ok("run", command=command, yield_ms=ENOUGH_MS, **{limit: limit_ms}, **given)
        if "up\n" in found["output"]:
            return found
    raise AssertionError(f"it was never up in time: {found}")


def test_a_time_out_ends_the_job_and_looks_like_one(face: Face) -> None:
    found = _timed_out(face, "echo up; sleep 60")
    assert (found["state"], found["reason"], found["exit_code"]) == ("killed", "timeout", None)
    assert found["signal"] in ("SIGTERM", "SIGKILL")
    assert face.ok("status", found["job_id"])["reason"] == "timeout"


def test_between_term_and_kill_the_command_has_time_to_clean_up(face: Face) -> None:
    found = _timed_out(face, f"trap 'echo cleaned; exit 3' TERM; echo up; {ENDLESS}", kill_after_ms=20_000)
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "timeout")
    assert found["output"].endswith("cleaned\n")  # after the shell's word about its child, which got SIGTERM too


def test_a_command_that_ignores_term_is_killed_after_kill_after(face: Face) -> None:
    found = _timed_out(face, f"trap '' TERM; echo up; {ENDLESS}", kill_after_ms=150)
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "timeout")


def test_a_quiet_job_is_ended_by_the_idle_time_out(face: Face) -> None:
    found = _timed_out(face, "echo up; sleep 60", "idle_timeout_ms")
    assert (found["state"], found["reason"], found["output"]) == ("killed", "idle_timeout", "up\n")


def test_every_answer_about_a_running_job_says_its_time_out(face: Face) -> None:
    found = face.ok("run", command="sleep 60", yield_ms=0, timeout_ms=90_000)
    job = found["job_id"]
    answers = [found, face.ok("status", job), face.ok("poll", job), face.ok("wait", job, timeout_ms=0)]
    assert [answer["timeout_ms"] for answer in answers] == [90_000] * 4


# --- dedupe_key ----------------------------------------------------------------------------------------------------


@pytest.mark.fault("F07")
def test_a_running_job_with_the_same_key_is_answered_instead_of_started_twice(
    face: Face, root: Path, work: Path
) -> None:
    (work / "sub").mkdir()
    given: dict[str, Any] = {"command": GATE, "dedupe_key": "dev server", "yield_ms": 0}
    first_one, again = face.ok("run", **given), face.ok("run", **given)
    assert (again["job_id"], again["deduplicated"]) == (first_one["job_id"], True)
    assert not first_one.get("deduplicated")
    assert len(job_ids(root)) == 1
    others = [face.ok("run", **given | more) for more in ({"dedupe_key": "other"}, {"cwd": "sub"})]
    (work / "go").touch()
    (work / "sub/go").touch()
    face.ok("wait", first_one["job_id"], until=["exit"], timeout_ms=ENOUGH_MS)
    others.append(face.ok("run", **given))
    assert len({first_one["job_id"], *(one["job_id"] for one in others)}) == 4
    assert not any(one.get("deduplicated") for one in others)


def test_of_callers_that_ask_at_once_with_one_key_only_one_starts_it(face: Face) -> None:
    calls = [face.begin("run", command="sleep 60", dedupe_key="k", yield_ms=0) for _ in range(4)]
    answers = [call.result() for call in calls]
    assert all(answer["ok"] for answer in answers), answers
    assert len({answer["job_id"] for answer in answers}) == 1
    assert sum(not answer.get("deduplicated") for answer in answers) == 1


def test_a_running_job_with_the_same_key_is_waited_for_as_well(face: Face, work: Path) -> None:
    given: dict[str, Any] = {"command": f"echo up; {GATE}", "dedupe_key": "server", "until": ["regex=up"]}
    first_one, again = (face.ok("run", yield_ms=ENOUGH_MS, **given) for _ in range(2))
    assert (again["job_id"], again["deduplicated"], again["fired"]) == (first_one["job_id"], True, first_one["fired"])
    (work / "go").touch()


@pytest.mark.parametrize(("given", "kept"), first(2, [(65_536, 65_536), ("1M", 1 << 20), (0, 0), ("0", 0)]))
def test_a_quota_is_a_number_or_a_size_and_zero_is_none(face: Face, given: Any, kept: int) -> None:
    job = face.ok("run", command="true", quota_bytes=given)["job_id"]
    assert face.ok("status", job)["quota_bytes"] == kept


@pytest.mark.fault("F63")
def test_jobs_started_at_once_all_end_with_their_own_output(face: Face, root: Path) -> None:
    calls = [face.begin("run", command=f"echo {i}; exit {i}", yield_ms=ENOUGH_MS) for i in range(6)]
    answers = [call.result() for call in calls]
    assert [(one["output"], one["exit_code"]) for one in answers] == [(f"{i}\n", i) for i in range(6)]
    assert len(job_ids(root)) == 6


def test_a_search_that_finds_nothing_names_the_case_that_would(face: Face) -> None:
    job = face.ok("run", command="echo one; echo Error: two; echo 'three ü'")["job_id"]
    assert face.ok("log", job, search="^error")["hint"] == "No line matches '^error'. (?i)^error finds line 2."
    assert face.ok("log", job, search="THREE Ü")["hint"] == "No line matches 'THREE Ü'. (?i)THREE Ü finds line 3."
    assert face.ok("log", job, search="four")["hint"] == "No line matches 'four'."
    assert "hint" not in face.ok("log", job, search="Error")


def test_a_search_finds_a_line_that_the_other_stream_cut_in_two(face: Face) -> None:
    pieces = ((1, "first\nexpected 2"), (2, "warning: de"), (1, "00 got 500\n"), (2, "precated\n"), (1, "last\n"))
    job = face.ok("run", command=in_order(*pieces)[1:])["job_id"]
    found = face.ok("log", job, search="expected 200", context=0)
    assert (found["matches"], found["output"]) == (1, "2:expected 200 got 500\n")
    assert found["hint"] == "Output of both streams is mixed within lines: this is stream=stdout alone."
    end = found["next_seq"]
    late = face.ok("log", job, search="deprecated$", times=True)
    assert (late["output"], late["first_line"], late["next_seq"]) == ("1:warning: deprecated\n", 1, end)
    assert "stream=stderr alone" in late["hint"] and len(late["times"]) == 1
    assert face.ok("log", job, search="expected 200", since_seq=end)["matches"] == 0
    assert face.ok("log", job, search="EXPECTED")["hint"].startswith(
        "No line matches 'EXPECTED'. (?i)EXPECTED finds line"
    )
    assert "hint" not in face.ok("log", job, search="last"), "the merged lines come first"


def test_braces_mean_nothing_without_ports(face: Face) -> None:
    assert face.ok("run", command="echo {port:web} {port:}")["output"] == "{port:web} {port:}\n"
