"""Waiting, ending, writing, labels, and definitions that run later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import GATE, python
from support.face import Face
from support.jobs import job_ids
from support.tools import UNKNOWN

ENOUGH_MS = 50_000  # a call that is answered before


def started(face: Face, command: str, **given: object) -> str:
    """Return a job that has put something out, and so is past its first line, and goes on."""
    job = face.background(command, **given)
    assert not face.ok("wait", job, until=["output"], since_seq=0, timeout_ms=ENOUGH_MS)["timed_out"]
    return job


# --- wait ----------------------------------------------------------------------------------------------------------


def test_wait_answers_when_the_job_ends_and_tells_how(face: Face, work: Path) -> None:
    job = face.background(f"echo out; {GATE}; exit 7")
    calls = [face.begin("wait", job, until=["exit"], timeout_ms=ENOUGH_MS, since_seq=0) for _ in range(3)]
    (work / "go").touch()
    for found in (call.result() for call in calls):
        assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 7, "exit")
        assert (found["output"], found["next_seq"], found["timed_out"]) == ("out\n", 4, False)
        assert (found["fired"]["condition"], found["fired"]["job_id"]) == ("exit", job)
    assert face.ok("wait", job, since_seq=4)["output"] == ""
    for condition in ("exit", "output"):  # what is already true is answered at once
        found = face.ok("wait", job, until=[condition], timeout_ms=0, since_seq=0)
        assert (found["timed_out"], found["fired"]["condition"]) == (False, condition)


def test_a_wait_that_runs_out_of_time_is_a_normal_answer_and_ends_nothing(face: Face) -> None:
    job = started(face, "echo up; sleep 60")
    found = face.ok("wait", job, timeout_ms=50, since_seq=0)
    assert (found["timed_out"], found["fired"], found["state"], found["exit_code"]) == (True, None, "running", None)
    assert (found["output"], found["idle_ms"] >= 0) == ("up\n", True)
    assert face.ok("status", job)["state"] == "running"


def test_wait_until_output_is_woken_by_the_first_byte_after_the_cursor(face: Face, work: Path) -> None:
    job = started(face, f"echo up; {GATE}; echo more; sleep 60")
    assert face.ok("wait", job, until=["output"], since_seq=3, timeout_ms=50)["timed_out"]
    call = face.begin("wait", job, until=["output"], since_seq=3, timeout_ms=ENOUGH_MS)
    (work / "go").touch()
    found = call.result()
    assert (found["output"], found["fired"]["condition"]) == ("more\n", "output")


def test_of_several_jobs_the_first_to_end_or_the_last_decides(face: Face, work: Path) -> None:
    # A start that is answered after the end would have read the output already
    slow, quick = face.background(f"{GATE}; exit 1"), face.background(f"{GATE.replace('go', 'now')}; echo q; exit 5")
    (work / "now").touch()
    both = face.begin("wait", job=[slow, quick], mode="all", timeout_ms=ENOUGH_MS)
    found = face.ok("wait", job=[slow, quick], timeout_ms=ENOUGH_MS)
    assert (found["job_id"], found["exit_code"], found["output"]) == (quick, 5, "q\n")
    assert [(one["job_id"], one["state"], one["exit_code"], one["fired"] is None) for one in found["jobs"]] == [
        (slow, "running", None, True),
        (quick, "exited", 5, False),
    ]
    late = face.ok("wait", job=[slow, quick], mode="all", timeout_ms=50)
    assert (late["timed_out"], late["job_id"], late["fired"]) == (True, slow, None)
    assert not both.is_done()
    (work / "go").touch()
    found = both.result()
    assert (found["timed_out"], [one["exit_code"] for one in found["jobs"]]) == (False, [1, 5])
    assert "jobs" not in face.ok("wait", job=[quick, quick]), "one job named twice is one job"


def test_what_cannot_be_waited_for_is_refused(face: Face) -> None:
    job = face.ok("run", command="true")["job_id"]
    face.error("wait", job=[job, UNKNOWN], code="job_not_found")
    face.error("wait", job, mode="some", code="invalid_argument")
    assert "exit" in face.error("wait", job, until=["exti"], code="invalid_argument")["hint"]
    face.error("wait", job, timeout_ms=-1, code="invalid_argument")


# --- kill ----------------------------------------------------------------------------------------------------------


def test_kill_ends_a_job_by_term_and_says_who_asked(face: Face) -> None:
    job, other = face.background("sleep 60"), face.background("sleep 60")
    killed = face.ok("kill", job)
    assert (killed["state"], killed["reason"], killed["signal"]) == ("killed", "kill", "SIGTERM")
    assert (killed["exit_code"], killed["survivors"]) == (None, [])
    status = face.ok("status", job)
    assert (status["state"], status["signal"], status["reason"]) == ("killed", "SIGTERM", "kill")
    assert killed["ended_by"] == status["owner"]
    assert face.ok("status", other)["state"] == "running"


@pytest.mark.fault("F36")
def test_kill_of_a_job_that_ended_changes_nothing_and_of_a_created_one_is_refused(face: Face) -> None:
    job = face.ok("run", command="exit 3")["job_id"]
    for _ in range(2):
        killed = face.ok("kill", job)
        told = (killed["state"], killed["exit_code"], killed["reason"], killed["survivors"], killed["ended"])
        assert told == ("exited", 3, "exit", [], [])
        assert (killed["already_ended"], killed["hint"]) == (True, "It had ended before: no signal was sent.")
    created = face.ok("create", command="true")["job_id"]
    face.error("kill", created, code="invalid_state")
    assert face.ok("start", created)["exit_code"] == 0


@pytest.mark.fault("F36")
def test_kills_at_once_all_get_an_answer(face: Face) -> None:
    job = started(face, "trap '' TERM; echo up; while :; do sleep 0.05; done")
    calls = [face.begin("kill", job, grace_ms=100) for _ in range(4)]
    answers = [call.result() for call in calls]
    assert [(answer["ok"], answer.get("state")) for answer in answers] == [(True, "killed")] * 4


# --- write ---------------------------------------------------------------------------------------------------------


def test_data_arrives_as_it_is_and_eof_ends_the_input(face: Face) -> None:
    job = face.background("cat; echo end", stdin="open")
    assert face.ok("write", job, data="ä one\n")["bytes_written"] == 7
    face.until(job, lambda found: found["next_seq"] == 7, "what was written comes back")
    found = face.ok("write", job, data="two", eof=True, wait_ms=0)
    assert (found["bytes_written"], found["stdin"]) == (3, "closed")
    assert face.ok("wait", job, until=["exit"], since_seq=0, timeout_ms=ENOUGH_MS)["output"] == "ä one\ntwoend\n"
    face.error("write", job, data="y", code="stdin_closed")


def test_a_write_that_waits_answers_with_what_the_program_says_to_it(face: Face) -> None:
    job = started(face, "echo before; while read line; do echo got $line; done; exit 3", stdin="open")
    face.until(job, lambda found: found["waiting_for_input"], "its first question")
    found = face.ok("write", job, data="one\n", wait_ms=20_000)
    assert found["output"].endswith("got one\n")
    assert (found["bytes_written"], found["state"], found["waiting_for_input"]) == (4, "running", True)
    found = face.ok("write", job, data="two\n", eof=True, wait_ms=20_000)
    assert (found["output"], found["stdin"], found["since_seq"]) == ("got two\n", "closed", 15)
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "exit")


def test_a_closed_stdin_and_a_created_job_take_no_data(face: Face) -> None:
    closed = face.background("sleep 60")
    assert "open" in face.error("write", closed, data="x", code="stdin_closed")["hint"]
    created = face.ok("create", command="true", stdin="open")["job_id"]
    face.error("write", created, data="x", code="invalid_state")
    face.error("write", UNKNOWN, data="x", code="job_not_found")


# --- labels, definitions -------------------------------------------------------------------------------------------


def test_tag_set_replaces_all_tags_and_none_clears_them(face: Face) -> None:
    job = face.ok("run", command="true", tags=["old"])["job_id"]
    assert face.ok("tag set", job, tags=["b", "a", "b"])["tags"] == face.ok("status", job)["tags"] == ["b", "a"]
    for tag in ("a.*", "a b", ""):
        face.error("tag set", job, tags=["new", tag], code="invalid_tag")
    assert face.ok("status", job)["tags"] == ["b", "a"], "a wrong tag changes nothing"
    assert face.ok("tag set", job, tags=[])["tags"] == face.ok("status", job)["tags"] == []


def test_a_definition_runs_once_when_it_is_started_and_again_as_another_job(face: Face, root: Path, work: Path) -> None:
    (work / "sub").mkdir()
    command = 'pwd; echo "$A$B"; exit 5'
    made = face.ok("create", command=command, cwd="sub", env={"A": "1", "B": "1"}, tags=["t"], title="later")
    assert (made["state"], made["name"]) == ("created", "later")
    assert Path(made["stdout_log_path"]).read_bytes() == b""
    status = face.ok("status", made["job_id"])
    told = (status["state"], status["pid"], status["exit_code"], status["tags"], status["name"], status["created_at"])
    assert told == ("created", None, None, ["t"], "later", made["created_at"])
    assert "started_at" not in status
    first = face.ok("start", made["job_id"])
    assert (first["type"], first["job_id"], first["state"], first["exit_code"]) == (
        "start",
        made["job_id"],
        "exited",
        5,
    )
    assert (first["output"], first["tags"]) == (f"{work}/sub\n11\n", ["t"])
    assert first["created_at"] == made["created_at"] <= first["started_at"]
    face.error("start", made["job_id"], code="invalid_state")
    again = face.ok("restart", made["job_id"], env={"B": "2", "C": "3"})
    assert (again["type"], again["restarted_from"], again["name"]) == ("restart", made["job_id"], "later")
    assert (again["state"], again["exit_code"], again["tags"]) == ("exited", 5, ["t"])
    assert face.ok("status", again["job_id"])["restarted_from"] == made["job_id"]
    assert face.ok("log", made["job_id"])["output"] == first["output"], "the first run stays as it was"
    assert (again["output"], sorted(again["env_vars"])) == (f"{work}/sub\n12\n", ["A=1", "B=2", "C=3"])
    assert len(job_ids(root)) == 2


def test_a_start_and_a_restart_wait_for_a_condition(face: Face) -> None:
    made = face.ok("create", command="echo one; sleep 0.1; echo two")["job_id"]
    ready: dict[str, Any] = {"until": ["regex=^two"], "yield_ms": ENOUGH_MS}
    assert face.ok("start", made, **ready)["fired"]["line"] == "two"
    face.ok("wait", made, timeout_ms=ENOUGH_MS)
    again = face.ok("restart", made, **ready)
    assert (again["fired"]["seq"], again["restarted_from"]) == (4, made)


def test_a_restart_waits_for_what_the_first_start_waited_for_unless_it_says_otherwise(face: Face) -> None:
    command = "echo one; sleep 0.3; echo ready on 3000; sleep 0.3; echo three; exec sleep 600"
    first = face.ok("run", command=command, until=["regex=^ready"], yield_ms=ENOUGH_MS)
    again = face.ok("restart", first["job_id"], yield_ms=ENOUGH_MS)
    assert (again["fired"]["line"], again["state"], again["timed_out"]) == ("ready on 3000", "running", False)
    third = face.ok("restart", again["job_id"], until=["regex=^three"], yield_ms=ENOUGH_MS)
    assert third["fired"]["line"] == "three"
    assert face.ok("restart", third["job_id"], yield_ms=ENOUGH_MS)["fired"]["line"] == "three", "what was said last"
    made = face.ok("create", command=command)["job_id"]
    face.ok("start", made, until=["regex=^ready"], yield_ms=ENOUGH_MS)
    late = face.ok("restart", made, yield_ms=0)
    assert (late["timed_out"], late["state"]) == (True, "running"), "the call says how long"
    assert "fired" not in face.ok("restart", face.ok("run", command="echo ready")["job_id"])
    for job in (first, again, third):
        face.ok("remove", job=[job["job_id"]])


@pytest.mark.fault("F11")
def test_of_callers_that_start_a_job_at_once_one_does(face: Face, work: Path) -> None:
    made = face.ok("create", command="echo x >> starts")["job_id"]
    calls = [face.begin("start", made) for _ in range(4)]
    answers = [call.result() for call in calls]
    assert sorted(one["ok"] for one in answers) == [False, False, False, True]
    assert {one["error"]["code"] for one in answers if not one["ok"]} == {"invalid_state"}
    assert (work / "starts").read_text() == "x\n"


def test_the_newest_job_with_a_title_is_meant_and_the_answer_says_which_while_another_runs(face: Face) -> None:
    old = face.background(f"echo old; {GATE}", title="the web")
    job = face.ok("run", command=["echo", "new"], title="the web")["job_id"]
    face.ok("run", command="true", title="the webs")
    said = f"'the web' is a title: this is the newest job that has it, {job}; {old[-8:]} runs too."
    for count, verb in enumerate(("status", "poll", "wait", "log", "events", "kill")):
        found = face.ok(verb, "the  web")  # blanks as `run` stores them
        assert found["job_id"] == job, verb
        # A session is told once, a command line, which has none, each time
        assert (said in found.get("hint", "")) is (not count or face.name == "cli"), verb
    face.ok("kill", old)
    face.until(old, lambda status: status["finished_at"], "its end")
    assert "is a title" not in face.ok("log", "the web").get("hint", "")
    assert face.ok("log", "the web")["output"] == "new\n"
    assert face.ok("restart", "the web")["restarted_from"] == job
    face.error("log", "we", code="job_not_found")
    face.error("remove", "the web", code="invalid_argument")


def test_output_is_read_in_the_encoding_that_is_named(face: Face) -> None:
    job = face.ok("run", command=r"printf '\311\317\272\243\n'")["job_id"]
    for verb in ("log", "poll"):
        assert face.ok(verb, job, encoding="gbk", since_seq=0)["output"] == "上海\n"
    assert face.ok("tail", job, encoding="gbk")["stdout_tail"] == "上海\n"
    assert "'hex' is no encoding of text" in face.error("log", job, encoding="hex", code="invalid_argument")["message"]


def test_a_position_beyond_the_end_of_the_output_is_told(face: Face) -> None:
    job = face.ok("run", command=python("print('out'); print('more')")[1:])["job_id"]
    for verb in ("poll", "wait", "log", "events"):
        found = face.ok(verb, job, since_seq=10)
        assert "since_seq 10 is beyond the end of the output, 9" in found["hint"], verb
        assert "beyond" not in face.ok(verb, job, since_seq=9).get("hint", ""), verb
