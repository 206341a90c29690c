"""A root of so many jobs that their names are kept: every answer is that of the directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.store import id_cache
from outlive.system import mounts
from support import processes
from support.cli import Cli
from support.wait import until


def _fill(root: Path) -> None:
    """Directories with the names of older jobs; what was in them is of no matter."""
    root.mkdir(mode=0o700)
    for number in range(id_cache._WORTH_CACHING):
        (root / new_id(1_700_000_000_000 + number)).mkdir(mode=0o700)


def _newest(cli: Cli) -> list[str]:
    return [job["job_id"] for job in cli.ok("list", "--all", "--limit", "2")["jobs"]]


def _kept(cli: Cli, root: Path) -> None:
    """The names are in their file, for the root as it is now."""

    def kept() -> bool:
        _newest(cli)
        fd = os.open(root, os.O_RDONLY)
        try:
            if mounts.type_of(fd) not in id_cache._LOCAL:
                pytest.skip("nothing is kept on this file system")
            return id_cache._cached(fd, newest=True) is not None
        finally:
            os.close(fd)

    until(kept)


def test_many_jobs_are_listed_and_found_as_they_come_and_go(cli: Cli, root: Path) -> None:
    _fill(root)
    first = cli.ok("run", "--wait", "true")["job_id"]
    processes.wait_gone(root, 20)
    _newest(cli)
    assert (root / id_cache.NAMES).is_dir(), "the first look makes the place"
    _kept(cli, root)
    assert _newest(cli)[0] == first
    assert cli.ok("status", first[-10:])["job_id"] == first

    second = cli.ok("run", "--wait", "true")["job_id"]
    assert _newest(cli) == [second, first]
    processes.wait_gone(root, 20)
    _kept(cli, root)
    assert cli.ok("status", second[-10:].lower())["job_id"] == second

    cli.ok("remove", second)
    assert _newest(cli)[0] == first
    cli.error("status", second[-10:], code="job_not_found")
    _kept(cli, root)
    shutil.move(root / first, root.parent / first)
    cli.error("status", first[-10:], code="job_not_found")
    shutil.move(root.parent / first, root / first)
    assert _newest(cli)[0] == first


def test_what_is_kept_is_no_job_and_no_leftover(cli: Cli, root: Path) -> None:
    _fill(root)
    _newest(cli)
    _kept(cli, root)
    found = cli.ok("gc", "--older-than", "0s")
    assert (found["leftovers"], found["freed_bytes"]) == (0, 0)
    assert (root / id_cache.NAMES / id_cache.IDS).exists()
    shutil.rmtree(root)
    assert _newest(cli) == []
