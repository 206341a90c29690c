"""The notification commands of examples/notify, the hosts that they call, and what those were told."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli
from support.wait import until

EXAMPLES = Path(__file__).parents[2] / "examples" / "notify"
SCRIPTS = sorted(EXAMPLES.glob("*.sh"))
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
PAGE = (EXAMPLES.parents[1] / "docs" / "how-to" / "be-told.md").read_text(encoding="utf-8")
TOOLS = ("sh", "cat", "tail", "mv", "flock", "touch")  # what the scripts call besides the command that is told

# What a shell would act upon, were it parsed once more
EVIL = "it's \"$(touch pwned)\" `touch pwned`; touch pwned & 'x' \\ * ~ $HOME"

STAND_IN = """#!/bin/sh
printf '%s\\0' "$@" > {place}/argv
cat > {place}/stdin
printf '%s\\n' "$PWD" "${{CLAUDECODE-unset}}" > {place}/around
exit "$(cat {place}/code)"
"""


def wait_for_end(cli: Cli, job: str) -> None:
    """Wait from outside until a notice can tell of the end."""
    cli.ok("wait", job)
    in_history(cli, job)


def in_history(cli: Cli, job: str) -> None:
    """Wait until the history has the end, a moment after the outcome."""
    history = cli.root / job / "events.ndjson"
    until(lambda: b'"finished"' in history.read_bytes(), what="the end in the history")


class Host:
    """A command of an agent's host, played by a script."""

    def __init__(self, name: str, place: Path) -> None:
        self._place = place / f"{name}-told"
        self._place.mkdir()
        self.fails_with(0)
        program = place / "bin" / name
        program.write_text(STAND_IN.format(place=shlex.quote(str(self._place))))
        program.chmod(0o755)

    def fails_with(self, code: int) -> None:
        (self._place / "code").write_text(str(code))

    @property
    def argv(self) -> list[str]:
        return [os.fsdecode(word) for word in (self._place / "argv").read_bytes().split(b"\0")[:-1]]

    @property
    def stdin(self) -> bytes:
        return (self._place / "stdin").read_bytes()

    @property
    def around(self) -> list[str]:
        """Its directory, and CLAUDECODE."""
        return (self._place / "around").read_text().splitlines()

    @property
    def was_called(self) -> bool:
        return (self._place / "argv").exists()


def tools_in(place: Path) -> Path:
    """All that is on the PATH of the notification commands, by a profile that says so. `outlive` is ours."""
    found = place / "bin"
    found.mkdir()
    for name in TOOLS:
        if where := shutil.which(name):
            (found / name).symlink_to(where)
    ours = found / "outlive"
    ours.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m outlive "$@"\n')
    ours.chmod(0o755)
    (place / "home" / ".profile").write_text(f"PATH={shlex.quote(str(found))}; export PATH\n")
    return found


Play = Callable[[str], Host]


def text_of(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


class Told:
    """A job that ended with 3, whose end was told by an example."""

    def __init__(self, cli: Cli, job: str) -> None:
        self.job = job
        self.path = cli.root / job / "completion_event.json"
        self.event = until(self._whole, what="everything is delivered")
        (self.result,) = self.event.pop("delivery_results")
        assert self.event.pop("delivered") == self.result["success"]
        assert self.event.pop("pending") is False
        status = cli.ok("status", job)
        assert (status["state"], status["exit_code"], status["reason"]) == ("exited", 3, "exit"), "the job was changed"

    def _whole(self) -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(self.path.read_bytes()) if self.path.exists() else {}
        return None if found.get("pending", True) else found

    @property
    def success(self) -> bool:
        assert self.result["sink_type"] == "command"
        return bool(self.result["success"])


def tell(cli: Cli, name: str, variables: dict[str, str], *, by: str = "text", title: str = "a job") -> Told:
    """By its text, with variables from the caller's environment; or by its path, with variables in the command."""
    command, env = text_of(name), variables
    if by == "path":
        settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in variables.items())
        command, env = f"{settings} sh {shlex.quote(str(EXAMPLES / name))}", {}
    job = cli.ok("run", "--title", title, "--notify-command", command, "--", "sh", "-c", "exit 3", EVIL, env=env)
    return Told(cli, job["job_id"])


def nothing_was_run(place: Path) -> bool:
    return not list(place.rglob("pwned"))


def deliveries(cli: Cli) -> list[dict[str, Any]]:
    """The jobs that deliver."""
    found: list[dict[str, Any]] = cli.ok("list", "--all", "--tag", "notify")["jobs"]
    return found


# Each example, what it calls, and what it is told by variables
CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "openclaw-event.sh": ("openclaw", {"OPENCLAW_SESSION_KEY": EVIL}),
    "openclaw-agent.sh": ("openclaw", {"OPENCLAW_SESSION_ID": EVIL, "OPENCLAW_REPLY_CHANNEL": "a channel"}),
    "claude-code.sh": ("claude", {"CLAUDE_CODE_SESSION_ID": EVIL}),
    "codex.sh": ("codex", {"CODEX_THREAD_ID": EVIL}),
    "webhook.sh": ("curl", {"WEBHOOK_URL": "http://127.0.0.1:9/" + EVIL}),
    "desktop.sh": ("notify-send", {}),
}
needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="no jq here")
needs_flock = pytest.mark.skipif(not shutil.which("flock"), reason="no flock here")
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
CALLERS = [pytest.param(name, marks=needs_jq) if name == "desktop.sh" else name for name in CALLS]
