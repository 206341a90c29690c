"""What gc says of the jobs that it deleted, to a person and to a model."""

from __future__ import annotations

import pytest

from outlive.cli import human
from outlive.cli.text import Style
from outlive.mcp.tools import answer_text
from support.cli import Cli
from support.jobs import settled


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_an_age_is_said_only_of_jobs_that_went_for_their_age(cli: Cli, dry: tuple[str, ...]) -> None:
    for _ in range(2):
        settled(cli)
    for bound, age in ((("--max-jobs", "1"), ""), (("--older-than", "0s"), " older than 0s")):
        found = cli.ok("gc", *bound, *dry)
        count = sum(job["action"] != "skipped" for job in found["jobs"])
        assert count == (2 if dry and age else 1)
        jobs = "jobs" if count > 1 else "job"
        did = "Would delete" if dry else "Deleted"
        assert f"{did} {count} finished {jobs}{age} (" in answer_text.render(found, process=True)
        assert f"{did} {count} {jobs}{age}, " in human.answer(found, Style())
