"""Clients in a terminal, as a person has them: what their models are shown, and whether the end of a job wakes them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyte
import pytest

from clients import measure, terminal
from clients.apis import CALL, RESULT, USER, Anthropic, Tool, Turn
from clients.launch import CLIENTS, Place, installed, with_plugin
from clients.model import DONE, Model, decide, woken
from clients.row import measured
from clients.script import BUILT, SCRIPTS, Step, in_own_shell, prompt
from clients.terminal import Terminal
from conformance import npm
from support.wait import until

RUN_S = 800
OWN = "own"  # the script of a test
ASKS = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n'


def test_what_comes_after_a_turn_is_a_wake_and_what_comes_with_an_answer_is_none() -> None:
    turn = [Turn(USER, prompt("wake")), Turn(CALL, "{}", "mcp__outlive__exec"), Turn(RESULT, "began")]
    assert woken([*turn, Turn(USER, "a reminder")]) == []
    assert woken([*turn, Turn("assistant", "Done."), Turn(USER, "it has ended")]) == ["it has ended"]
    assert woken([Turn(USER, "Hello."), Turn("assistant", "Hello."), Turn(USER, prompt("wake"))]) == []


def test_in_its_own_shell_a_client_polls_what_it_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCRIPTS, "shell", in_own_shell("codex", 1))
    turns = [Turn(USER, prompt("shell")), Turn(CALL, "{}", "exec_command")]
    tools = [Tool("exec_command", "", {})]
    first = decide(turns[:1], tools)
    assert (first.name, "sleep(600)" in first.args["cmd"]) == ("exec_command", True)
    poll = decide([*turns, Turn(RESULT, "Process running with session ID 4711")], tools)
    assert (poll.name, poll.args["session_id"]) == ("write_stdin", 4711)
    assert decide([*turns, Turn(RESULT, "Output:\nbuilt")], tools).text == "All steps are done."


def test_a_terminal_answers_what_a_program_asks_it_and_ends_it(tmp_path: Path) -> None:
    asks = (
        "import os, sys, termios, tty; tty.setraw(0); os.write(1, b'\\x1b[6n'); "
        "read = os.read(0, 9); os.write(1, b'%r' % read); os.read(0, 1)"
    )
    with Terminal([sys.executable, "-c", asks], {}, tmp_path, tmp_path / "screen") as terminal:
        until(lambda: rb"[1;1R" in (tmp_path / "screen").read_bytes(), what="the answer")
        terminal.type("x")
        until(terminal.ended, what="the end")
    with Terminal(["sleep", "600"], {"PATH": "/usr/bin:/bin"}, tmp_path, tmp_path / "screen") as terminal:
        assert not terminal.ended()
    assert terminal.ended()


def in_terminal(name: str, place: Path) -> dict[str, Any]:
    row = measured(name, place, "--terminal", run_s=RUN_S)
    assert row["shown"]["failing"]["exit_code"]
    return row


@pytest.mark.slow
def test_claude_code_in_a_terminal_goes_on_and_its_model_is_woken_by_the_end_of_a_job(place: Path) -> None:
    wake = in_terminal("claude", place)["wake"]
    assert wake["task"]
    assert "moved to the background" in wake["shown"]
    assert "Command exited with code 3\n\nbuilt" in wake["told"], "text, the verdict first"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "openclaw"])
def test_the_terminal_of_this_client_takes_no_task_and_wakes_no_model(name: str, place: Path) -> None:
    wake = in_terminal(name, place)["wake"]
    assert (wake["task"], wake["told"]) == (False, None)
    assert "still running" in wake["shown"]


class Claude:
    """Claude Code in a terminal, in an empty home, whose model runs these steps. The test is skipped if it is not installed."""

    def __init__(self, place: Path, *steps: Step, config: str = "", plugin: bool = False) -> None:
        try:
            modules = installed("claude")
        except npm.Unavailable as error:
            pytest.skip(str(error))
        self.log, home = place / "requests", place / "host"
        self._screen, self._plugin = place / "screen", plugin
        self.work = Path(tempfile.mkdtemp(prefix="w"))  # a short name, as people have it
        for path in (self.log, home):
            path.mkdir()
        self._model = Model(self.log)
        self._at = Place(modules, home, self.work, self._model.url, prompt(OWN))
        self._at.write(".config/outlive/config.toml", config)
        SCRIPTS[OWN] = steps

    def __enter__(self) -> Claude:
        self._model.__enter__()
        start = CLIENTS["claude"].in_terminal(self._at)
        start = with_plugin(self._at, start) if self._plugin else start
        self.terminal = Terminal(start.command, {**self._at.env(), **start.env}, self.work, self._screen)
        self.terminal.__enter__()
        until(lambda: self.outlive("list", "--all")["jobs"], 200, what="the job")
        return self

    def outlive(self, *words: str) -> dict[str, Any]:
        command = [str(self._at.outlive), *words]
        done = subprocess.run(command, env=self._at.env(), cwd=self.work, capture_output=True, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    @property
    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = self.outlive("list", "--all")["jobs"][0]
        return found

    def shown(self) -> str:
        """Return the screen as a person sees it, each run of blanks as one."""
        screen = pyte.Screen(terminal.COLUMNS, terminal.ROWS)
        pyte.ByteStream(screen).feed(self._screen.read_bytes())
        return " ".join(" ".join(screen.display).split())

    def say(self, words: str) -> None:
        self.terminal.type(words)
        until(lambda: words in self.shown(), 60, what=f"{words} on the screen")
        self.terminal.type("\r")

    def form(self) -> str:
        """Return the screen that has the form of an approval."""
        until(lambda: "Accept" in self.shown(), 60, what="the form")
        return self.shown()

    def __exit__(self, *_: object) -> None:
        self.terminal.__exit__()
        if self.job["state"] == "created":
            self.outlive("kill", self.job["job_id"])
        measure.end_jobs(self._at.env(), self.work)
        self._model.__exit__()
        shutil.rmtree(self.work)
        del SCRIPTS[OWN]


def begins(command: str) -> Step:
    return Step("start", "exec", {"command": command, "background": True})


@pytest.mark.slow
def test_the_form_of_claude_code_shows_all_that_decides_what_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "COLUMNS", 80)
    command = f"touch approved; {BUILT} && echo 'to the very end of what it runs, which a form has to show'; exit 3"
    with Claude(place, begins(command), config=ASKS) as client:
        shown = client.form()
    assert f"Asked by: rule 1 (touch) · Read by: bash -c · Directory: {client.work} ·" in shown
    assert f"Sandbox: none · Command: {command}" in shown


@pytest.mark.slow
def test_of_a_long_command_the_form_of_claude_code_says_where_all_is_shown(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "COLUMNS", 80)
    command = f"touch approved; {'; '.join(f'echo {number}' for number in range(99))}"
    with Claude(place, begins(command), config=ASKS) as client:
        assert f"If anything is cut here, `outlive approve {client.job['short_id']}` shows all." in client.form()


@pytest.mark.slow
def test_an_approval_from_a_second_terminal_reaches_the_model_of_claude_code_when_its_form_is_closed(
    place: Path,
) -> None:
    with Claude(place, begins(f"touch approved; {BUILT}; exit 3"), config=ASKS) as client:
        client.form()
        client.outlive("approve", client.job["job_id"])
        until(lambda: client.job["state"] == "exited", 60, what="the end")
        client.terminal.type("\x1b")  # the form's own "answer later"
        until(lambda: measure.told_later(client.log) is not None, 60, what="the wake")
    told = measure.told_later(client.log)
    assert told is not None
    assert "Command exited with code 3\n\nbuilt" in told


@pytest.mark.slow
@pytest.mark.parametrize("waits", [False, True], ids=["the job", "the waiting"])
def test_task_stop_of_claude_code_ends_what_the_task_is_of(waits: bool, place: Path) -> None:
    wait = Step("wait", "process", {"action": "wait", "job_id": "{job}"})
    stop = Step("stop", "TaskStop", {"task_id": "{job}"}, own=True, handle=r'task_id \\?"(\w+)')
    with Claude(place, begins("exec sleep 600"), *[wait] * waits, stop) as client:
        until(lambda: "stop" in measure.told(client.log).get(OWN, {}), 120, what="the answer of TaskStop")
        if waits:
            assert client.job["state"] == "running"
        else:
            until(lambda: client.job["state"] == "killed", 60, what="the end of the job")


def told_in(client: Claude, words: str) -> list[str]:
    """Return what the newest conversation that has these words says of the end with 3."""
    newest = max(client.log.glob("*-Anthropic.json"))
    turns, _ = Anthropic.read(json.loads(newest.read_text(encoding="utf-8")))
    said = [turn.text for turn in turns]
    return [text for text in said if "with code 3" in text] if any(words in text for text in said) else []


@pytest.mark.slow
@pytest.mark.parametrize("clear", [False, True], ids=["", "after a clear"])
def test_an_end_wakes_the_model_of_claude_code_and_is_told_by_no_hook_and_no_notice_again(
    clear: bool, place: Path
) -> None:
    waits = f"until [ -e go ]; do sleep 0.1; done; {BUILT}; exit 3"
    with Claude(place, begins(waits), plugin=True) as client:
        until(lambda: DONE in client.shown(), 120, what="the end of the turn")
        if clear:
            client.say("/clear")
            until(lambda: DONE not in client.shown(), 60, what="the empty screen")
        (client.work / "go").touch()
        until(lambda: client.job["state"] == "exited", 60, what="the end of the job")
        client.say("Hello again.")  # the hook is asked too
        until(lambda: told_in(client, ""), 60, what="the wake")
        client.say("And a third time.")
        assert len(until(lambda: told_in(client, "And a third time."), 60, what="the request")) == 1
