"""Writing down what the command line and the MCP server answer, as one text."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from golden.masks import Masks, paths
from outlive.verbs import names
from support.cli import Cli, one_object
from support.mcp_client import McpSession
from support.pair import until_free

FULL: tuple[str, ...] = ()
BRIEF, HUMAN = ("--detail", "brief"), ("--human",)
READING = (FULL, BRIEF, HUMAN)


class Book:
    """The calls of one story and their answers. `session` is given to stories about MCP alone."""

    def __init__(self, cli: Cli, place: Path, session: McpSession | None = None) -> None:
        self.cli, self.place, self._session = cli, place, session
        self._masks = Masks(paths(place, sys.executable))
        self._pages: list[str] = []

    @property
    def session(self) -> McpSession:
        assert self._session, "a story about MCP is marked as one"
        return self._session

    def ask(self, *words: str, forms: tuple[tuple[str, ...], ...] = READING, **how: Any) -> dict[str, Any]:
        """Call the command in each form. Return the object of the last form that has one."""
        answer: dict[str, Any] = {}
        for form in forms:
            answer = self._one(*words, form=form, **how) or answer
        return answer

    def made(self, *words: str, **how: Any) -> str:
        """Return the id of a job that a call made, which is written down in full, when its
        supervisor has ended."""
        job: str = self.ask(*words, forms=(FULL,), **how)["job_id"]
        self.settle(job)
        return job

    def settle(self, job: str) -> None:
        """Wait for the end of a job's supervisor."""
        until_free(self.cli.root, job)

    def call(self, tool: str, /, *, details: tuple[str, ...] = ("brief", "full"), **arguments: Any) -> dict[str, Any]:
        """Call a tool in each detail. Return the last object."""
        result: dict[str, Any] = {}
        for detail in details:
            answer = self.session.call(tool, detail=detail, **arguments)
            result = answer.result
            said = json.dumps(self._masks.json({**arguments, "detail": detail}), ensure_ascii=False)
            self._write(f"{tool} {said}", self._object(result), self._masks.text(answer.text))
        return result

    def note(self, title: str, value: dict[str, Any]) -> None:
        """Write down something that is no answer."""
        self._write(title, self._object(value))

    def text(self) -> str:
        """Return everything that was written down."""
        return "\n".join(self._pages)

    def _one(self, *words: str, form: tuple[str, ...], **how: Any) -> dict[str, Any]:
        count = 2 if " ".join(words[:2]) in names() else 1
        words = (*words[:count], *form, *words[count:])
        printed = self.cli.text(*words, **how)
        answer: dict[str, Any] = {}
        stdout = printed.stdout
        if stdout.startswith('{"'):
            answer = one_object(printed)
            plain = json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n"
            assert stdout == plain, "an object on one line, without spaces"
            stdout = self._object(answer)
        else:
            stdout = self._masks.text(stdout)
        self._write(
            f"$ outlive {self._masks.text(shlex.join(words))}",
            f"exit {printed.status}",
            stdout,
            self._masks.text(printed.stderr),
        )
        return answer

    def _object(self, value: dict[str, Any]) -> str:
        """Return an object with each of its members on a line."""
        members = self._masks.json(value).items()
        lines = [f" {json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in members]
        return "{\n" + ",\n".join(lines) + "\n}"

    def _write(self, title: str, *parts: str) -> None:
        self._pages.append("\n".join([f"=== {title}", *(part.rstrip("\n") for part in parts if part), ""]))
