"""Jobs of a group: listed, awaited, ended and removed by its name."""

from __future__ import annotations

from pathlib import Path

from support import pair
from support.cli import Cli
from support.commands import GATE
from support.face import Face
from support.wait import until

ENDLESS = "while :; do sleep 0.05; done"


def ids(answer: dict[str, object], member: str = "jobs") -> set[str]:
    jobs = answer[member]
    assert isinstance(jobs, list)
    return {one["job_id"] for one in jobs}


def test_the_jobs_of_a_group_are_listed_shown_ended_and_removed(face: Face, root: Path) -> None:
    web, db = (face.background(ENDLESS, group="stack", title=title) for title in ("web", "db"))
    other = face.background(ENDLESS, group="stack 2")
    assert ids(face.ok("list", group="stack")) == {web, db}
    assert {job["job_id"]: job.get("group") for job in face.ok("list")["jobs"]} == {
        web: "stack",
        db: "stack",
        other: "stack 2",
    }
    assert face.ok("status", web)["group"] == "stack"
    killed = face.ok("kill", group="stack")
    assert [(one["state"], one["reason"]) for one in killed["jobs"]] == [("killed", "kill")] * 2
    assert killed["hint"] == "Nothing of these jobs is left."
    assert face.ok("status", other)["state"] == "running"
    for job in (web, db):  # else one of them may be all that still counts as running, and the answer is about that one
        pair.until_free(root, job)
    again = face.ok("kill", group="stack")
    assert (again["already_ended"], again["hint"]) == (True, "Nothing of these jobs is left.")
    assert ids(face.ok("remove", group="stack")) == {web, db}
    face.error("status", web, code="job_not_found")
    face.ok("kill", group="stack 2")


def test_what_members_left_behind_ends_with_the_group(face: Face, work: Path) -> None:
    left = face.ok("run", command=f"({ENDLESS}) >/dev/null 2>&1 & echo $! > pid", group="stack", yield_ms=50_000)
    runs = face.background(ENDLESS, group="stack")
    pid = int((work / "pid").read_text())
    assert Path(f"/proc/{pid}").exists()
    killed = face.ok("kill", group="stack")
    assert ids(killed) == {left["job_id"], runs}
    assert killed["hint"].startswith("Nothing of these jobs is left.")
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the end of what was left")


def test_a_group_is_waited_for(face: Face, work: Path) -> None:
    one = face.background(
        "until [ -e two ]; do sleep 0.05; done; exit 3", group="suites"
    )  # else it may be a run of its own
    two = face.background(GATE, group="suites")
    face.background(ENDLESS)
    (work / "two").touch()
    first = face.ok("wait", group="suites", timeout_ms=50_000)
    assert (first["job_id"], first["exit_code"], ids(first)) == (one, 3, {one, two})
    (work / "go").touch()
    every = face.ok("wait", group="suites", mode="all", timeout_ms=50_000)
    assert {job["job_id"]: job["state"] for job in every["jobs"]} == {one: "exited", two: "exited"}


def test_a_wait_is_for_the_last_run_of_a_group(face: Face) -> None:
    face.ok("run", command="exit 3", group="nightly", yield_ms=50_000)
    new = face.ok("run", command="true", group="nightly", yield_ms=50_000)["job_id"]
    last = face.ok("wait", group="nightly", mode="all", timeout_ms=50_000)
    assert (last["job_id"], last["exit_code"], ids(last)) == (new, 0, {new})
    again = face.ok("restart", new, yield_ms=50_000)
    assert again["group"] == "nightly" if "group" in again else True
    assert ids(face.ok("wait", group="nightly", mode="all", timeout_ms=50_000)) == {again["job_id"]}
    assert len(face.ok("list", group="nightly")["jobs"]) == 3


