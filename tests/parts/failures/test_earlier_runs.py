"""A job that failed says what changed since the run before, and `log` shows what another run did not print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from heart.cli.test_long_scripts import FILLED
from heart.cli.test_long_scripts import run as run_script
from outlive.mcp.tools.answer_text import render
from support.cli import Cli, Jobs

STEPS = 'for n in 1 2 3 4 5 6 7 8 9; do echo "step $n at 12:00:0$n"; done'
COMMAND = f"{STEPS}; cat report; test ! -s report"


@pytest.fixture
def run(cli: Cli, work: Path) -> Any:
    """Run the same command, which reports these tests as failed; return its answer."""

    def run(*tests: str, command: str = COMMAND) -> dict[str, Any]:
        (work / "report").write_text("".join(f"FAILED tests/a.py::{one} - assert 1 == 2\n" for one in tests))
        return cli.ok("run", "--wait", command)

    return run


def changes(answer: dict[str, Any]) -> tuple[int, int, int]:
    previous = answer["previous"]
    assert previous["ago_ms"] >= 0
    return previous["exit_code"], previous["gone"], previous["new"]


def test_each_answer_about_a_failure_says_what_changed_since_the_run_before(cli: Cli, run: Any, jobs: Jobs) -> None:
    assert "previous" not in run("one", "two"), "it is the first run"
    second = run("two", "three", "four")
    job = second["job_id"]
    asked = [second, cli.ok("wait", job), cli.ok("poll", job), cli.ok("status", job)]
    assert [changes(one) for one in asked] == [(1, 1, 2)] * 4
    assert "previous" not in run(), "it did not fail"
    fourth = run("two")
    assert changes(fourth) == (0, 0, 1)
    assert fourth["previous"]["job_id"] != job
    assert changes(cli.ok("restart", "--wait", fourth["job_id"])) == (1, 0, 0)
    said = cli.text("status", fourth["job_id"], "--human").stdout
    assert re.search(r"The run before, .* ago, exited 0: 1 new failure\n", said)
    jobs.end()


def test_tests_that_pass_again_say_which_failures_are_gone(cli: Cli, work: Path, jobs: Jobs) -> None:
    summary = {0: "=== 9 passed in 0.10s ===\n", 1: "=== 1 failed, 8 passed in 0.10s ===\n"}

    def run(*tests: str, code: int | None = None, end: str | None = None) -> dict[str, Any]:
        failed = "".join(f"FAILED tests/a.py::{one} - assert 1 == 2\n" for one in tests)
        code = int(bool(tests)) if code is None else code
        (work / "report").write_text(failed + (summary[code] if end is None else end))
        (work / "code").write_text(str(code))
        return cli.ok("run", "--wait", "cat report; exit $(cat code)")

    run("test_a", "test_b")
    passed = run()
    assert passed["previous"] == {
        **passed["previous"],
        "exit_code": 1,
        "gone": 2,
        "names": ["test_a", "test_b"],
        "new": 0,
    }
    for one in (passed, cli.ok("status", passed["job_id"])):
        assert re.search(r"The 2 failures of the run before, \S+ s ago, are gone \(test_a, test_b\)\.\n", render(one))
    said = cli.text("status", passed["job_id"], "--human").stdout
    assert re.search(r"The 2 failures of the run before, .* ago, are gone \(test_a, test_b\)\n", said)
    assert "previous" not in run(), "the run before passed"
    for end in ("ok  \tpkg\t0.1s\n", "OK\n", "Tests: 3 passed, 3 total\n", "test result: ok. 3 passed\n"):
        run("test_a")
        assert "The failure of the run before, " in render(run(end=end)), end
    run("test_a")
    assert "previous" not in run("test_a", code=0), "its failure is still reported"
    run("test_a")
    assert "previous" not in run("test_c", code=0), "another failure is reported"
    run("test_a")
    assert "previous" not in run(end="done\n"), "no tests say that they passed"
    run(code=1, end="error\n")
    run(code=1, end="")
    assert "previous" not in run(), "no failure is known"
    jobs.end()


def test_a_run_is_the_same_only_with_the_same_command_and_directory_and_when_it_has_ended(
    cli: Cli, run: Any, work: Path, jobs: Jobs
) -> None:
    run("one")
    assert "previous" not in run("one", command=f"{COMMAND} ")
    (work / "sub").mkdir()
    elsewhere = cli.ok("run", "--wait", "--cwd", str(work / "sub"), COMMAND)
    assert "previous" not in elsewhere
    cli.ok("run", "--snapshot-after", "0", "sleep 60; exit 1")
    assert "previous" not in cli.ok("run", "--wait", "--timeout", "100ms", "sleep 60; exit 1")
    ended = cli.ok("run", "--wait", "--timeout", "100ms", "sleep 60; exit 1")
    assert ended["previous"]["exit_code"] is None
    assert "new" not in ended["previous"], "neither reports a failure"
    runs = cli.ok("list", "--state", "running")["jobs"][0]["job_id"]
    assert "previous" not in cli.ok("kill", runs)
    assert "previous" not in cli.ok("status", runs), "it was killed on request"
    jobs.end()


def test_a_run_that_ended_well_had_no_failures_that_could_be_the_same(cli: Cli, work: Path, jobs: Jobs) -> None:
    command = "echo ERROR: no cache; cat more; exit $(cat code)"
    for code, more in (("0", ""), ("4", "quota file is missing\n")):
        (work / "code").write_text(code)
        (work / "more").write_text(more)
        ran = cli.ok("run", "--wait", command)
    assert (ran["previous"]["exit_code"], ran["previous"]["new"], ran["previous"]["gone"]) == (0, 0, 0)
    said = render(cli.ok("poll", ran["job_id"]))
    assert "ago, exited 0; process action=log" in said and "same failures" not in said
    jobs.end()


def test_a_failure_that_may_not_have_run_is_not_said_to_be_gone(cli: Cli, work: Path, jobs: Jobs) -> None:
    command = "cat report; exit $(cat code)"

    def run(code: int, report: str) -> str:
        (work / "code").write_text(str(code))
        (work / "report").write_text(report)
        job = cli.ok("run", "--wait", command)["job_id"]
        return next((line for line in render(cli.ok("poll", job)).split("\n") if line.startswith("The run before")), "")

    failed = "E   assert 1 == 2\nFAILED tests/a.py::test_two - assert 1 == 2\n=== 1 failed, 3 passed in 0.10s ===\n"
    may_not_have_run = ": a different failure; the earlier one may not have run; process"
    for code, report in (
        (4, "ImportError while loading conftest '/w/conftest.py'.\nE   ModuleNotFoundError: No module named 'nope'\n"),
        (127, "sh: 1: pytest: not found\n"),
        (2, ""),
        (1, "Error: port in use\n"),
        (2, "ERROR tests/a.py\n=== 1 error in 0.10s ===\n"),
    ):
        run(1, failed)
        said = f"exited 1, now {code}" if code != 1 else "exited 1 too"
        assert said + may_not_have_run in run(code, report)
    run(1, failed + "FAILED tests/a.py::test_one - x\n")
    assert "exited 1 too: 1 failure gone (test_one); process" in run(1, failed)
    jobs.end()


def test_a_run_behind_what_mended_something_is_the_run_before(cli: Cli, work: Path, jobs: Jobs) -> None:
    (work / "check").write_text("#!/bin/sh\ncat report; test ! -s report\n")
    (work / "check").chmod(0o755)

    def before(command: str, *tests: str) -> Any:
        (work / "report").write_text("".join(f"FAILED tests/a.py::{one} - assert 1 == 2\n" for one in tests))
        (work / "a.py").write_text("old\n")
        return cli.ok("run", "--wait", command).get("previous")

    assert before("./check", "one", "two", "three") is None
    mended = before("sed -i s/old/new/ a.py && ./check", "two", "three")
    assert (mended["gone"], mended["new"], mended["names"]) == (1, 0, ["one"])
    assert before("./check 2>&1", "three")["names"] == ["two"]
    assert before(f"cd {work}; timeout 20 ./check", "three", "four")["new"] == 1
    for other in (
        "./check | tail -1",
        "./check > out; false",
        "cat a.py; ./check",
        "./check || false",
        "./check --all",
    ):
        assert before(other, "three") is None, f"{other!r} may report more or fewer failures"
    jobs.end()


def test_nothing_to_compare_is_one_line_with_the_job_that_may_be_meant(cli: Cli, jobs: Jobs) -> None:
    first = cli.ok("run", "--wait", "cat /etc/passwd; exit 1")
    none = cli.ok("log", first["job_id"], "--compare", "previous")
    said = "No earlier run of this command in this directory has ended, so nothing is compared; "
    assert (none["output"], none["hint"]) == ("", f"{said}a job can be named.")
    cli.ok("run", "--wait", "true")
    other = cli.ok("run", "--wait", "cat /etc/group; exit 1")["job_id"]
    named = cli.ok("log", other, "--compare", "previous")
    assert (named["output"], named["truncated"]) == ("", False)
    assert (
        named["hint"]
        == f"{said}{first['short_id']} (cat /etc/passwd) is the newest job here that ran the same program."
    )
    assert cli.ok("log", other, "--compare", first["short_id"])["compared"]["job_id"] == first["job_id"]
    jobs.end()


def test_a_run_of_the_last_step_of_a_command_is_compared_with_one_of_that_step_alone(
    cli: Cli, work: Path, jobs: Jobs
) -> None:
    (work / "sub").mkdir()
    (work / "check").write_text("#!/bin/sh\necho line $*; cat more; exit 1\n")
    (work / "check").chmod(0o755)
    check = work / "check"

    def run(command: str) -> str:
        for at in (work, work / "sub"):
            (at / "more").write_text(command)
        return str(cli.ok("run", "--wait", command)["job_id"])

    def compared(job: str) -> str | None:
        found = cli.ok("log", job, "--compare", "previous")
        assert (found.get("compared") is None) == ("so nothing is compared" in found.get("hint", ""))
        return str(found["compared"]["job_id"]) if "compared" in found else None

    first = run(f"{check} -q")
    for command in (
        f"touch a && {check} -q",
        f"touch b; timeout 20 {check} -q 2>&1 | tail -5",
        f"cd {work}; {check} -q; echo done",
    ):
        last = run(command)
        assert compared(last) == first
        assert "compared is the last of `check -q` here" in cli.ok("log", last, "--compare", "previous")["hint"]
        first = last
    assert compared(run(f"cd sub && {check} -q")) is None, "another directory"
    other = run(f"{check} --all && touch c")
    assert compared(other) is None, "other words"
    hint = cli.ok("log", other, "--compare", "previous")["hint"]
    assert "is the newest job here that ran the same program" in hint
    assert compared(run(f"touch d && {check} --all && echo ok")) == other
    jobs.end()


def test_compare_shows_kinds_of_lines_that_are_new_and_those_that_are_gone(cli: Cli, run: Any, jobs: Jobs) -> None:
    run("one", "two")
    run()
    job = run("two", "three")["job_id"]
    found = cli.ok("log", job, "--compare", "previous")
    two, three = (f"{line}:FAILED tests/a.py::{name} - assert 1 == 2\n" for line, name in ((10, "two"), (11, "three")))
    assert found["output"] == two + three
    assert (found["first_line"], found["last_line"], found["total_lines"]) == (10, 11, 11)
    assert (found["compared"]["exit_code"], found["compared"]["new"], found["compared"]["gone"]) == (0, 2, 0)
    first = cli.ok("list", "--limit", "0")["jobs"][2]
    found = cli.ok("log", job, "--compare", first["job_id"])
    gone = f"[gone: 1 kind of lines that job {first['short_id']} printed:]\n10:FAILED tests/a.py::one - assert 1 == 2\n"
    assert found["output"] == three + gone
    again = run("two", "three")["job_id"]
    same = cli.ok("log", again, "--compare", "previous")
    assert (same["output"], same["compared"]["new"]) == ("", 0)
    assert "no kind of line" in same["hint"]
    assert cli.ok("log", again, "--compare", "passed")["output"] == two + three
    jobs.end()


def test_compare_takes_one_stream_and_folds_lines_of_one_kind(cli: Cli, jobs: Jobs, work: Path) -> None:
    command = "cat out; cat err >&2; exit 1"
    for out, err in (("a\n", "b\n"), ("a\nnew 1\nnew 2\nnew 3\n=====\n  ^~~\n", "b\nworse\n")):
        (work / "out").write_text(out)
        (work / "err").write_text(err)
        job = cli.ok("run", "--wait", command)["job_id"]
    assert cli.ok("log", job, "--compare", "previous", "--stream", "stdout")["output"] == "2:new 1 (× 3)\n"
    assert cli.ok("log", job, "--compare", "previous", "--stream", "stderr")["output"] == "2:worse\n"
    jobs.end()


def test_where_there_is_no_room_for_all_new_lines_those_that_report_a_failure_come_first(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    words = [f"{one}{two}{three}" for one in "xyz" for two in "opqrstu" for three in "ghijklm"]
    noise = [f"compiled {word} without a word" for word in words]
    (work / "out").write_text("same\n")
    cli.ok("run", "--wait", "cat out; exit 1")
    (work / "out").write_text("\n".join([*noise, "FAILED tests/a.py::one", *noise[:20], "same"]) + "\n")
    job = cli.ok("run", "--wait", "cat out; exit 1")["job_id"]
    found = cli.ok("log", job, "--compare", "previous", "--max-bytes", "1000")
    assert f"\n{len(noise) + 1}:FAILED tests/a.py::one\n" in found["output"]
    assert len(found["output"]) <= 1000
    shown = found["output"].count("\n")
    assert found["compared"]["new"] == len(noise) + 1
    assert f"{len(noise) + 1 - shown} more kinds of lines are new" in found["hint"]
    assert cli.ok("log", job, "--compare", "previous", "--limit", "1")["output"].count("\n") == 1
    jobs.end()


def test_of_a_very_long_output_the_failures_before_what_is_compared_are_compared_too(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    noise = "".join(f"INFO step {n} of many is done\n" for n in range(300_000))

    def compared(printed: str) -> Any:
        (work / "out").write_text(printed)
        job = cli.ok("run", "--wait", "--max-bytes", "1", "cat out; exit 1")["job_id"]
        return cli.ok("log", job, "--compare", "previous")

    where = "Compared are the last 8 MiB of each output, and of what is before them the lines that report a failure."
    compared(noise)
    found = compared(f"begun\nValueError: no lock\n{noise}")
    assert (found["output"], found["first_line"]) == ("2:ValueError: no lock\n", 2)
    assert found["hint"] == where
    found = compared(f"{noise}ValueError: no lock\n")
    assert (found["output"], found["hint"]) == ("", f"No kind of line is new. {where}")
    shown = render(found).split("\n")
    assert shown[0].startswith("exited 1") and shown[1] == found["hint"], "before how much differs"
    assert shown[2].endswith("): 0 kinds of lines new, 0 gone.")
    jobs.end()


def test_without_another_run_it_is_said_why_nothing_is_compared(cli: Cli, run: Any, jobs: Jobs) -> None:
    job = run("one")["job_id"]
    for which, said in (("previous", "has ended,"), ("passed", "has ended with 0,")):
        found = cli.ok("log", job, "--compare", which)
        assert found["output"] == ""
        assert "compared" not in found
        assert said in found["hint"]
    cli.error("log", job, "--compare", "no such run", code="job_not_found")
    jobs.end()


def test_compare_goes_without_what_chooses_lines(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    for other in (["--search", "x"], ["--offset", "1"], ["--since-seq", "1"], ["--follow"]):
        error = cli.error("log", job, "--compare", "previous", *other, code="invalid_argument")
        assert "--compare" in error["message"]
        assert other[0] in error["message"]


def test_a_long_script_ran_before_if_all_of_it_is_the_same(cli: Cli, work: Path) -> None:
    made = run_script(cli, work, FILLED + "exit 3")["job_id"]
    again = cli.ok("restart", made, "--wait")["job_id"]
    assert cli.ok("status", again)["previous"]["job_id"] == made
    other = run_script(cli, work, FILLED + "echo other; exit 3")
    assert "previous" not in other, "it only begins alike"
