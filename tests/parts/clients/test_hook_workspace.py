"""A hook runs no program from where the jobs of its session work."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from outlive.parts.clients import hook
from outlive.system import own_programs
from outlive.verbs.spec import GlobalOptions


def test_a_hook_knows_the_directories_of_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, project, subdirectory = (tmp_path / name for name in ("jobs", "project", "elsewhere"))
    for directory in (root, project, subdirectory):
        directory.mkdir(mode=0o700)
    monkeypatch.setattr(own_programs, "_workspaces", {})
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    event = {"session_id": "one", "hook_event_name": "Stop", "cwd": str(subdirectory)}
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(event).encode())))
    options = GlobalOptions()
    options.root = str(root)
    assert hook.main({"host": "claude-code"}, options) == 0
    planted = subdirectory / "squeue"
    planted.write_text("#!/bin/sh\n", encoding="utf-8")
    planted.chmod(0o755)
    assert {str(project), str(subdirectory)} <= {*own_programs.known().workspaces}
    assert not own_programs.is_safe(str(planted), {"HOME": str(tmp_path / "home")})
