"""What `usage` says of one job, in odd cases too; of several: parts/groups."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli


def test_usage_for_a_person_has_no_json(cli: Cli) -> None:
    job = cli.ok("run", "--", "sh", "-c", "echo four; exit 0")["job_id"]
    shown = cli.text("--human", "usage", job).stdout
    assert "exited with code 0" in shown
    assert "output     5 B" in shown
    assert "{" not in shown


def test_a_job_that_cannot_be_read_or_was_not_started_is_not_said_to_have_used_nothing(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    (root / job / "state.json").write_bytes(b"")
    (root / job / "events.ndjson").unlink()  # nothing tells of its end
    message = cli.error("usage", job, code="invalid_state")["message"]
    assert message.startswith("what it used is not known: ") and "state.json" in message
    created = cli.ok("create", "true")["job_id"]
    assert "has not run" in cli.error("usage", created, code="invalid_state")["message"]


@pytest.mark.parametrize("name", ["meta.json", "state.json", "events.ndjson", "stdout.log", "order"])
def test_whatever_is_left_of_a_file_it_answers(cli: Cli, root: Path, name: str) -> None:
    job = cli.ok("run", "echo out; exit 3")["job_id"]
    pair.until_free(root, job)
    (root / job / name).write_bytes(b"")
    assert cli.ok("usage", job)["exit_code"] == 3


def test_what_a_job_started_inside_a_job_used_is_not_counted_twice(cli: Cli) -> None:
    inner = f"{sys.executable} -c 'bytearray(200 << 20)'"
    outer = cli.ok("run", "--wait", f"{sys.executable} -m outlive run --wait --title inner -- {inner}; sleep 0.1")
    used = {job["name"]: job["job_id"] for job in cli.ok("list", "--all")["jobs"]}
    pair.until_free(cli.root, used["inner"])
    pair.until_free(cli.root, outer["job_id"])
    peaks = [cli.ok("usage", job)["usage"]["peak_memory_bytes"] or 0 for job in (used["inner"], outer["job_id"])]
    assert peaks[0] > 200 << 20 > peaks[1], peaks
