"""The test report of a job in a sandbox: the job chooses what lies where it is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.sandbox.inside.test_works_inside import INSIDE, Run
from parts.sandbox.inside.test_works_inside import inside as inside  # noqa: PLC0414 - a fixture
from support.cli import Cli

SECRET = "<testsuite><testcase name='secret'/></testsuite>"


@pytest.mark.parametrize("folder", ["", "{work}/"])
def test_a_report_that_is_written_inside_is_read(inside: Run, place: Path, folder: str) -> None:
    pattern = folder.format(work=place / "work") + "out/*.xml"
    ran = inside("--report", pattern, f'mkdir out && echo "{SECRET}" > out/r.xml')
    assert ran["tests"]["passed"] == 1
    assert "report_problem" not in ran


@pytest.mark.parametrize(
    ("link", "pattern", "said"),
    [
        ("$OUTSIDE/r.xml r.xml", "r.xml", "Not counted: r.xml, a link, which is not followed in a sandbox."),
        ("$OUTSIDE/r.xml r.xml", "**/*.xml", "Not counted: r.xml, a link, which is not followed in a sandbox."),
        ("$OUTSIDE out", "out/r.xml", "The job wrote no report: no file matches out/r.xml."),
        ("$OUTSIDE out", "*/r.xml", "The job wrote no report: no file matches */r.xml."),
    ],
)
def test_a_link_that_a_job_leaves_leads_to_no_report(
    inside: Run, place: Path, link: str, pattern: str, said: str
) -> None:
    outside = place / "outside"
    outside.mkdir()
    (outside / "r.xml").write_text(SECRET)
    ran = inside("--report", pattern, f"OUTSIDE={outside}; ln -s {link}")
    assert ran["exit_code"] == 0
    assert "tests" not in ran
    assert ran["report_problem"] == said


@pytest.mark.parametrize("pattern", ["../r.xml", "/etc/r.xml", "out/../../r.xml"])
def test_a_report_outside_of_the_directory_is_refused_at_the_start(cli: Cli, place: Path, pattern: str) -> None:
    words = ["run", *INSIDE, "--report", pattern, "touch ran"]
    error = cli.error(*words, code="invalid_argument", cwd=place / "work")
    assert error["details"]["field"] == "--report"
    assert not (place / "work" / "ran").exists()


def test_a_sandbox_in_which_nothing_is_written_has_no_report(cli: Cli, place: Path) -> None:
    words = ["run", "--sandbox", "read-only", "--report", "r.xml", "true"]
    cli.error(*words, code="invalid_argument", cwd=place / "work")
