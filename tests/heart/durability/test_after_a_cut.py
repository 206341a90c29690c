"""What a power cut leaves of a job's files, and what is true of the job then."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.store import atomic_file
from outlive.system import tree
from support import pair, processes
from support.cli import Cli
from support.jobs import rewrite, settled
from support.tiers import first

OTHER_BOOT = "00000000-1111-2222-3333-444444444444"
LEFT = {"empty": b"", "zeros": bytes(900), "torn": b'{"format":1,"state":"run'}


def _cut_off(cli: Cli, root: Path, *words: str) -> str:
    """A job that ran when the machine went down: of another boot, and none of its processes is there."""
    words = words if "--until" in words else ("--snapshot-after", "0", *words)
    job: str = cli.ok("run", *words)["job_id"]
    pair.end_pair(job)
    pair.end(*[member.pid for member in tree.with_cookie(job)])
    rewrite(root / ".live" / job, boot_id=OTHER_BOOT)
    return job


@pytest.mark.fault("D02")
@pytest.mark.parametrize("left", first(1, [*LEFT, "missing"]))
def test_a_running_job_is_reboot_whatever_a_cut_leaves_of_its_state(cli: Cli, root: Path, left: str) -> None:
    job = _cut_off(cli, root, "--until", "regex=early", "echo early; sleep 600")
    state = root / job / "state.json"
    state.unlink()
    if left in LEFT:
        state.write_bytes(LEFT[left])
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "reboot", None)
    assert not (root / ".live" / job).exists()
    assert [one["type"] for one in cli.ok("events", job)["events"]].count("finished") == 1
    assert cli.ok("log", job)["output"] == "early\n"


@pytest.mark.fault("D02")
def test_a_job_that_a_cut_left_nothing_of_but_its_definition_is_not_said_never_to_have_run(
    cli: Cli, root: Path
) -> None:
    job = _cut_off(cli, root, "sleep 600")
    (root / job / "state.json").unlink()
    (root / ".live" / job).write_bytes(b"")
    (root / job / "events.ndjson").unlink()
    meta = root / job / "meta.json"
    rewrite(meta, machine={**atomic_file.load(meta.read_bytes())["machine"], "boot_id": OTHER_BOOT})
    found = cli.ok("status", job)
    assert (found["state"], found["reason"]) == ("failed", "reboot")
    assert "may have run" in found["message"]


@pytest.mark.fault("D03", "F19")
@pytest.mark.parametrize("left", first(1, LEFT))
def test_the_history_has_the_exit_code_of_a_job_whose_state_a_cut_took(cli: Cli, root: Path, left: str) -> None:
    job = settled(cli, "echo kept; exit 3")
    (root / job / "state.json").write_bytes(LEFT[left])
    found = cli.ok("status", job)
    assert (found["state"], found["reason"], found["exit_code"]) == ("exited", "exit", 3)
    assert "state.json" in found["damage"]
    assert found["pid"] and found["finished_at"]
    for verb in ("status", "wait", "poll", "log"):
        assert cli.ok(verb, job)["exit_code"] == 3
    assert [one["exit_code"] for one in cli.ok("list", "--all")["jobs"]] == [3]
    assert cli.ok("log", job)["output"] == "kept\n"


@pytest.mark.fault("D03")
def test_the_history_counts_before_an_older_state(cli: Cli, root: Path) -> None:
    """A sync of the history may be the last thing before a cut; the rename of the state was not committed."""
    job = settled(cli, "exit 3")
    old = {"state": "running", "phase": "running", "exit_code": None, "reason": None, "boot_id": OTHER_BOOT}
    rewrite(root / job / "state.json", **old)
    found = cli.ok("status", job)
    assert (found["state"], found["reason"], found["exit_code"]) == ("exited", "exit", 3)


@pytest.mark.fault("D03")
def test_a_supervisor_knows_what_its_damaged_state_does_not_say(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "until [ -e go ]; do sleep 0.1; done; exit 3")["job_id"]
    (root / job / "state.json").write_bytes(b"")
    found = cli.ok("status", job)
    assert (found["state"], found["damage"]) == ("running", "state.json: it is empty")
    assert processes.is_alive(found["pid"])
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 3


@pytest.mark.fault("D03")
def test_a_state_is_unknown_only_if_nothing_tells_it(cli: Cli, root: Path) -> None:
    job = cli.ok("create", "true")["job_id"]
    (root / job / "state.json").write_bytes(b"")
    found = cli.ok("status", job)
    assert (found["state"], found["damage"]) == ("unknown", "state.json: it is empty")
