"""What gc says of the jobs that it deleted, to a person and to a model."""

from __future__ import annotations

from typing import Any

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


def test_a_gc_is_a_sentence() -> None:
    found: dict[str, Any] = {"root": "/r", "jobs": [], "dry_run": False, "deleted": 2, "used_jobs": 1}
    text = human.answer(
        {"ok": True, "type": "gc", "freed_bytes": 2_048, "used_bytes": 5, "older_than": "30d", **found}, Style()
    )
    assert text == "Deleted 2 jobs older than 30d, 2 KiB; 1 job (5 B) stay in /r.\n"
