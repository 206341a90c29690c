"""What tools obey in the workspace, where a name leads elsewhere or is made anew while a job runs; and a bwrap there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

pytestmark = USERS
INSIDE = ("--sandbox", "workspace-write")


def _found(ground: Ground, answer: dict[str, Any]) -> set[tuple[str, str]]:
    """(kind, path) of what was reported."""
    events = ground.outlive("events", str(answer["job_id"]))["events"]
    return {
        (one["kind"], one["path"]) for event in events if event["type"] == "workspace_changed" for one in event["found"]
    }


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".claude/hooks", "../tools"),  # a link to a directory
        (".claude/hooks/check", "../../tools/check"),
        (".claude/a/b/check", "../../../tools/check"),
        (".vscode/tasks.json", "../tools/check"),
    ],
)
def test_what_a_link_in_settings_leads_to_is_reported_when_it_is_written(
    ground: Ground, link: str, target: str
) -> None:
    place = ground.directory("links")
    ground.shell(f"mkdir tools; echo true > tools/check; mkdir -p $(dirname {link}); ln -s {target} {link}", place)
    answer = ground.outlive("run", "--wait", *INSIDE, "echo evil > tools/check", cwd=place)
    assert answer["exit_code"] == 0
    assert {kind for kind, path in _found(ground, answer) if path.startswith(f"{place}/{link}")} == {"settings"}


def test_a_directory_of_hooks_that_is_made_anew_while_a_job_runs_is_reported(ground: Ground) -> None:
    """A checkout does that. The mount goes with the directory: from then on a job can write there."""
    place = ground.directory("anew")
    ground.shell("git init -q .; git config core.hooksPath .hooks; mkdir .hooks", place)
    script = "touch here; until test -e go; do sleep 0.05; done; echo evil > .hooks/pre-commit"
    job = str(ground.outlive("run", "--snapshot-after", "0", *INSIDE, script, cwd=place)["job_id"])
    ground.shell("until test -e here; do sleep 0.05; done; rmdir .hooks; mkdir .hooks; touch go", place)
    answer = ground.outlive("wait", job, cwd=place)
    assert answer["exit_code"] == 0, answer
    assert _found(ground, answer) == {("program", f"{place}/.hooks")}


def test_a_bwrap_that_a_job_could_write_is_not_run(ground: Ground) -> None:
    place = ground.directory("bwrap")
    ground.shell(
        f"printf '#!/bin/sh\\ntouch {place}/ran\\n' > bwrap; chmod 755 bwrap; ln -s $PWD/bwrap ~/linked", place
    )
    for path in (place / "bwrap", ground.home / "linked"):
        answer = ground.outlive("run", "--wait", *INSIDE, "true", cwd=place, OUTLIVE_SANDBOX_BWRAP=str(path))
        assert answer["error"]["code"] == "sandbox_unavailable", answer
        assert str(path) in answer["error"]["message"]
        assert not Path(place, "ran").exists()


@pytest.mark.parametrize("entry", ["go/pkg", ".local/bin"])
def test_a_link_that_a_job_left_in_the_home_shows_other_jobs_nothing_of_what_it_leads_to(
    ground: Ground, entry: str
) -> None:
    """The job was started in `~/go` or `~/.local`; one in another workspace is shown toolchains there."""
    other = ground.directory("other")
    ground.shell(f"mkdir -p ~/{entry} ~/.ssh; echo mine > ~/.ssh/id", other)
    top, name = (ground.home / entry).parent, (ground.home / entry).name
    left = ground.outlive("run", "--wait", *INSIDE, f"mv {name} before; ln -s ../.ssh {name}", cwd=top)
    assert (left["exit_code"], (top / name).is_symlink()) == (0, True)
    answer = ground.outlive("run", "--wait", *INSIDE, f"cat ~/{entry}/id", cwd=other)
    assert answer["exit_code"] == 1 and "mine" not in answer["output"], answer
