"""The caller as which a process of ours acts that no call of anybody runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.parts.after import own_process
from outlive.store.root import Store
from outlive.system import own_programs
from outlive.system.known import Known


def test_a_process_that_calls_for_a_job_takes_no_program_from_where_its_caller_knew_jobs(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The looker of a job that waits, and the process that gives a job to its host at its turn."""
    monkeypatch.setattr(own_programs, "_workspaces", {})
    planted = tmp_path / "work" / "bin" / "squeue"
    planted.parent.mkdir(parents=True)
    planted.write_text("#!/bin/sh\n", encoding="utf-8")
    planted.chmod(0o755)
    env = {"HOME": str(tmp_path / "home"), "PATH": str(planted.parent)}
    assert own_programs.find("squeue", env) == str(planted)
    known = Known(workspaces=[str(tmp_path / "work")])
    own_process.context(store.path, env, "wait", config=None, known=known).caller.store.close()
    with pytest.raises(OutliveError, match="passed over"):
        own_programs.find("squeue", env)
