"""Job directories that other versions wrote: they load for ever, or are refused with the way out."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from support import processes
from support.cli import Cli
from support.jobs import collected

JOBS = Path(__file__).parents[2] / "fixtures" / "jobs"
OLD = sorted(path.name for path in JOBS.iterdir() if path.name != "newer")
LATER = {"unfinished": {"lost", "reboot"}}  # the reason that only who looks now can know


def _laid(root: Path, name: str) -> list[str]:
    """The jobs of a fixture in the root, as they were: a repository keeps no modes and no links."""
    root.mkdir(mode=0o700, exist_ok=True)
    laid = [path.name for path in (JOBS / name).iterdir() if path.is_dir()]
    for job in laid:
        shutil.copytree(JOBS / name / job, root / job)
        for path in (root / job, *(root / job).rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
    return sorted(laid)


def _expected(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((JOBS / name / "expected.json").read_bytes())
    return found


def _content(job: Path) -> dict[str, bytes]:
    return {str(path.relative_to(job)): path.read_bytes() for path in sorted(job.rglob("*")) if path.is_file()}


def test_there_is_a_fixture_of_every_format() -> None:
    assert [str(number) for number in range(1, limits.JOB_FORMAT + 1)] == OLD
    for name in OLD:
        assert set(_expected(name)) == {path.name for path in (JOBS / name).iterdir() if path.is_dir()}
    assert any(said.get("gaps") for said in _expected("1").values())


@pytest.mark.fault("F13")
@pytest.mark.parametrize("name", OLD)
def test_what_an_older_version_wrote_is_told_as_it_told_it(cli: Cli, root: Path, place: Path, name: str) -> None:
    laid = _laid(root, name)
    for job, expected in _expected(name).items():
        said = cli.ok("status", job)
        output = cli.ok("poll", job, "--since-seq", "0", "--raw", "--max-bytes", "1000000")["output"]
        assert output == expected.pop("output"), expected["name"]
        assert {key: said.get(key) for key in expected} == expected
        assert "damage" not in said and "missing_bytes" not in said
        if expected["name"] in LATER:
            assert said["reason"] in LATER[expected["name"]]
        cli.ok("log", job)
    first = laid[0]
    for verb in ("tail", "events", "wait", "kill"):
        cli.ok(verb, first)
    assert cli.ok("tag", "set", first, "--tag", "old.one")["tags"] == ["old.one"]
    listed = cli.ok("list", "--all", "--limit", "0")
    assert (sorted(one["job_id"] for one in listed["jobs"]), listed["skipped"]) == (laid, 0)
    assert processes.wait_gone(place, 60) == {}


@pytest.mark.parametrize("name", OLD)
def test_what_an_older_version_wrote_can_be_deleted(cli: Cli, root: Path, name: str) -> None:
    laid = _laid(root, name)
    expected = _expected(name)
    cli.ok("remove", laid[0])
    cli.ok("clear", laid[1])
    found = cli.ok("gc", "--older-than", "0s")
    created = [job for job in laid if expected[job]["state"] == "created"]
    assert found["deleted"] == len(laid) - 2 - len(created)
    assert [one for one in os.listdir(root) if not one.startswith(".")] == created


@pytest.mark.fault("F13")
def test_what_a_newer_version_wrote_is_refused_with_the_way_out_and_left_as_it_is(cli: Cli, root: Path) -> None:
    laid = _laid(root, "newer")
    names = {job: json.loads((root / job / "meta.json").read_bytes())["title"] for job in laid}
    (refused,) = [job for job in laid if names[job] == "refused"]
    (accepted,) = [job for job in laid if names[job] == "accepted"]
    before = _content(root / refused)
    for words in (
        *(
            ((verb, refused))
            for verb in ("status", "poll", "log", "tail", "wait", "kill", "remove", "clear", "restart")
        ),
        ("tag", "set", refused, "--tag", "a"),
    ):
        error = cli.error(*words, code="io_error")
        assert "newer outlive (format 99" in error["message"], words
        assert "Update outlive" in error["hint"] and not error["retryable"]
    listed = cli.ok("list", "--all")
    assert ([one["job_id"] for one in listed["jobs"]], listed["skipped"]) == ([accepted], 1)
    said = cli.ok("status", accepted)
    assert (said["exit_code"], said["name"]) == (3, "accepted")
    assert cli.ok("log", accepted)["output"] == "from later\n"
    found = collected(cli, "--older-than", "0s")
    assert found is None or (found["deleted"], found["skipped"]) == (1, 1)
    assert _content(root / refused) == before
