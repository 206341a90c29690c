"""What answers say about a job besides its state and its output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import python
from support.face import Face
from support.tiers import IN_TURN


@IN_TURN
@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("sleep 600 >/dev/null & expr 1 >/dev/null; echo done", 0, "Exit code 0 is that of `echo`"),
        ("sleep 600 & read answer", 1, None),
        ("sleep 600 & echo 'the input device is not a TTY' >&2; exit 1", 1, None),
        ("sleep 600 & printf '\\311\\317'", 0, "not UTF-8"),
    ],
    ids=["whose code", "its code alone", "cause", "encoding"],
)
def test_what_is_left_running_is_said_first_beside_all_else(
    face: Face, command: str, code: int, says: str | None
) -> None:
    found = face.ok("run", command=command)
    job = found["job_id"]
    left = f"1 process that job {found['short_id']} started is still alive; kill ends it"
    answers: dict[str, dict[str, Any]] = {"run": found}
    answers |= {verb: face.ok(verb, job) for verb in ("wait", "poll", "status")}
    for verb, answer in answers.items():
        assert answer["exit_code"] == code
        assert answer["hint"].startswith(left), verb
        advice = answer["advice"]
        assert {name: advice[0][name] for name in ("kind", "job_id", "processes")} == {
            "kind": "left_running", "job_id": job, "processes": 1,
        }, verb  # fmt: skip
        assert " ".join(one["text"] for one in advice) == answer["hint"], verb
    assert says is None or says in found["hint"]
    face.ok("kill", job)
    face.until(job, lambda status: "still alive" not in str(status.get("hint")), "the end of what was left")


def test_what_a_string_prints_itself_is_no_failure_of_a_command_in_it(face: Face) -> None:
    found = face.ok("run", command="expr 1; echo 'Error: none of 3 tests failed'")
    assert found["hint"] == "Exit code 0 is that of `echo`, not of `expr`."


def test_windows_line_ends_in_a_file_that_is_run_are_named(face: Face, work: Path) -> None:
    for name, text in {
        "crlf.sh": "#!/bin/sh\necho hi\nexit 0\n", "envy": "#!/usr/bin/env python3\nprint(1)\n",
        "plain": "cd /\nfalse\n", "vars": "A=1\n", "deploy": "#!/bin/sh -e\ntrue\n",
        "lf.py": "import sys\nsys.exit(3)\n",
    }.items():  # fmt: skip
        (work / name).write_bytes(text.encode().replace(b"\n", b"\r\n"))
        (work / name).chmod(0o755)
    launched = face.ok("run", command=["./crlf.sh", "x"])
    assert launched["reason"] == "launch"
    assert "its first line ends with CR LF, and there is no interpreter /bin/sh\\r" in launched["message"]
    for command, file in (
        (["./crlf.sh", "x"], "./crlf.sh"), ("./crlf.sh", "./crlf.sh"), (["./envy", "x"], "./envy"), ("cd . && ./envy", "./envy"),
        ("bash plain", "plain"), (["sh", "-e", "plain"], "plain"), ("timeout 5 ./deploy", "./deploy"),
        (". ./vars; test $A = 1", "./vars"),
    ):  # fmt: skip
        said = (
            f"{file} has Windows line ends (CR LF), and the CR is taken for a part of the last word of a line: `sed -i"
        )
        assert said in str(face.ok("run", command=command).get("hint")), command
    assert "hint" not in face.ok("run", command=["python3", "lf.py"])
    found = face.ok("run", command=["bash"], stdin_data="cd /\r\n")
    assert "A file that it runs or reads has Windows line ends" in found["hint"]


def test_a_loop_that_looks_for_its_own_words_is_not_waited_for_in_vain(face: Face) -> None:
    job = face.background("while pgrep -f outlive-own-words-of-this-test; do sleep 0.2; done")
    said = "`pgrep -f outlive-own-words-of-this-test` matches its own shell"
    for verb in ("poll", "status", "wait"):
        assert said in face.ok(verb, job, **({"timeout_ms": 50} if verb == "wait" else {}))["hint"]


def test_a_character_that_looks_like_a_space_is_named(face: Face) -> None:
    said = "has U+00A0 (no-break space) at character 3"
    assert said in face.ok("run", command="ls\u00a0-l")["hint"]
    assert said in face.ok("run", command=["ls\u00a0-l", "/"])["hint"], "it never ran"
    assert "hint" not in face.ok("run", command="grep 'a\u00a0b' /dev/null")


def test_who_holds_the_port_that_a_failed_job_wanted_is_said_without_a_condition(face: Face) -> None:
    serves = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"
    )
    server = face.ok("run", command=python(serves)[1:], until=["regex=[0-9]"], title="the server")
    port = server["output"].strip()
    held = f"Port {port} is held by pid {server['pid']} ("
    fails = f"import socket; socket.create_server(('127.0.0.1', {port}))"
    for command in (python(fails)[1:], f"echo 'Error: listen EADDRINUSE: address already in use :::{port}' >&2; false"):
        found = face.ok("run", command=command)
        assert held in found["hint"] and f"of job {server['job_id']} (the server)" in found["hint"]
        assert found["hint"].endswith(f"or kill job {server['job_id']}.")
    assert "held by" not in str(face.ok("run", command=f"echo address already in use :{port}; ls /").get("hint"))


def test_an_end_without_a_word_is_explained(face: Face, work: Path) -> None:
    (work / "steps.sh").write_text("set -eu\necho step 1\ngrep -q nothing /dev/null\necho step 2\n")
    for command, says in (
        ("timeout 0.1 sleep 60", "Exit code 124 is that of `timeout`: its time ran out"),
        (["timeout", "0.1", "sleep", "60"], "Exit code 124 is that of `timeout`"),
        ("set -e; echo one; grep -q nothing /dev/null; echo two", "`set -x` at its start (bash -x) shows which."),
        ("bash steps.sh", "`bash -x steps.sh` shows which."),
        (["bash", "-e", "steps.sh"], "`bash -x steps.sh` shows which."),
    ):
        assert says in face.ok("run", command=command)["hint"], command
    for command in (
        "exit 124",
        "set -e; ls /no/such; true",
        "set -e; echo 1 test failed; false",
        "grep -q nothing /dev/null",
    ):
        assert "hint" not in face.ok("run", command=command), command


def test_whose_code_it_is_goes_without_saying_where_only_looking_came_before(face: Face) -> None:
    assert "hint" not in face.ok("run", command="pwd; ls; echo done")
    failed = face.ok("run", command="cat nowhere; echo done")
    assert failed["hint"].startswith("Exit code 0 is that of `echo`; `cat` may have failed: the output has")
    assert "not of `false`" in face.ok("run", command="false; echo done")["hint"]
