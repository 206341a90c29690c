"""No process of ours imports what a workspace has, on the way to another machine and there."""

from __future__ import annotations

from pathlib import Path

import pytest

from heart.cli import test_isolated
from heart.cli.test_isolated import end, typed
from outlive.system import interpreter
from parts.hosts.test_ssh import box as box  # noqa: PLC0414
from support.cli import Jobs
from support.fake_ssh import FakeSsh
from support.pages import CHECKOUT

beside, hostile, installed = test_isolated.beside, test_isolated.hostile, test_isolated.installed


@pytest.mark.real_start
def test_no_process_that_outlive_starts_imports_anything_of_a_workspace(
    installed: Path, place: Path, hostile: dict[str, str], box: FakeSsh, jobs: Jobs, root: Path
) -> None:
    """Supervisors, the fork server of a server, the mirror of a job elsewhere, our end there, the demonstration."""
    job = typed(installed, "run", "--wait", "--host", "box", "echo there", env=hostile)
    assert "there" in job
    typed(installed, "demo", env=hostile)
    end(jobs, root)
    box.wait_empty()
    assert not (place / "ran").exists(), (place / "ran").read_text()


@pytest.mark.real_start
def test_a_project_beside_outlive_in_one_environment_is_not_imported_there(
    beside: Path, place: Path, box: FakeSsh, jobs: Jobs, root: Path
) -> None:
    assert "there" in typed(beside, "run", "--wait", "--host", "box", "echo there", env={})
    end(jobs, root)
    box.wait_empty()
    assert not (place / "ran").exists(), (place / "ran").read_text()


def test_what_python_does_first_is_the_same_inside_an_allocation() -> None:
    script = (CHECKOUT / "src/outlive/parts/hosts/slurm/inside_allocation.sh").read_text()
    assert interpreter.SITE in script and " -S " in script
