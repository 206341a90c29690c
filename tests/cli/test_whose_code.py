"""Answers say whose exit code it is where the form of a command hides a failure; the code is never changed."""

from __future__ import annotations

import pytest

from support.cli import Cli, Jobs

TESTS = "sh -c 'echo FAILED a.py::test_b - assert 1 == 2; exit 1'"
LINE = "FAILED a.py::test_b - assert 1 == 2"


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (f"{TESTS} | tail", "`set -o pipefail` makes each stage count."),
        (f"{TESTS} || true", "Without `|| true` its own code is told."),
        (f"{TESTS}; echo done", "With `&&` in place of `;` a failure ends it before `echo`."),
    ],
)
def test_a_hidden_failure_is_told_by_every_answer_about_the_end(
    cli: Cli, jobs: Jobs, command: str, advice: str
) -> None:
    ran = cli.ok("run", "--wait", command)
    answers = [ran, *(cli.ok(verb, ran["job_id"]) for verb in ("status", "wait", "poll"))]
    for answer in answers:
        assert answer["exit_code"] == 0
        assert answer["hint"].startswith("Exit code 0 is that of `")
        assert LINE in answer["hint"]
        assert answer["hint"].endswith(advice)
    jobs.end()


@pytest.mark.parametrize(
    "command",
    [
        "printf 'a\\nb\\n' | wc -l",
        "echo 0 failed, 12 passed | tail",
        f"set -o pipefail; {TESTS.replace('exit 1', 'exit 0')} | tail",
        f"{TESTS} && echo done",
    ],
)
def test_nothing_is_said_without_a_hidden_failure(cli: Cli, jobs: Jobs, command: str) -> None:
    assert "Exit code 0 is that of" not in (
        cli.ok("run", "--wait", "--shell-wrapper", "bash -c", command).get("hint") or ""
    )
    jobs.end()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "bash -c 'kill -TERM $$'; exit $?",
            "143 is what a shell returns when SIGTERM ended its last command (128 + 15).",
        ),
        ("sh -c 'kill -PIPE $$'; exit $?", "(128 + 13): what read its output closed early, as head does."),
        ("exit 200", None),
    ],
)
def test_the_code_of_a_signal_in_a_shell_is_explained(cli: Cli, jobs: Jobs, command: str, said: str | None) -> None:
    hint = cli.ok("run", "--wait", command).get("hint")
    assert hint == said or (said and hint and hint.endswith(said))
    jobs.end()
