"""Answers say whose exit code it is where the form of a command hides a failure; the code is never changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli

TESTS = "sh -c 'echo FAILED a.py::test_b - assert 1 == 2; exit 1'"
LINE = "FAILED a.py::test_b - assert 1 == 2"


@pytest.mark.parametrize(
    ("command", "start", "advice"),
    [
        (f"{TESTS} | tail", "is that of `tail`; `sh`", "`set -o pipefail` (bash) makes each stage count."),
        (f"({TESTS} | tail)", "says nothing of `sh`, which", "`set -o pipefail` (bash) makes each stage count."),
        (f"{TESTS} || true", "says nothing of `sh`, which", "Without `|| true` its own code is reported."),
        (
            f"{TESTS}; echo done",
            "is that of `echo`; `sh`",
            "With `&&` in place of `;` a failure ends it before `echo`.",
        ),
        (f'echo "$({TESTS})"', "says nothing of `sh`, which", "`x=$(…)` alone keeps its code."),
        (
            f"for i in 1 2; do {TESTS}; test $i = 2; done",
            "says nothing of the rounds of its loop but the last, which",
            "`|| exit 1` in the loop ends it at a failure.",
        ),
    ],
)
def test_a_hidden_failure_is_told_by_every_answer_about_the_end(
    cli: Cli, command: str, start: str, advice: str
) -> None:
    ran = cli.ok("run", "--wait", command)
    answers = [ran, *(cli.ok(verb, ran["job_id"]) for verb in ("status", "wait", "poll"))]
    for answer in answers:
        assert answer["exit_code"] == 0
        assert answer["hint"].startswith(f"Exit code 0 {start} may have failed: ")
        assert LINE in answer["hint"]
        assert answer["hint"].endswith(advice)


FAILS = "sh -c 'exit 2'"


@pytest.mark.parametrize(
    ("command", "code", "stages", "said"),
    [
        (f"{FAILS} | tail", 0, [2, 0], "Exit code 0 is that of `tail`; `sh` exited 2."),
        (f"cd / && A=1 {FAILS} 2>&1 | tail -5 | cat", 0, [2, 0, 0], "Exit code 0 is that of `cat`; `sh` exited 2."),
        (f"{FAILS} | grep x", 1, [2, 1], "Exit code 1 is that of `grep`; `sh` exited 2."),
        ("echo x | grep y", 1, [0, 1], "Exit code 1 is that of `grep`; `echo` exited 0."),
        ("nosuchprogram | sort", 0, [127, 0], "Exit code 0 is that of `sort`; `nosuchprogram` exited 127."),
        ("cat | grep x | cat", 0, [0, 1, 0], "Exit code 0 is that of stage 3; the stages exited 0, 1, 0."),
        (f"set -o pipefail; {FAILS} | cat", 2, [2, 0], "Exit code 2 is that of `sh`; `cat` exited 0."),
        ("yes | head -1", 0, [141, 0], None),
        (f"true | cat; {FAILS} | cat", 0, [2, 0], "Exit code 0 is that of `cat`; `sh` exited 2."),
        # Which of the two the codes are of is not known
        (f"{FAILS} | cat && true | cat", 0, None, None),
        (f"set -e; {FAILS} | cat; {FAILS} | cat", 0, None, "Exit code 0 is that of `cat`, not of `sh`."),
        ("echo '0 failed | 12 passed' | tail", 0, [0, 0], None),
        (f"{TESTS} && echo done", 1, None, None),
        (f"({FAILS}; exit 4) | cat", 0, [4, 0], "Exit code 0 is that of `cat`; `(sh -c 'exit 2'; exit 4)` exited 4."),
        (
            f"for i in 1; do {FAILS}; done | cat",
            0,
            [2, 0],
            f"Exit code 0 is that of `cat`; `for i in 1; do {FAILS}; done` exited 2.",
        ),
        (f"for i in 1 2; do {FAILS}; done; {FAILS} | cat", 0, [2, 0], "Exit code 0 is that of `cat`; `sh` exited 2."),
        (f"if {FAILS}; then exit; fi; {FAILS} | cat", 0, None, "Exit code 0 is that of `cat`, not of `sh`."),
        (f"time {FAILS} | cat", 0, [2, 0], "Exit code 0 is that of `cat`; `sh` exited 2."),
        (f"f() {{ {FAILS} | cat; }}; f | cat", 0, None, "Exit code 0 is that of `cat`, not of `f`."),
        (f"{{ {FAILS} | cat; }}", 0, None, "Exit code 0 says nothing of `sh`: `| cat` hides its code."),
        (f"for i in 1 2; do {FAILS} | cat; done", 0, None, "Exit code 0 says nothing of `sh`: `| cat` hides its code."),
        (f"{FAILS} | cat && echo ok", 0, None, "Exit code 0 says nothing of `sh`: `| cat` hides its code."),
        (f"{FAILS} | cat; echo $?", 0, None, "Exit code 0 is that of `echo`, and `$?` that of `cat`, not of `sh`."),
        (
            f"for i in 1 2; do {FAILS}; test $i; done",
            0,
            None,
            "Exit code 0 says nothing of the rounds of its loop but the last.",
        ),
        (f"{FAILS} & wait", 0, None, "Exit code 0 is that of `wait`, not of `sh`."),
        (f"x=$({FAILS}); echo $x", 0, None, "Exit code 0 is that of `echo`, not of `sh`."),
        (f"echo $({FAILS})", 0, None, None),
        (f"x=$({FAILS})", 2, None, None),
        (f"{FAILS} || true", 0, None, "Exit code 0 says nothing of `sh`: `|| true` hides its code."),
        ("true || true", 0, None, "Exit code 0 says nothing of `true`: `|| true` hides its code."),
        (f"{FAILS} >log; echo done", 0, None, "Exit code 0 is that of `echo`, not of `sh`."),
        (f'{FAILS}; echo "it exited $?"', 0, None, None),
        (f"cd /; {FAILS}; echo done", 0, None, "Exit code 0 is that of `echo`, not of the commands before it."),
        (f"{FAILS} &", 0, None, "Exit code 0 is that of the shell, which did not wait for `sh`."),
        (
            f"set -e; f() {{ {FAILS}; echo on; }}; f || echo off",
            0,
            None,
            "Exit code 0 says nothing of `f`: `|| echo` hides its code, and in it `set -e` has no effect.",
        ),
        (f"trap : EXIT; {FAILS} | cat", 0, None, "Exit code 0 is that of `cat`, not of `sh`."),
        ("echo 'Command exited with code 0.'; exit 3", 3, None, None),
    ],
)
def test_bash_tells_the_code_of_each_stage_or_the_answer_whose_code_it_is(
    cli: Cli, command: str, code: int, stages: list[int] | None, said: str | None
) -> None:
    ran = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", command)
    for answer in (ran, cli.ok("status", ran["job_id"])):  # of every verb: the test above
        assert answer["exit_code"] == code
        assert answer.get("stages") == stages
        hint = answer.get("hint") or ""  # what was started with & may still run, which is said first
        assert hint.endswith(said) if said else "Exit code" not in hint


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"make --version | {FAILS}", "Exit code 2 is that of `sh`, not of `make`."),
        (f"make --version; {FAILS}", None),  # it did not hide what came before: nobody asks
    ],
)
def test_without_codes_of_stages_a_failure_is_put_down_to_the_last_of_a_pipeline(
    cli: Cli, command: str, said: str | None
) -> None:
    ran = cli.ok("run", "--wait", "--shell-wrapper", "sh -c", command)
    assert (ran["exit_code"], ran.get("stages")) == (2, None)
    assert ran.get("hint") == said or (said is None and "Exit code" not in ran["hint"])


@pytest.mark.parametrize(
    "environment",
    [
        {"BASH_ENV": "/dev/null"},
        {"SHELLOPTS": "posix"},
        {"POSIXLY_CORRECT": "1"},
        {"SSH_CLIENT": "::1 1 1", "SHLVL": "0"},
    ],
)
def test_where_bash_reads_something_else_the_form_says_whose_code_it_is(
    cli: Cli, work: Path, environment: dict[str, str]
) -> None:
    # The last command shows that no variable of ours is left over
    ran = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", f"env >seen; {FAILS} | cat", env=environment)
    assert "stages" not in ran
    assert ran["hint"] == "Exit code 0 is that of `cat`, not of `sh`."
    seen = dict(line.split("=", 1) for line in (work / "seen").read_text().splitlines())
    assert seen.get("BASH_ENV") == environment.get("BASH_ENV")


# What the command could see of the shell that it runs in
LOOK = (
    "env >{0}.env; echo $- $# $0 $_ >{0}.flags; ls /proc/self/fd >{0}.fds; cat /proc/$$/cmdline >{0}.words; "
    "python3 -S look.py {0}; " + FAILS + " | cat"
)
SIGNALS = """\
import pathlib, signal, sys
ignored = sorted(one.name for one in signal.Signals if signal.getsignal(one) == signal.SIG_IGN)
blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
pathlib.Path(sys.argv[1] + ".signals").write_text(f"{ignored} {blocked}")
"""


def said(line: str) -> bool:
    """Return whether a line of the environment does not differ from run to run."""
    return not line.startswith(("OUTLIVE_JOB_ID=", "BASH_ENV="))


def test_the_command_sees_nothing_of_it(cli: Cli, work: Path) -> None:
    (work / "look.py").write_text(SIGNALS)
    for name, environment in (("with", {}), ("without", {"BASH_ENV": "/dev/null"})):
        ran = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", LOOK.format(name), env=environment)
        assert ran.get("stages") == ([2, 0] if name == "with" else None)
    for what in ("env", "flags", "fds", "words", "signals"):
        seen, other = (
            sorted(filter(said, (work / f"{name}.{what}").read_text().replace(f"{name}.", ".").splitlines()))
            for name in ("with", "without")
        )
        assert [line.replace(" with", " without") for line in seen] == other, what


def test_what_a_job_puts_in_the_place_of_its_codes_is_no_code(cli: Cli) -> None:
    place = '"$OUTLIVE_ROOT/$OUTLIVE_JOB_ID/stages"'
    for spoilt in (f"mkdir {place}", f"mkfifo {place}"):
        assert "stages" not in cli.ok("run", "--wait", "--shell-wrapper", "bash -c", f"{spoilt}; true | cat")


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
def test_the_code_of_a_signal_in_a_shell_is_explained(cli: Cli, command: str, said: str | None) -> None:
    hint = cli.ok("run", "--wait", command).get("hint")
    assert hint == said or (said and hint and hint.endswith(said))
