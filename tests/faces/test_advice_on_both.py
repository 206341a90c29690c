"""What answers say about a job besides its state and its output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.face import Face


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("sleep 600 >/dev/null & ls / >/dev/null; echo done", 0, "Exit code 0 is that of `echo`"),
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
    assert says is None or says in found["hint"]
    face.ok("kill", job)
    face.until(job, lambda status: "still alive" not in str(status.get("hint")), "the end of what was left")


def test_what_a_string_prints_itself_is_no_failure_of_a_command_in_it(face: Face) -> None:
    found = face.ok("run", command="ls /; echo 'Error: none of 3 tests failed'")
    assert found["hint"] == "Exit code 0 is that of `echo`, not of `ls`."


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
