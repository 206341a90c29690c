"""A root of many jobs: every answer is that of the directory as it is now."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.jobs import adoption
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.verbs.list import list_jobs
from support import processes
from support.cli import Cli
from support.contexts import context_of
from support.jobs import collected, settled


def _newest(cli: Cli) -> list[str]:
    return [job["job_id"] for job in cli.ok("list", "--all", "--limit", "2")["jobs"]]


def test_many_jobs_are_listed_and_found_as_they_come_and_go(cli: Cli, root: Path) -> None:
    root.mkdir(mode=0o700)
    for number in range(2_000):  # of older jobs; what was in them is of no matter
        (root / new_id(1_700_000_000_000 + number)).mkdir(mode=0o700)
    first = cli.ok("run", "--wait", "true")["job_id"]
    processes.wait_gone(root, 20)
    assert _newest(cli)[0] == first
    assert cli.ok("status", first[-10:])["job_id"] == first

    second = cli.ok("run", "--wait", "true")["job_id"]
    assert _newest(cli) == [second, first]
    processes.wait_gone(root, 20)
    assert cli.ok("status", second[-10:].lower())["job_id"] == second

    cli.ok("remove", second)
    assert _newest(cli)[0] == first
    cli.error("status", second[-10:], code="job_not_found")
    shutil.move(root / first, root.parent / first)
    cli.error("status", first[-10:], code="job_not_found")
    shutil.move(root.parent / first, root / first)
    assert _newest(cli)[0] == first


def test_the_names_that_an_older_version_kept_are_no_job_and_no_leftover(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    (root / ".names").mkdir(mode=0o700)
    (root / ".names" / "ids").write_bytes(b"outlive names 1\n" + b"0" * 200)
    found = collected(cli, "--older-than", "1d")
    assert found is None or found["leftovers"] == 0
    assert _newest(cli) == [job]


def test_of_a_job_that_ended_elsewhere_a_list_reads_the_definition_and_a_server_reads_it_once(
    cli: Cli, root: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = settled(cli), settled(cli, "--cwd", str(tmp_path), "true")
    inspected: list[str] = []
    real = adoption.inspect_and_adopt

    def inspect(ctx: Context, job: JobDir) -> Any:
        inspected.append(job.job_id)
        return real(ctx, job)

    monkeypatch.setattr(adoption, "inspect_and_adopt", inspect)
    with closing(Store.existing(str(root))) as store:
        ctx = context_of(store, cwd=str(work))
        assert [job.job_id for job in list_jobs(ctx).jobs] == [here]
        assert inspected == [here]

        shutil.rmtree(root / here)
        (root / elsewhere / "meta.json").unlink()
        found = list_jobs(ctx)
        assert (found.jobs, found.hint) == ([], "None here; 1 not running elsewhere: --all shows them.")
        assert inspected == [here]
        assert list_jobs(ctx, state="exited", all=True).jobs
    assert inspected == [here, elsewhere]
