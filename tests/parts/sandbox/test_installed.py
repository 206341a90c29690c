"""What of outlive and its Python is read-only for a job, where it lies in the workspace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from outlive.core.records import GrantedSandbox
from outlive.parts.sandbox.confinement import access
from outlive.parts.sandbox.settings import Settings
from outlive.system import interpreter


def test_the_python_that_an_environment_was_made_of_is_no_jobs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = place / "project"
    base = work / ".python"
    base.mkdir(parents=True)
    monkeypatch.setattr(sys, "base_prefix", str(base))
    sandbox = access.resolved(
        granted=GrantedSandbox("workspace-write", "none", "read"),
        settings=Settings(),
        workspace=os.path.realpath(work),
        homes=[str(place / "home")],
        ours=access.Ours([], interpreter.installed(), ""),
    )
    assert sandbox.protect == [str(base)]
