"""What a call that asks a person about its job holds, and lets go of whatever happens."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from heart.jobs import test_start_call
from heart.jobs.test_start_call import plan_of
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting import making
from outlive.jobs.starting.plan import Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.launch import engines
from outlive.parts.approvals import answer_file
from outlive.parts.approvals.question_record import MEMBER, Approval
from outlive.parts.approvals.wait_for_answer import ask
from outlive.store.job_dir import JobDir
from support.leaks import open_files

ctx = test_start_call.ctx


def test_a_job_whose_asker_cannot_be_noted_is_let_go_of(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: JobDir) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(answer_file, "hold", full)
    plan = plan_of(ctx, kept={MEMBER: Approval(rule="rule 1").to_dict()})
    with pytest.raises(OSError, match="Too many"):
        StartCall(Timing(yield_ms=0)).run(ctx, plan)
    with JobDir.open(ctx.store, plan.definition.job_id) as job:
        assert not job.is_supervised()


def test_a_job_that_is_removed_while_it_is_asked_about_leaves_nothing_open(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def removed(*_: object) -> JobDir:
        raise OutliveError("job_not_found", "the job was removed during this call")

    (tmp_path / "input").touch()
    monkeypatch.setattr(lookup, "open_known", removed)
    plan = plan_of(ctx, kept={MEMBER: Approval(rule="rule 1").to_dict()})
    plan.stdin_fd = open_stdin(str(tmp_path / "input"), None)
    before = open_files()
    with pytest.raises(OutliveError, match="removed during this call"):
        StartCall(Timing(yield_ms=0)).run(ctx, plan)
    assert len(open_files()) == len(before) - 1  # the input


def test_the_file_that_a_job_was_to_read_is_closed_where_another_process_has_handed_it_over(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "input").touch()
    asked = Approval(rule="rule 1", expires_at=timestamp(time.time() + 60))
    plan = plan_of(ctx, host="cluster", stdin_path=str(tmp_path / "input"), kept={MEMBER: asked.to_dict()})
    plan.stdin_fd = open_stdin(str(tmp_path / "input"), None)
    monkeypatch.setattr(engines, "of_job", lambda *_: object())
    with closing(making.make(ctx, plan, live=True)) as new:
        assert ask(ctx, plan, new.dir, answer_file.hold(new.dir), time.monotonic()) is None