def test_a_group_is_the_callers_own(face: Face, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    theirs = cli.ok("run", "--group", "shared", "--snapshot-after", "0", ENDLESS, cwd=tmp_path / "elsewhere")["job_id"]
    found = face.ok("list", group="shared")
    assert (found["jobs"], "1 job is elsewhere" in found["hint"]) == ([], True)
    for verb in ("kill", "remove", "wait"):
        error = face.error(verb, group="shared", code="job_not_found")
        assert error["message"] == "no job of yours is in the group shared"
    assert ids(face.ok("list", group="shared", all=True)) == {theirs}
    mine = face.background(ENDLESS, group="shared")
    assert ids(face.ok("list", group="shared")) == {mine}
    assert face.ok("kill", group="shared")["job_id"] == mine
    assert cli.ok("status", theirs)["state"] == "running"
    cli.ok("kill", theirs)


def test_a_group_that_makes_no_sense_is_refused(face: Face) -> None:
    job = face.ok("run", command="true", group="  a   group ")["job_id"]
    assert face.ok("status", job)["group"] == "a group"
    for group in ("", " ", "x" * 121):
        error = face.error("run", command="touch ran", group=group, code="invalid_argument")
        assert error["details"]["field"] == "group"
    face.error("kill", job=[job], group="a group", code="invalid_argument")
    face.error("kill", tags=["x"], group="a group", code="invalid_argument")
    face.error("list", group="", code="invalid_argument")
    assert face.ok("list", group="nothing")["jobs"] == []
    face.ok("create", command="true", group="made")
    assert "no job of yours is in the group made" in face.error("wait", group="made", code="job_not_found")["message"]
    assert len(face.ok("remove", group="made").get("jobs", [1])) == 1


def test_lines_of_a_group_have_the_names_of_their_jobs_in_front(face: Face, work: Path) -> None:
    web = face.background(f"echo one; echo two >&2; {GATE}; echo five", group="stack", title="web")
    face.ok("wait", web, until=["regex=two"], timeout_ms=50_000)
    db = face.ok("run", command="sleep 0.3; echo three; printf four; exit 2", group="stack", title="database", yield_ms=50_000)  # fmt: skip
    (work / "go").touch()
    face.ok("wait", web, timeout_ms=50_000, until=["exit"])
    log = face.ok("log", group="stack", stream="stdout")
    lines = log["output"].splitlines()
    assert lines[0] == "web      | one"
    assert {*lines} == {"web      | one", "database | three", "database | four", "web      | five"}
    assert [(one["job_id"], one["name"], one["state"], one["exit_code"]) for one in log["jobs"]] == [
        (db["job_id"], "database", "exited", 2),
        (web, "web", "exited", 0),
    ]
    assert log["total_lines"] == 4
    short = face.ok("log", group="stack", limit=1)
    assert (len(short["output"].splitlines()), "last lines" in short["hint"]) == (1, True)
    found = face.ok("log", group="stack", search="ee")
    assert (found["matches"], "database | 1:three" in found["output"]) == (1, True)
    face.error("log", group="stack", offset=0, code="invalid_argument")
    face.error("log", web, group="stack", code="invalid_argument")


def test_what_a_group_uses_is_summed_up(face: Face) -> None:
    face.ok("run", command="printf 12345", group="sum", yield_ms=50_000)
    runs = face.background(ENDLESS, group="sum")
    alone = face.ok("usage", group="sum")
    assert [one["job_id"] for one in alone["jobs"]] == [runs], "the other one is of a run before"
    two = face.background(f"printf 123; {ENDLESS}", group="sum", title="two")
    face.ok("wait", two, until=["output"], timeout_ms=50_000)
    both = face.ok("usage", group="sum")
    assert (ids(both), both["usage"]["output_bytes"]) == ({runs, two}, 3)
    assert both["usage"]["processes"] >= 2
    face.ok("kill", group="sum")


def test_a_verb_of_one_job_says_what_it_needs(face: Face) -> None:
    for verb in ("log", "usage"):
        assert "needs" in face.error(verb, code="invalid_argument")["message"]
        error = face.error(verb, group="nothing", code="job_not_found")
        assert error["message"] == "no job of yours is in the group nothing"
