"""What a call that starts a job holds, and lets go of whatever happens."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs import adoption, definition, lookup
from outlive.jobs.context import Context
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting import answer, making
from outlive.jobs.starting.plan import Plan, Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.launch import engines
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.verbs import run as run_verb
from outlive.verbs.run import run
from support.contexts import context_of


@pytest.fixture
def ctx(store: Store) -> Context:
    return context_of(store, face="mcp", owner="tests", shell_words=("sh", "-c"))


def plan_of(ctx: Context, **more: Any) -> Plan:
    definition = Definition(job_id=new_id(), command=["true"], cwd="/", root=ctx.store.path, owner="tests", **more)
    return Plan(definition=definition, overrides={})


def test_a_job_that_is_removed_when_it_has_just_started_leaves_nothing_open(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed(job: JobDir) -> None:
        raise OutliveError("job_not_found", f"job {job.job_id} was removed during this call")

    monkeypatch.setattr(making, "hand_over", lambda *_, **__: None)
    monkeypatch.setattr(making, "await_start", lambda *_: None)
    monkeypatch.setattr(adoption, "require_in_place", removed)
    with pytest.raises(OutliveError, match="removed during this call"):
        StartCall(Timing(yield_ms=0)).run(ctx, plan_of(ctx))


def test_a_file_that_a_job_may_not_read_is_closed_again(tmp_path: Path) -> None:
    def check(*_: object) -> None:
        raise OutliveError("denied", "the sandbox does not show it")

    (tmp_path / "input").touch()
    with pytest.raises(OutliveError, match="does not show"):
        open_stdin(str(tmp_path / "input"), check)
    with pytest.raises(OutliveError, match="Is a directory"):
        open_stdin(str(tmp_path), None)


def test_the_file_that_a_job_was_to_read_is_closed_where_it_does_not_start_here(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "input").touch()
    plan = plan_of(ctx, host="cluster", stdin_path=str(tmp_path / "input"))
    plan.stdin_fd = open_stdin(str(tmp_path / "input"), None)
    monkeypatch.setattr(engines, "of_job", lambda *_: object())  # another process has handed it over
    with closing(making.make(ctx, plan, live=True)) as new:
        assert new.locks is not None
        assert making.hand_over(ctx, plan, new.dir, new.locks) is None


def test_the_file_of_a_start_that_another_job_makes_needless_is_closed(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "input").touch()
    plan = plan_of(ctx, dedupe_key="dev server")
    monkeypatch.setattr(definition, "plan", lambda *_, **__: plan)
    for found in ("", new_id()):  # the second is gone when it is to be answered for
        plan.stdin_fd = open_stdin(str(tmp_path / "input"), None)
        monkeypatch.setattr(run_verb, "_running", lambda *_, found=found: found or bool(1 // 0))
        with pytest.raises(ZeroDivisionError if not found else OutliveError):
            run(ctx, yield_ms=0)
        assert plan.stdin_fd is None


@pytest.mark.parametrize("place", [(lookup, "open_known"), (answer, "made")], ids=["opened", "answered"])
def test_an_error_after_the_start_names_the_job(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, place: tuple[object, str]
) -> None:
    monkeypatch.setattr(making, "hand_over", lambda *_, **__: None)
    monkeypatch.setattr(making, "await_start", lambda *_: None)
    for failure in (OSError(24, "Too many open files"), OutliveError("io_error", "no room", hint="Make some.")):

        def fail(*_: object, failure: Exception = failure, **__: object) -> None:
            raise failure

        monkeypatch.setattr(*place, fail)
        plan = plan_of(ctx)
        with pytest.raises(OutliveError) as told:
            StartCall(Timing(yield_ms=0)).run(ctx, plan)
        assert told.value.code == "io_error"
        assert (told.value.details or {})["job_id"] == plan.definition.job_id
        assert f"Job {plan.definition.job_id} was started all the same" in (told.value.hint or "")
