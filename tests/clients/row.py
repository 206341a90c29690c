"""What tests take of a client: the row that `tests/clients` measures, and the client itself in an empty home."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients import launch, measure
from clients.__main__ import NOT_INSTALLED
from clients.script import STEPS
from clients.terminal import Terminal
from conformance import npm
from support.pages import CHECKOUT
from support.wait import until

_QUESTION = re.compile(rb"\[(?:y/N|Y/n)\]")


def measured(name: str, place: Path, *options: str, run_s: float) -> dict[str, Any]:
    """Return the row of a client; skip the test if the client is not installed."""
    found = place / "measured.json"
    command = [sys.executable, str(Path(__file__).parent), name, *options, "--json", str(found)]
    ran_with_clients(command, run_s)
    row: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))[0]
    assert list(row["shown"]) == [step.name for step in STEPS], "the client did not come to the end"
    return row


def ran_with_clients(command: list[str], run_s: float) -> str:
    """Return what a script of this folder prints. A test has another home, but the clients that are installed."""
    env = {**os.environ, "OUTLIVE_TEST_CACHE": str(npm.CACHE)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=run_s, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Host:
    """A client from npm in an empty home, in which it and the command outlive are in the PATH. The test is skipped if it is
    not installed."""

    def __init__(self, name: str, place: Path) -> None:
        try:
            modules = launch.installed(name)
            self.place = launch.Place(modules, place / "host", place / "host", "http://127.0.0.1:9")
            self.place.home.mkdir()
            self._path = self.place.path_with(name, place / "programs")
        except npm.Unavailable as error:
            pytest.skip(str(error))

    def env(self) -> dict[str, str]:
        quiet = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        return {**self.place.env(), **launch.SLOW_START, **quiet, "PATH": self._path}

    def type(self, command: str, *, cwd: Path | None = None, **more: str) -> str:
        """Return what a command of a page prints where there is no terminal. AssertionError if it does not end well."""
        words = ["sh", "-c", command]
        up = "import clients.measure as m, os, sys; m.loopback(); os.execvp(sys.argv[1], sys.argv[1:])"
        if inside := measure.namespace():
            words = [*inside, sys.executable, "-c", up, *words]
        env = {**self.env(), "PYTHONPATH": f"{CHECKOUT / 'tests'}:{CHECKOUT / 'src'}", **more}
        done = subprocess.run(
            words, env=env, cwd=cwd or self.place.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def type_in_terminal(self, command: str, *, cwd: Path) -> str:
        """Return what the command shows to a person, who says yes to each question."""
        screen = self.place.home / "screen"
        said_yes = 0
        with Terminal(["sh", "-c", command], self.env(), cwd, screen) as terminal:

            def over() -> bool:
                nonlocal said_yes
                if len(_QUESTION.findall(screen.read_bytes())) > said_yes:
                    said_yes += 1
                    terminal.type("y\r")
                return terminal.ended()

            until(over, 200, what=f"the end of {command}")
        return screen.read_text(encoding="utf-8", errors="replace")
