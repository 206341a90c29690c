"""A part that is made up here does something in the supervisor of each job: when, and what of it survives a takeover."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.commands import GATE
from support.installed import Installed
from support.wait import until

DECLARATION = """
import os

from outlive.part import Part


class MadeUp(Part):
    name = "made_up"
    kept = {"command": "outlive.parts.made_up:kept"}


def kept(ctx, args):
    return {"made_up": os.environ.get("MADE_UP", "steps")}


PART = MadeUp()
"""
IN_SUPERVISOR = """
import errno
import os

from outlive.core.records import State
from outlive.supervisor.added import Added


class MadeUp(Added):
    def _note(self, state, step):
        steps = state.kept.get("made_up", [])
        return State.replace(state, kept={**state.kept, "made_up": [*steps, step]})

    def begin(self, state):
        self._mark = f"{self.definition.cwd}/made"
        with open(self._mark, "w"):
            pass
        if self.definition.kept["made_up"] == "refuses":
            raise OSError(errno.EBUSY, "busy")
        return self._note(state, "begin")

    def words(self, state, command):
        return [word.replace("{step}", state.kept["made_up"][-1]) for word in command]

    def environment(self, state):
        return {"STEPS": str(len(state.kept["made_up"]))}

    def prepare(self):
        os.nice(3)

    def discard(self):
        os.unlink(self._mark)

    def started(self, state):
        return self._note(state, f"started {state.phase}")

    def running(self, job):
        path = f"{self.definition.cwd}/enough"
        timer = job.loop.timer(lambda: job.end("limit", "enough") if os.path.exists(path) else timer.after(0.02))
        timer.after(0)

    def ended(self, state):
        return self._note(state, f"ended {state.exit_code}")


ADDED = MadeUp
"""


@pytest.fixture
def env(place: Path) -> dict[str, str | None]:
    """The environment of a command line of outlive that has the part."""
    installed = Installed(place)
    installed.add_part(DECLARATION, IN_SUPERVISOR)
    return {**installed.env}


def steps(cli: Cli, job: str) -> list[str]:
    found: list[str] = json.loads((cli.root / job / "state.json").read_bytes())["made_up"]
    return found


def test_each_step_is_done_in_its_order(cli: Cli, env: dict[str, str | None]) -> None:
    job = cli.ok("run", "--wait", "echo $STEPS {step}; nice; exit 4", env=env)
    assert (job["output"], job["exit_code"]) == (f"1 begin\n{min(os.nice(0) + 3, 19)}\n", 4)
    assert steps(cli, job["job_id"]) == ["begin", "started running", "ended 4"]
    assert Path("made").exists()


def test_what_was_made_is_taken_back_where_nothing_is_started(cli: Cli, env: dict[str, str | None]) -> None:
    error = cli.error("run", "true", code="launch_failed", env={**env, "MADE_UP": "refuses"})
    assert error["details"]["errno"] == "EBUSY"
    until(lambda: not Path("made").exists(), what="what was made to be gone")


def test_a_command_that_cannot_be_run_has_no_step_behind_its_start(cli: Cli, env: dict[str, str | None]) -> None:
    job = cli.ok("run", "--", "/nonexistent/program", "x", env=env)
    assert (job["state"], job["reason"]) == ("failed", "launch")
    assert steps(cli, job["job_id"]) == ["begin"]
    assert not Path("made").exists(), "it was taken back"


@pytest.mark.parametrize("both", [False, True])
def test_a_process_that_takes_over_goes_on_with_it(both: bool, cli: Cli, env: dict[str, str | None]) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", GATE, env=env)["job_id"]
    supervisor = pair.supervisor(job)
    if both:
        pair.end_both(supervisor)
        assert cli.ok("status", job, env=env)["state"] == "running"  # which has the job adopted
    else:
        pair.end(supervisor)
    pair.supervisor(job)
    Path("enough").touch()
    ended = cli.ok("wait", job, env=env)
    assert ended["message"] == "enough" or both, ended
    assert steps(cli, job)[:2] == ["begin", "started running"]
    assert both or steps(cli, job)[2:] == ["ended None"]


@pytest.mark.parametrize("point", ["start_marked", "start_spawned"])
def test_a_start_that_is_made_again_begins_again_only_if_nothing_was_spawned(
    point: str, cli: Cli, env: dict[str, str | None]
) -> None:
    job = cli.ok("run", "--wait", "exit 5", env={**env, "OUTLIVE_CRASH_AT": point})
    assert job["exit_code"] == 5
    known = ["begin", "started running"] if point == "start_marked" else ["begin"]
    assert steps(cli, job["job_id"]) == [*known, "ended 5"]
