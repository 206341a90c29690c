"""A part that is made up has its jobs wait for their start, until a file is there: what callers see of such a job, and what
of it survives the death of any process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.installed import Installed
from support.jobs import rewrite
from support.wait import until

DECLARATION = """
import os

from outlive.part import Part


class MadeUp(Part):
    name = "made_up"
    kept = {"command": "outlive.parts.made_up:kept"}


def kept(ctx, args):
    return {"made_up": os.environ["MADE_UP"]} if "MADE_UP" in os.environ else {}


PART = MadeUp()
"""
IN_SUPERVISOR = """
import os

from outlive.supervisor.added import Added


class MadeUp(Added):
    def wait(self, waiting):
        if os.path.exists(self._path("at_once")):
            return False
        waiting.note("made_up", "waits")
        timer = waiting.loop.timer(lambda: self._look(waiting, timer))
        timer.after(0)
        with open(self._path("waits"), "a") as file:
            file.write("begun ")
        return True

    def _path(self, name):
        return f"{self.definition.cwd}/{name}"

    def _look(self, waiting, timer):
        if os.path.exists(self._path("may")):
            waiting.go()
        elif os.path.exists(self._path("never")):
            waiting.fail("dependency", "what it waited for is gone")
        else:
            timer.after(0.01)

    def end_wait(self):
        with open(self._path("waits"), "a") as file:
            file.write("ended ")


