"""What a killed process leaves in the audit record: what was tried, and how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.commands import GATE
from support.wait import until


@pytest.fixture
def on(place: Path) -> dict[str, str | None]:
    return {"OUTLIVE_AUDIT_TO": "file", "XDG_STATE_HOME": str(place / "state")}


def told(cli: Cli, on: dict[str, str | None], verb: str) -> list[tuple[str, int | None]]:
    found = cli.ok("audit", "--verb", verb, env=on)["entries"]
    return [(one["job_id"], one.get("exit_code")) for one in found]


def test_what_is_started_is_recorded_before_a_process_can_be_killed_that_starts_it(
    cli: Cli, on: dict[str, str | None], work: Path
) -> None:
    env = {**on, "OUTLIVE_CRASH_AT": "send_request", "OUTLIVE_DEBUG_FILE": str(work / "crashes")}
    assert cli.text("run", "touch made", env=env).status != 0
    assert (work / "crashes").read_text(encoding="utf-8").split() == ["send_request"]
    assert not (work / "made").exists()
    ((job, _),) = told(cli, on, "run")
    assert cli.ok("status", job, env=on)["state"] == "failed"


@pytest.mark.parametrize("both", [False, True])
def test_a_process_that_takes_over_records_the_end(both: bool, cli: Cli, on: dict[str, str | None], work: Path) -> None:
    command = f"{GATE}; exit 3"
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", command, env=on)["job_id"]
    supervisor = pair.supervisor(job)
    if both:
        pair.end_both(supervisor)
        assert cli.ok("status", job, env=on)["state"] == "running"  # which has the job adopted
    else:
        pair.end(supervisor)
    pair.supervisor(job)
    (work / "go").touch()
    cli.ok("wait", job, env=on)
    ((ended, code),) = until(lambda: told(cli, on, "end"), what="the line of the supervisor")
    assert ended == job
    assert both or code == 3, "a command that was adopted has no parent to whom it says its code"
