"""Why a job can have ended: for each reason there is a way to end for it, and no reason is without one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.core.records import REASONS
from outlive.store import atomic_file
from outlive.system import process
from support import pair
from support.cli import Cli, configured


def _ran(*words: str) -> Callable[[Cli, Path], str]:
    return lambda cli, root: str(cli.run("run", "--wait", *words)["job_id"])


def _killed(cli: Cli, root: Path) -> str:
    job = str(cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"])
    cli.ok("kill", job, "--grace-ms", "0")
    return job


def _abandoned(*, boot_id: str | None) -> Callable[[Cli, Path], str]:
    """Return a way to make a job whose record says that it runs, as a process that is gone; `boot_id`: before a restart."""

    def make(cli: Cli, root: Path) -> str:
        job = str(cli.ok("run", "--wait", "true")["job_id"])
        pair.until_free(root, job)
        (root / job / "events.ndjson").unlink()  # which would know the end
        path = root / job / "state.json"
        state: dict[str, Any] = atomic_file.load(path.read_bytes())
        state |= dict.fromkeys(("exit_code", "reason", "finished_at", "duration_ms"))
        state |= {
            "state": "running",
            "phase": "running",
            "identity": {**process.identity(os.getpid()).to_dict(), "start_time": 1},
        }
        if boot_id is not None:
            state |= {"boot_id": boot_id, "identity": {**state["identity"], "boot_id": boot_id}}
        path.write_bytes(atomic_file.dump(state))
        return job

    return make


def _denied(cli: Cli, root: Path) -> str:
    configured(root.parent, '[policy]\ndefault = "ask"\n')
    job = str(cli.ok("run", "--snapshot-after", "0", "true")["job_id"])
    cli.ok("deny", job)
    return job


WAYS = {
    "exit": _ran("exit 3"),
    "signal": _ran("kill -9 $$"),
    "timeout": _ran("--timeout", "100", "sleep 60"),
    "idle_timeout": _ran("--idle-timeout", "100", "sleep 60"),
    "limit": _ran("--resource", "cpu_time=1s", "while :; do :; done"),
    "kill": _killed,
    "denied": _denied,
    "launch": _ran("--", "/no/such/program", "x"),
    "lost": _abandoned(boot_id=None),
    "reboot": _abandoned(boot_id="00000000-1111-2222-3333-444444444444"),
}
IN_A_GROUP = {"oom"}  # tests/durability/test_memory.py: it takes a control group, real or played


def test_every_reason_can_be_the_reason_of_a_job() -> None:
    assert WAYS.keys() | IN_A_GROUP == set(REASONS)


@pytest.mark.parametrize("reason", WAYS)
def test_a_job_ends_for_this_reason(cli: Cli, root: Path, reason: str) -> None:
    job = WAYS[reason](cli, root)
    assert cli.ok("status", job)["reason"] == reason
    assert cli.ok("wait", job)["reason"] == reason
