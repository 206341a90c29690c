"""The pages of the documentation: their code blocks, the commands in them, and what a shell says to these."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from support.cli import environment
from support.preloaded import OUTLIVE

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
    *sorted((CHECKOUT / "examples").rglob("*.md")),
]
WRITTEN = {"cli.md", "mcp-tools.md", "answers.md"}  # by scripts/reference.py
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SUBSTITUTION = re.compile(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_CUT = "…"  # in what a page shows: any text
_MARK = "<@{}@>"
BOUND_S = 120


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, kind: str | None = None) -> list[str]:
    """The code blocks of a page; those of one language, if it is named."""
    return [text for name, text in _BLOCK.findall(text_of(page)) if kind in (None, name)]


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return _BLOCK.sub("", text_of(page))


class Step(NamedTuple):
    """One command of a `console` block, and what the page says that it prints."""

    command: str
    shown: str


def steps(page: Path) -> list[Step]:
    found: list[Step] = []
    for block in blocks(page, "console"):
        assert block.startswith("$ "), f"{name_of(page)}: a console block begins with a command"
        for part in block.removeprefix("$ ").split("\n$ "):
            command, _, shown = part.partition("\n")
            found.append(Step(command, shown))
    return found


def commands(page: Path) -> list[str]:
    """Each line of the page that a reader types into a shell; a line that ends with a backslash goes on."""
    lines = [step.command for step in steps(page)]
    for block in blocks(page, "sh"):
        lines += block.replace("\\\n", " ").splitlines()
    return lines


def calls_of(line: str) -> list[list[str]]:
    """The arguments of each call of outlive in a line that a shell would run."""
    calls: list[list[str]] = []
    while inner := _SUBSTITUTION.search(line):
        calls += calls_of(inner[1])
        line = f"{line[: inner.start()]}SUBSTITUTED{line[inner.end() :]}"
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word.strip("|;&()<>") == "":
            if words[:1] == ["outlive"]:
                calls.append(words[1:])
            words = []
        else:
            words.append(word)
    return calls


def differing(page: Path, place: Path) -> list[str]:
    """Run the console blocks of a page in one bash, in `place`. Return where a command printed something else.

    `…` on the page is any text, blanks are not counted. Jobs that still run are the caller's to end.
    """
    wanted = steps(page)
    shim = place / "shim"
    shim.mkdir()
    (shim / "outlive").write_text(f'#!/bin/sh\nexec {shlex.join(OUTLIVE)} "$@"\n')
    (shim / "outlive").chmod(0o755)
    script = "".join(f"{step.command}\necho '{_MARK.format(n)}'\n" for n, step in enumerate(wanted))
    done = subprocess.run(
        ["bash"],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment({"PATH": f"{shim}:{os.environ['PATH']}"}),
        timeout=BOUND_S,
        check=False,
    )
    rest, wrong = done.stdout, []
    for number, step in enumerate(wanted):
        printed, mark, rest = rest.partition(_MARK.format(number) + "\n")
        assert mark, f"the shell ended at `{step.command}`:\n{printed}"
        if not _pattern(step.shown).fullmatch(" ".join(printed.split())):
            wrong.append(f"$ {step.command}\n--- the page shows\n{step.shown}--- it printed\n{printed}")
    return wrong


def _pattern(shown: str) -> re.Pattern[str]:
    words = " ".join(shown.split())
    return re.compile(".*".join(re.escape(part) for part in words.split(_CUT)), re.DOTALL)


class Call(NamedTuple):
    """One tool call of a session that a page shows, and the lines of its answer."""

    tool: str
    arguments: dict[str, object]
    lines: list[str]


def session(page: Path) -> list[list[Call]]:
    """The connections of the session that a page shows, and the calls of each."""
    (block,) = [text for text in blocks(page, "text") if text.startswith("> exec {")]
    found: list[list[Call]] = [[]]
    for line in block.splitlines():
        if line.startswith("# "):
            found.append([])
        elif line.startswith("> "):
            tool, _, arguments = line[2:].partition(" ")
            found[-1].append(Call(tool, json.loads(arguments), []))
        else:
            found[-1][-1].lines.append(line.strip())
    return found
