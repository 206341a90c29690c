"""Deleting jobs: one, and the old ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from outlive.answers.ending import Deleted, DeletedJob
from outlive.errors import OutliveError
from outlive.jobs import ending, several
from outlive.store import delete
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import Store
from outlive.verbs import remove
from support import processes, trees
from support.cli import Cli, Jobs
from support.contexts import context_of
from support.jobs import UNASKED, background, settled
from support.wait import until


def _done(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", *(words or ("true",)), env=UNASKED)["job_id"]
    return job


def _left(root: Path) -> set[str]:
    """Everything in the root but what belongs to the root itself."""
    return {name for name in os.listdir(root) if name not in (".live", ".dedupe.lock", ".collected", ".deleted")}


# --- clear ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["head -c 100000 /dev/zero", "kill -9 $$", "exit 3", ("no-such-program-at-all", "x")])
def test_clear_deletes_a_finished_job(cli: Cli, root: Path, words: str | tuple[str, ...]) -> None:
    job = _done(cli, *([words] if isinstance(words, str) else words))
    state = cli.ok("status", job)["state"]
    found = cli.ok("clear", job)
    assert (found["job_id"], found["state"]) == (job, state)
    assert found["freed_bytes"] >= (100_000 if "100000" in str(words) else 1)
    assert _left(root) == set()
    cli.error("status", job, code="job_not_found")
    cli.error("clear", job, code="job_not_found")


@pytest.mark.parametrize("state", ["created", "running"])
def test_clear_refuses_a_job_that_has_not_ended(cli: Cli, jobs: Jobs, state: str) -> None:
    job = cli.ok("create", "true")["job_id"] if state == "created" else background(cli)
    cli.error("clear", job, code="invalid_state", status=1)
    assert cli.ok("status", job)["state"] == state
    jobs.end()


def test_clear_refuses_a_job_whose_descendants_still_write(cli: Cli, jobs: Jobs) -> None:
    job = _done(cli, "sleep 60 & echo hi")
    cli.error("clear", job, code="invalid_state")
    assert cli.ok("poll", job)["output"] == "hi\n"
    cli.ok("kill", job)
    until(lambda: cli.run("clear", job)["ok"])
    jobs.end()


# --- remove --------------------------------------------------------------------------------------------------------


def test_remove_ends_and_deletes_a_running_job_with_all_it_started(cli: Cli, root: Path, place: Path) -> None:
    job = background(cli, "setsid sleep 60 & echo up; sleep 60")
    cli.ok("wait", job, "--until", "output")
    found = cli.ok("remove", job)
    assert (found["job_id"], found["state"]) == (job, "killed")
    assert found["freed_bytes"] > 0
    assert _left(root) == set()
    assert cli.ok("list", "--all", "--state", "running")["jobs"] == []
    assert job not in {path.name for path in trees.entries(root)}, "nothing marks it as running"
    assert processes.wait_gone(place, 60) == {}


def test_remove_ends_what_ignores_term(cli: Cli, root: Path, place: Path) -> None:
    job = background(cli, "trap '' TERM; echo up; while :; do sleep 0.05; done")
    cli.ok("wait", job, "--until", "output")
    cli.ok("remove", job, "--grace-ms", "100")
    assert _left(root) == set()
    assert processes.wait_gone(place, 60) == {}


def test_remove_deletes_a_finished_a_created_and_a_lingering_job(cli: Cli, root: Path, place: Path) -> None:
    for job, state in (
        (_done(cli), "exited"),
        (cli.ok("create", "true")["job_id"], "created"),
        (_done(cli, "sleep 60 & true"), "exited"),
    ):
        assert cli.ok("remove", job)["state"] == state
        cli.error("status", job, code="job_not_found")
    assert _left(root) == set()
    assert processes.wait_gone(place, 60) == {}


@pytest.mark.fault("F24")
def test_removes_at_once_of_one_job_all_get_an_answer(cli: Cli, root: Path) -> None:
    job = background(cli)
    calls = [cli.spawn("remove", job) for _ in range(3)]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in calls]
    assert sum(answer["ok"] for answer in answers) >= 1, answers
    assert {answer["error"]["code"] for answer in answers if not answer["ok"]} <= {"job_not_found"}, answers
    assert _left(root) == set()


@pytest.mark.fault("S04")
@pytest.mark.parametrize("verb", ["remove", "clear"])
def test_a_job_that_something_of_ours_holds_is_deleted_by_the_same_call_later(cli: Cli, root: Path, verb: str) -> None:
    """A launcher that was stopped before it let go of the job, for example."""
    job = settled(cli, "true")
    limit = "from outlive import limits; limits.DELETE_S = 0.1"
    call = f"import sys; {limit}; from outlive.__main__ import main; sys.exit(main())"
    fd = os.open(root / job, os.O_RDONLY | os.O_DIRECTORY)
    with JobDir(str(root), job, fd) as directory, closing(Locks(directory)):
        told = subprocess.run([sys.executable, "-c", call, verb, job], capture_output=True, check=False)
    error = json.loads(told.stdout)["error"]
    assert (error["code"], error["retryable"]) == ("invalid_state", True)
    assert "its supervisor, or the call that started it, has not let go of it" in error["message"]
    assert cli.ok(verb, job)["freed_bytes"] > 0


def test_deleting_follows_no_link_out_of_the_job(cli: Cli, root: Path, place: Path) -> None:
    (place / "precious").mkdir()
    (place / "precious" / "file").write_text("kept")
    job = _done(cli)
    (root / job / "link").symlink_to(place / "precious")
    (root / job / "deep").mkdir()
    (root / job / "deep" / "link").symlink_to(place / "precious" / "file")
    cli.ok("clear", job)
    assert _left(root) == set()
    assert (place / "precious" / "file").read_text() == "kept"


def test_what_was_measured_before_is_not_measured_again(cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = settled(cli)
    monkeypatch.setattr(delete, "bytes_of_job", lambda _: pytest.fail("it was measured"))
    store = Store.existing(str(root))
    with closing(store), JobDir.open(store, job) as directory:
        assert delete.delete(store, directory, 4_711) == 4_711
    assert _left(root) == set()


def test_a_job_that_another_call_removes_meanwhile_keeps_no_other_from_being_cleared(
    cli: Cli, root: Path, work: Path
) -> None:
    first, second, third = sorted((settled(cli) for _ in range(3)), reverse=True)  # as they are looked at
    store = Store.open(str(root), {})
    with closing(store):
        ctx = context_of(store, cwd=str(work))

        def delete_one(job: JobDir) -> Deleted:
            state, freed = ending.delete(ctx, job)
            if job.job_id == first:
                raise OutliveError("job_not_found", "it was removed just now")
            if job.job_id == second:
                cli.ok("clear", third)
            return Deleted(job=DeletedJob(job_id=job.job_id, state=state.state), freed_bytes=freed)

        answer = remove.deleted(ctx, several.ended(ctx), delete_one)
    assert [(one.job_id, one.name, one.state, one.error) for one in answer.jobs or ()] == [
        (first, "true", "exited", "it was removed just now"),
        (second, "true", "exited", None),
    ]