ADDED = MadeUp
"""


@pytest.fixture
def env(place: Path) -> dict[str, str | None]:
    """The environment of a command line of outlive that has the part."""
    installed = Installed(place)
    installed.add_part(DECLARATION, IN_SUPERVISOR)
    return {**installed.env, "MADE_UP": "1"}


@pytest.fixture
def waiting(cli: Cli, env: dict[str, str | None]) -> Callable[..., str]:
    """`waiting(*words)` starts a job that waits for its start, and returns its id."""

    def started(*words: str) -> str:
        job = cli.ok("run", "--snapshot-after", "0", *words, env=env)
        assert (job["state"], job["pid"]) == ("created", None)
        return str(job["job_id"])

    return started


def steps() -> str:
    return Path("waits").read_text(encoding="utf-8") if Path("waits").exists() else ""


def state_of(cli: Cli, job: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((cli.root / job / "state.json").read_bytes())
    return found


def test_it_starts_when_it_may_and_its_time_counts_from_then_on(
    cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]
) -> None:
    job = waiting("--timeout", "50s", "echo it ran; exit 3")
    assert (state_of(cli, job)["phase"], state_of(cli, job)["made_up"]) == ("waiting", "waits")
    for verb in ("status", "poll", "log"):
        assert cli.ok(verb, job, env=env)["state"] == "created"
    Path("may").touch()
    ended = cli.ok("wait", job, env=env)
    assert (ended["output"], ended["exit_code"], steps()) == ("it ran\n", 3, "begun ended ")


def test_nothing_is_waited_for_where_it_may_start_at_once(cli: Cli, env: dict[str, str | None]) -> None:
    Path("at_once").touch()
    assert cli.ok("run", "--wait", "echo it ran", env=env)["output"] == "it ran\n"
    assert steps() == "ended "


def test_a_call_that_waits_for_the_end_is_answered_then(cli: Cli, env: dict[str, str | None]) -> None:
    with cli.spawn("run", "--wait", "echo it ran; exit 4", env=env) as call:
        until(lambda: "begun" in steps(), what="the wait to begin")
        Path("may").touch()
        stdout, _ = call.communicate(timeout=60)
    answer = json.loads(stdout)
    assert (answer["output"], answer["exit_code"]) == ("it ran\n", 4)


def test_what_can_never_start_says_why_and_its_sinks_hear_of_it(
    cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]
) -> None:
    job = waiting("--notify-file", "told", "touch ran")
    Path("never").touch()
    ended = cli.ok("wait", job, env=env)
    assert (ended["state"], ended["reason"], ended["exit_code"]) == ("failed", "dependency", None)
    assert cli.ok("status", job, env=env)["message"] == "what it waited for is gone"
    until(lambda: Path("told").exists() and Path("told").read_text(encoding="utf-8"), what="the sink to be told")
    assert not Path("ran").exists()


@pytest.mark.parametrize("verb", ["kill", "remove"])
def test_kill_and_remove_take_it_out(
    verb: str, cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]
) -> None:
    job = waiting("touch ran")
    answer = cli.ok(verb, job, env=env)
    if verb == "kill":
        assert (answer["state"], answer["reason"]) == ("failed", "kill")
        assert "never ran" in cli.ok("status", job, env=env)["message"]
    else:
        assert not (cli.root / job).exists()
    until(lambda: steps() == "begun ended ", what="the wait to be ended")
    assert not Path("ran").exists()


def test_what_cannot_be_done_before_the_start_is_refused(
    cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]
) -> None:
    job = waiting("--stdin", "open", "cat")
    assert "running" in cli.error("start", job, code="invalid_state", env=env)["message"]
    cli.error("write", job, "--data", "x", code="invalid_state", env=env)
    cli.error("kill", job, "--signal", "WINCH", code="invalid_state", env=env)
    assert cli.ok("status", job, env=env)["state"] == "created"
    cli.ok("remove", job, env=env)


def test_a_change_of_its_sinks_counts(cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]) -> None:
    job = waiting("echo ready")
    cli.ok("notify", "set", job, "--file", "told", "--watch", "ready", env=env)
    Path("may").touch()
    cli.ok("wait", job, env=env)
    pair.until_free(cli.root, job)
    assert Path("told").read_text(encoding="utf-8")
    kinds = [json.loads(line)["type"] for line in (cli.root / job / "events.ndjson").read_bytes().splitlines()]
    assert "watch_hit" in kinds


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("ends", ["may", "never", "kill"])
def test_it_waits_on_whichever_of_its_processes_is_killed(
    ends: str, both: bool, cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]
) -> None:
    job = waiting("echo run >> ran; exit 5")
    (pair.end_both if both else pair.end)(pair.supervisor(job))
    assert cli.ok("status", job, env=env)["state"] == "created"  # which gives it to others, if both are dead
    until(lambda: steps().count("begun") == 2, what="the wait to begin anew")
    if ends == "kill":
        assert cli.ok("kill", job, env=env)["reason"] == "kill"
    else:
        Path(ends).touch()
        assert cli.ok("wait", job, env=env)["reason"] == {"may": "exit", "never": "dependency"}[ends]
    assert Path("ran").exists() == (ends == "may")
    if ends == "may":
        assert Path("ran").read_text(encoding="utf-8") == "run\n"


def test_what_only_the_dead_knew_ends_it(cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]) -> None:
    job = waiting("--env", "TOKEN=secret", "--mask", "TOKEN", "touch ran")
    pair.end_both(pair.supervisor(job))
    ended = cli.ok("status", job, env=env)
    assert (ended["state"], ended["reason"]) == ("failed", "launch")
    assert "only they knew its masked variables" in ended["message"]


def test_after_a_reboot_it_has_failed(cli: Cli, env: dict[str, str | None], waiting: Callable[..., str]) -> None:
    job = waiting("touch ran")
    pair.end_both(pair.supervisor(job))
    rewrite(cli.root / job / "state.json", boot_id="another")
    Path("may").touch()
    ended = cli.ok("status", job, env=env)
    assert (ended["state"], ended["reason"]) == ("failed", "reboot")
    assert "never ran" in ended["message"]
    assert not {"elapsed_ms", "duration_ms", "usage"} & ended.keys()
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "point", ["wait_begun", "wait_over", "guardian:wait_begun,wait_begun", "guardian:wait_over,wait_over"]
)
def test_it_runs_once_wherever_its_supervisors_are_killed(point: str, cli: Cli, env: dict[str, str | None]) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "echo run >> ran; exit 6", env={**env, "OUTLIVE_CRASH_AT": point})[
        "job_id"
    ]
    Path("may").touch()
    assert cli.ok("wait", job, env=env)["exit_code"] == 6
    assert Path("ran").read_text(encoding="utf-8") == "run\n"
