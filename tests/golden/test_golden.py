"""Every verb answers as the golden files say. `python -m tests.golden --write` writes them again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from golden import stories
from golden.book import Book
from outlive.verbs import load, names, offered
from support.cli import Cli
from support.mcp_client import McpSession

KEPT = Path(__file__).parent.parent / "fixtures" / "golden"


@pytest.fixture(scope="module")
def era() -> str:
    """Both eras carry the same answers (heart/mcp/test_tools.py)."""
    return "modern"


def check(book: Book, story: stories.Story) -> None:
    """Compare a story with its file, or write the file."""
    story(book)
    path = KEPT / f"{story.__name__}.txt"
    if "GOLDEN_WRITE" in os.environ:
        path.write_text(book.text(), encoding="utf-8")
    assert book.text() == path.read_text(encoding="utf-8"), "make generated, or python -m tests.golden --write"


@pytest.mark.usefixtures("system_path")  # a policy decides
@pytest.mark.parametrize("story", stories.OF_CLI, ids=lambda story: story.__name__)
def test_the_command_line_answers_as_before(cli: Cli, place: Path, story: stories.Story) -> None:
    check(Book(cli, place), story)


@pytest.mark.parametrize("story", stories.OF_MCP, ids=lambda story: story.__name__)
def test_the_tools_answer_as_before(
    cli: Cli, place: Path, mcp_connect: Callable[..., McpSession], story: stories.Story
) -> None:
    check(Book(cli, place, mcp_connect(detail=None)), story)


def test_every_verb_and_every_action_has_a_page() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in KEPT.glob("*.txt"))
    assert not [verb for verb in names() if load(verb).cli and f"=== $ outlive {verb}" not in pages], "make generated"
    actions = {"run": "spawn", "host list": "hosts"}
    for verb in offered():
        assert f'"action": "{actions.get(verb, verb.replace(" ", "_"))}"' in pages, "make generated"
