"""`--report`: what answers about an ended job say of the test report that it wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs, configured
from support.commands import GATE
from support.wait import until

TAP = "printf '1..2\\nok 1 - adds\\nnot ok 2 - divides\\n# div.c:7: got 0\\n' > r.tap"
ADDED = {
    "passed": 1,
    "failed": 1,
    "skipped": 0,
    "failures": [{"name": "divides", "place": "div.c:7", "message": "got 0"}],
}
BESIDE_0 = "It exited with code 0, but its report has 1 failed test."


def test_the_report_of_pytest_is_in_the_answer(cli: Cli, work: Path) -> None:
    (work / "test_it.py").write_text("def test_good(): pass\ndef test_bad():\n    assert 1 == 2, 'not equal'\n")
    pytest_words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out/junit.xml"]
    ran = cli.ok("run", "--wait", "--report", "out/*.xml", "--", *pytest_words)
    assert ran["exit_code"] == 1
    assert ran["tests"] == {
        "passed": 1,
        "failed": 1,
        "skipped": 0,
        "failures": [
            {
                "name": "test_it::test_bad",
                "place": "test_it.py:3",
                "message": "AssertionError: not equal\nassert 1 == 2",
            }
        ],
    }
    assert not {"report_problem", "hint"} & ran.keys()


def test_every_answer_about_the_ended_job_has_the_report(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--report", "r.tap", f"{GATE}; {TAP}")
    assert "tests" not in job
    assert "tests" not in cli.ok("status", job["job_id"])
    (work / "go").touch()
    waited = cli.ok("wait", job["job_id"])
    read = [cli.ok(verb, job["job_id"]) for verb in ("status", "poll")]
    assert [one["tests"] for one in (waited, *read)] == [ADDED] * 3
    assert [one["hint"] for one in (waited, *read)] == [BESIDE_0] * 3
    assert waited["exit_code"] == 0


def test_a_job_that_is_started_again_has_a_report_again(cli: Cli, work: Path) -> None:
    made = cli.ok("create", "--report", "r.tap", TAP)["job_id"]
    assert cli.ok("start", "--wait", made)["tests"] == ADDED
    assert cli.ok("restart", "--wait", made)["tests"] == ADDED
    # ... and then the file is no longer that of the first
    problem = cli.ok("status", made)
    assert "tests" not in problem
    assert problem["report_problem"] == "Not counted: r.tap, newer than the end of the job."


def test_an_old_report_is_ignored_and_said_to_be(cli: Cli, work: Path) -> None:
    cli.ok("run", "--wait", TAP)
    ran = cli.ok("run", "--wait", "--report", "r.tap", "true")
    assert "tests" not in ran
    assert ran["report_problem"] == "Not counted: r.tap, older than the job."


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true", "The job wrote no report: no file matches r.tap."),
        ("mkfifo r.tap", "Not counted: r.tap, no regular file."),
        ("echo hello > r.tap", "Not counted: r.tap, broken: it is neither XML, JSON nor TAP."),
    ],
)
def test_what_does_not_count_is_a_sentence_and_no_error(cli: Cli, work: Path, command: str, said: str) -> None:
    assert cli.ok("run", "--wait", "--report", "r.tap", command)["report_problem"] == said


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("echo 1..0 > r.tap", "Its report says that no test ran."),
        ("echo ok > r.tap; exit 3", "No test failed in its report: the exit code has another cause."),
        ("echo ok > r.tap", None),
        ("echo not ok > r.tap; exit 1", None),
    ],
)
def test_a_hint_says_where_report_and_exit_code_differ(cli: Cli, work: Path, command: str, hint: str | None) -> None:
    ran = cli.ok("run", "--wait", "--report", "r.tap", command)
    assert ran.get("hint") == hint
    assert ran["exit_code"] == (int(command.rpartition("exit ")[2]) if "exit" in command else 0)


def test_a_person_sees_the_counts_and_a_line_for_each_failed_test(cli: Cli, work: Path) -> None:
    shown = cli.text("run", "--human", "--wait", "--report", "r.tap", f"{TAP}; echo done").stdout
    assert "tests: 1 passed, 1 failed, 0 skipped\nfailed: divides (div.c:7): got 0\n" in shown


def test_of_a_job_with_masked_variables_the_counts_alone_are_shown(cli: Cli, work: Path) -> None:
    command = "printf 'ok 1 - x\\nnot ok 2 - signs in with %s\\n# a.c:7: got %s\\n' $TOKEN $TOKEN > r.tap"
    given = ("--env", "TOKEN=s3cret", "--mask", "TOKEN", "--report")
    ran = cli.ok("run", "--wait", *given, "r.tap", command)
    assert ran["tests"] == {"passed": 1, "failed": 1, "skipped": 0, "failures": []}
    assert "masked variables" in ran["report_problem"]
    assert "s3cret" not in json.dumps(ran)
    missing = cli.ok("run", "--wait", *given, "none.tap", "true")
    assert missing["report_problem"].startswith("The job wrote no report")
    broken = cli.ok("run", "--wait", *given, "*.json", "echo '{s3cret' > s3cret.json")
    assert broken["report_problem"].startswith("Which tests failed is not shown: the job has masked variables")
    assert "s3cret" not in broken["report_problem"]


def test_a_report_that_could_not_be_read_is_refused_before_anything_starts(cli: Cli, place: Path, work: Path) -> None:
    configured(place, '[hosts.box]\nkind = "ssh"\ntarget = "box"\n')
    for words in (
        ["--report", ""],
        ["--report", "out/"],
        ["--report", "x" * 1_001],
        ["--report", "r", "--host", "box"],
    ):
        error: dict[str, Any] = cli.error("run", *words, "touch ran", code="invalid_argument")
        assert error["details"]["field"] == "--report"
    assert not (work / "ran").exists()
    assert cli.ok("list", "--all")["jobs"] == []


def test_a_report_of_a_running_job_is_not_read(cli: Cli, jobs: Jobs, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--report", "r.tap", f"{TAP}; {GATE}")["job_id"]
    until((work / "r.tap").exists, what="the report")
    assert not {"tests", "report_problem"} & cli.ok("poll", job).keys()
    jobs.end()
