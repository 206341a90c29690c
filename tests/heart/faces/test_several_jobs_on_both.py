"""One call that ends, deletes or starts again more than one job, or one that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli
from support.face import Face

ENDLESS = "while :; do sleep 0.05; done"


def test_a_list_of_jobs_is_ended_by_one_call(face: Face) -> None:
    jobs = [face.background(ENDLESS) for _ in range(3)]
    found = face.ok("kill", job=[*jobs, jobs[0]])
    assert [(one["job_id"], one["state"], one["reason"]) for one in found["jobs"]] == [
        (job, "killed", "kill") for job in jobs
    ]
    assert (found["job_id"], found["state"]) == (jobs[0], "killed")
    removed = face.ok("remove", job=jobs)
    assert [(one["job_id"], one["state"]) for one in removed["jobs"]] == [(job, "killed") for job in jobs]
    for job in jobs:
        face.error("status", job, code="job_not_found")


def test_the_jobs_with_a_tag_are_ended_and_removed(face: Face) -> None:
    jobs = {face.background(ENDLESS, tags=["round.one"]), face.background(ENDLESS, tags=["round.two", "other"])}
    kept = face.background(ENDLESS, tags=["other"])
    found = face.ok("kill", tags=["round.*"])
    assert {one["job_id"] for one in found["jobs"]} == jobs
    assert face.ok("status", kept)["state"] == "running"
    face.error("kill", tags=["nothing"], code="job_not_found")
    face.error("kill", job=[kept], tags=["other"], code="invalid_argument")
    assert face.error("kill", code="invalid_argument")["message"].startswith("give ")
    assert len(face.ok("remove", tags=["round.*"])["jobs"]) == 2
    assert "jobs" not in face.ok("remove", tags=["other"])


def test_a_name_that_means_no_job_ends_none(face: Face) -> None:
    job = face.background(ENDLESS)
    face.error("kill", job=[job, "no-such-job"], code="job_not_found")
    assert face.ok("status", job)["state"] == "running"
    face.error("remove", job=[job, "no-such-job"], code="job_not_found")
    assert face.ok("status", job)["state"] == "running"


@pytest.mark.parametrize("verb", ["kill", "remove", "wait"])
def test_every_name_that_means_no_job_is_named(face: Face, verb: str) -> None:
    job = face.background(ENDLESS)
    error = face.error(verb, job=["first", job, "second", "third"], code="job_not_found")
    assert all(name in error["message"] for name in ("first", "second", "third")), error
    assert face.error(verb, job=[job, "first"], code="job_not_found")["message"].count("first") == 1
    assert face.ok("status", job)["state"] == "running"


def test_titles_that_are_to_be_removed_are_all_answered_with_their_ids(face: Face) -> None:
    ids = [face.ok("run", command="true", title=name)["job_id"] for name in ("build one", "build two")]
    error = face.error("remove", job=["build one", "unknown", "build two"], code="invalid_argument")
    assert error["details"]["candidates"] == ids
    assert "'build one' is a title" in error["message"] and "'build two' is a title" in error["message"]
    assert "unknown" in error["message"]
    assert all(f"'{name}': The newest job with this title is {job[-8:]}" in error["hint"]
               for name, job in zip(("build one", "build two"), ids, strict=True))  # fmt: skip
    assert len(face.ok("remove", job=ids)["jobs"]) == 2


def test_what_cannot_be_ended_is_named_and_the_others_are_ended(face: Face) -> None:
    made = face.ok("create", command="true")["job_id"]
    job = face.background(ENDLESS)
    found = face.ok("kill", job=[made, job])
    assert [(one["state"], "error" in one) for one in found["jobs"]] == [("created", True), ("killed", False)]
    assert found["job_id"] == job


def test_a_job_that_runs_is_ended_and_started_again(face: Face) -> None:
    job = face.background(ENDLESS)
    again = face.ok("restart", job, yield_ms=0)
    assert (again["state"], again["restarted_from"]) == ("running", job)
    assert (face.ok("status", job)["state"], face.ok("status", job)["reason"]) == ("killed", "kill")
    made = face.ok("create", command="true")["job_id"]
    face.error("restart", made, code="invalid_state")


def test_a_deletion_that_names_no_job_is_answered_with_the_call_that_deletes_all_that_ended(face: Face) -> None:
    ended, kept = face.ok("run", command="true")["job_id"], face.background(ENDLESS)
    for verb in ("clear", "remove"):
        hint = face.error(verb, code="invalid_argument")["hint"]
        assert {"cli": "outlive gc --older-than 0s", "mcp": "action=gc older_than=0s"}[face.name] in hint
    face.ok("clear", job="all")
    face.error("status", ended, code="job_not_found")
    assert face.ok("status", kept)["state"] == "running"


def test_all_ended_jobs_of_the_caller_are_cleared_and_none_that_runs(face: Face, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    ended = [face.ok("run", command=command)["job_id"] for command in ("true", "exit 3")]
    runs, made = face.background(ENDLESS), face.ok("create", command="true")["job_id"]
    others = cli.ok("run", "--wait", "true", cwd=tmp_path / "elsewhere")["job_id"]
    cleared = face.ok("clear", "all")
    assert {one["job_id"] for one in cleared["jobs"]} == set(ended)
    assert cleared["freed_bytes"] > 0
    for job in ended:
        face.error("status", job, code="job_not_found")
    assert face.ok("status", runs)["state"] == "running"
    for kept in (made, others):
        cli.ok("status", kept)
    error = face.error("clear", "all", code="job_not_found")
    assert error["message"] == "no job of yours has ended"
    cli.ok("clear", others)
