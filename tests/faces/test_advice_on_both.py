"""What answers say about a job besides its state and its output."""

from __future__ import annotations

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
