"""A job is named by its title where no id is meant: the newest that has it, and the answer says which."""

from __future__ import annotations

from typing import Any

import pytest

from outlive import limits
from support.cli import Cli


def titled(cli: Cli, title: str, *words: str) -> str:
    found: str = cli.ok("run", "--wait", "--title", title, "--", *(words or ("true",)))["job_id"]
    return found


def test_an_id_and_a_part_of_an_id_win_over_a_title(cli: Cli) -> None:
    job = titled(cli, "first")
    for name in (job, job[-8:], job.lower()):
        titled(cli, name)
        answer = cli.ok("status", name)
        assert answer["job_id"] == job
        assert "is a title" not in answer.get("hint", "")


def test_a_part_of_several_ids_is_ambiguous_whatever_the_titles_say(cli: Cli) -> None:
    part = [titled(cli, name) for name in "abc"][1][:6]  # they change every few minutes: two of three share them
    titled(cli, part)
    cli.error("status", part, code="ambiguous_job_id")


def test_the_only_job_with_a_title_needs_no_word_but_what_cannot_be_taken_back_needs_an_id(cli: Cli) -> None:
    job = titled(cli, "web")
    titled(cli, "webs")
    assert "hint" not in cli.ok("log", "web")
    for verb in ("remove", "clear", "approve", "deny"):
        error = cli.error(verb, "web", code="invalid_argument")
        assert error["details"]["candidates"] == [job]
        assert job[-8:] in error["hint"]
        cli.error(verb, "no such", code="job_not_found")
    assert cli.ok("status", job)["state"] == "exited"


def test_a_title_is_looked_for_among_so_many_jobs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from outlive.jobs import lookup

    looked: list[str] = []
    monkeypatch.setattr(lookup, "job_ids", lambda ctx: iter([f"{n}" for n in range(limits.TITLED_JOBS + 5)]))

    def holds(ctx: Any, job: str, parts: Any) -> bool:
        looked.append(job)
        return False

    monkeypatch.setattr(lookup, "_holds", holds)
    context: Any = type("Context", (), {"titles": {}, "warnings": [], "caller": None})()
    assert lookup._titled(context, "web") is None
    assert len(looked) == limits.TITLED_JOBS


def test_a_title_of_any_characters_is_found(cli: Cli) -> None:
    for title in ('a "quoted" \\ ü \U0001f600', "$(reboot)", "01", "\x1b[31mred"):
        job = titled(cli, title)
        assert cli.ok("status", title)["job_id"] == job
