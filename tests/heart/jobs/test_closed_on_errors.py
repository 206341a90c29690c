"""What a call opened is closed when it fails: a server runs for weeks."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.errors import OutliveError, invalid
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting.plan import Plan
from outlive.jobs.told import known_to_session
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from outlive.verbs.wait import wait
from support.contexts import context_of
from support.leaks import open_files


def test_what_is_not_read_is_not_kept_open(tmp_path: Path) -> None:
    def refuse(fd: int, path: str, field: str) -> None:
        raise invalid(field, "it lies in a place that the sandbox hides")

    (tmp_path / "input").write_text("x")
    before = open_files()
    for path, check in ((tmp_path, None), (tmp_path / "input", refuse)):
        with pytest.raises(OutliveError):
            open_stdin(str(path), check)
    plan = Plan(definition=Definition(), overrides={}, stdin_fd=open_stdin(str(tmp_path / "input"), None))
    assert open_files() != before
    plan.close()
    assert open_files() == before


def test_a_wait_that_cannot_begin_keeps_no_job_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [new_id(), new_id()]
    for job_id in names:
        made = NewJob(store, job_id)
        made.dir.write_meta(Definition(job_id=job_id, cwd="/"))
        made.dir.write_state(State(job_id=job_id, state="created", phase="created"))
        made.publish()
        made.close()

    def beginning(_: object, job: object, since_seq: object) -> None:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(known_to_session, "beginning", beginning)
    ctx = context_of(store, cwd="/")
    before = open_files()
    with pytest.raises(OSError, match="too many"):
        wait(ctx, job=names, max_bytes=100)
    assert open_files() == before
