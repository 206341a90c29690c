"""Secrets that an excerpt, a name, a match or a terminal cuts: from 8 characters on no part of a value is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import GATE
from support.mcp_client import McpSession
from support.surroundings import settle_in
from support.tiers import ONE_ERA

INHERITED, GITHUB = "inherited-0f9a3c77d1e84b", "ghp_" + "a1B2c3" * 6


@pytest.fixture(scope="module")
def shared_where(shared_place: Path) -> dict[str, Any]:
    return {"env": settle_in(shared_place) | {"CI_JOB_TOKEN": INHERITED}, "cwd": shared_place / "work"}


@pytest.fixture
def session(shared_session: McpSession) -> McpSession:
    return shared_session


def shows_part(answer: Any, secret: str) -> bool:
    """Return whether 8 characters of a secret are shown."""
    text = json.dumps([answer.result, answer.text], ensure_ascii=False)
    return any(secret[at : at + 8] in text for at in range(len(secret) - 7))


@ONE_ERA
def test_the_end_of_a_value_at_the_cut_edge_of_an_excerpt_is_masked(session: McpSession) -> None:
    job = session.ok("exec", command="echo $CI_JOB_TOKEN", yield_ms=30_000)["job_id"]
    answer = session.call("process", action="poll", job_id=job, since_seq=4)
    assert answer["output"] == "[masked: CI_JOB_TOKEN]\n"


@ONE_ERA
def test_a_value_that_an_excerpt_cuts_at_one_end_or_both_is_masked(session: McpSession) -> None:
    first, count = len("tok\n"), len(INHERITED)
    job = session.ok("exec", command="echo tok; echo $CI_JOB_TOKEN; echo end", yield_ms=30_000)["job_id"]
    ways: list[dict[str, Any]] = [{"max_bytes": size} for size in (8, 11, 16, count - 1, count)]
    ways += [{"search": "e", "context": context} for context in (0, 1)]
    ways += [{"search": "e", "stream": "stdout", "raw": True}]
    for since in range(first, first + count):
        for more in ways:
            answer = session.call("process", action="log", job_id=job, since_seq=since, **more)
            assert not shows_part(answer, INHERITED), (since, more, answer.text)
    middle = session.ok("process", action="log", job_id=job, since_seq=first + 1, max_bytes=count - 2)
    assert (middle["output"], middle["masked_secrets"]) == ("[masked: CI_JOB_TOKEN]", 1)
    found = session.ok("process", action="log", job_id=job, since_seq=first + 1, search="0f9a", context=0)
    assert found["output"] == "2:[masked: CI_JOB_TOKEN]\n"


@ONE_ERA
@pytest.mark.parametrize(
    ("before", "behind", "shown"),
    [
        (60, 0, "…[masked: CI_JOB_TOKEN]"),
        (60, 5, "…[masked: CI_JOB_TOKEN]wwwww"),
        (8, 60, "q[masked: CI_JOB_TOKEN]…"),
        (0, 60, " [masked: CI_JOB_TOKEN]…"),
    ],
)
def test_a_name_that_is_cut_within_a_value_shows_no_half_of_it(
    session: McpSession, before: int, behind: int, shown: str
) -> None:
    ran = session.call("exec", command=f"echo {'q' * before}{INHERITED}{'w' * behind}", yield_ms=30_000)
    listed = session.call("process", action="list", all=True, detail="full")
    assert shown in listed["jobs"][0]["name"]
    assert not shows_part(ran, INHERITED)
    assert not shows_part(listed, INHERITED)


@ONE_ERA
@pytest.mark.parametrize(
    ("pattern", "secret", "label"),
    [
        ("n[a-z].*1e8", INHERITED, "CI_JOB_TOKEN"),
        ("herited-0f9", INHERITED, "CI_JOB_TOKEN"),
        ("a in.*84", INHERITED, "CI_JOB_TOKEN"),
        ("rited.* b", INHERITED, "CI_JOB_TOKEN"),
        ("hp_.*B2c", GITHUB, "GitHub token"),
        ("B2c3a.* b", GITHUB, "GitHub token"),
    ],
)
def test_what_a_pattern_matched_shows_no_more_than_its_line(
    session: McpSession, work: Path, pattern: str, secret: str, label: str
) -> None:
    command = f"{GATE}; echo a {'$CI_JOB_TOKEN' if secret is INHERITED else secret} b"
    job = session.ok("exec", command=command, yield_ms=0, watch=[pattern])["job_id"]
    (work / "go").touch()
    given = {"until": [f"regex={pattern}"], "timeout_ms": 30_000, "detail": "full"}
    fired = session.call("process", action="wait", job_id=job, **given)
    session.ok("process", action="wait", job_id=job, timeout_ms=30_000)
    read = session.call("process", action="events", job_id=job, detail="full")
    (hit,) = [event for event in read["events"] if event["type"] == "watch_hit"]
    for one in (fired["fired"], hit):
        assert one["line"] == f"a [masked: {label}] b"
        assert one["match"] in one["line"]
    assert not shows_part(fired, secret)
    assert not shows_part(read, secret)


@ONE_ERA
def test_every_line_with_the_end_of_a_value_is_masked(session: McpSession) -> None:
    value = "0123456789-abcdefghijklmnopqrst-uvwxyz-987654"
    command = 'echo "${X_KEY#0}"; echo "${X_KEY#*-*-}"'
    ran = session.ok("exec", command=command, env={"X_KEY": value}, yield_ms=30_000)
    assert ran["output"] == "[masked: X_KEY]\n" * 2


@ONE_ERA
def test_no_row_of_a_terminal_shows_8_characters_of_a_value_that_it_breaks(session: McpSession, work: Path) -> None:
    job = session.ok("exec", command=f"{GATE}; echo $CI_JOB_TOKEN", pty=True, yield_ms=0)["job_id"]
    session.ok("process", action="resize", job_id=job, cols=8, rows=10)
    (work / "go").touch()
    session.ok("process", action="wait", job_id=job, timeout_ms=30_000)
    screen = session.call("process", action="screen", job_id=job)
    assert screen["lines"][:3] == ["[masked: CI_JOB_TOKEN]"] * 3
    assert not shows_part(screen, INHERITED)
