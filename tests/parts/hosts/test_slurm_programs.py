"""The programs of a cluster, each of which may do anything."""

from __future__ import annotations

import os
from pathlib import Path

from outlive.parts.hosts.slurm import programs
from support.wait import until


def test_what_a_program_leaves_behind_with_its_output_open_is_ended_too(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! >{tmp_path}/pid"
    code, printed, why = programs.bounded("sinfo", ["/bin/sh", "-c", script], timeout_s=0.3, env={"PATH": os.defpath})
    assert (code, printed) == (124, "")
    assert "did not answer within" in why
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not os.path.exists(f"/proc/{pid}"), timeout=10, what="the end of what it left")
