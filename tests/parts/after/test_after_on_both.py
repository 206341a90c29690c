"""A job that starts when others have come so far: what a caller may ask for, and what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.cli import Cli
from support.commands import GATE
from support.face import Face

ENDLESS = "while :; do sleep 0.05; done"


def asked(face: Face, job: str) -> list[dict[str, Any]]:
    return [{"job_id": one["job_id"], "condition": one["condition"]} for one in face.ok("status", job)["waiting_for"]]


def test_a_job_starts_after_another_one_and_says_meanwhile_what_it_waits_for(face: Face, work: Path) -> None:
    build = face.background(f"{GATE}; echo built >> order", title="npm build")
    job = face.ok("run", command="echo tested >> order", after=[build], yield_ms=0)
    assert (job["state"], job["waiting_for"]) == (
        "created",
        [{"job_id": build, "name": "npm build", "condition": "exit=0"}],
    )
    short = build[-8:]
    assert job["hint"].startswith(f"It has not started: it waits for job {short} (npm build) to exit with 0.")
    listed = {one["job_id"]: one for one in face.ok("list")["jobs"]}[job["job_id"]]
    assert listed["waiting_for"] == [f"job {short} (npm build) to exit with 0"]
    for verb in ("status", "poll", "wait"):
        found = face.ok(verb, job["job_id"], **({"timeout_ms": 0} if verb == "wait" else {}))
        assert found["waiting_for"] == job["waiting_for"], verb
    (work / "go").touch()
    ended = face.ok("wait", job["job_id"], timeout_ms=50_000)
    assert (ended["state"], ended["exit_code"], "waiting_for" in ended) == ("exited", 0, False)
    assert (work / "order").read_text() == "built\ntested\n"


OF_A_RUN = {"started_at", "elapsed_ms", "duration_ms", "usage", "idle_ms"}


def test_a_job_that_waits_has_no_start_and_its_time_counts_from_its_start(face: Face, cli: Cli, work: Path) -> None:
    build = face.background(GATE)
    made = face.ok("run", command="echo tested", after=[build], yield_ms=0, detail="full")
    job = made["job_id"]
    assert ("started_at" in made, made["elapsed_ms"]) == (False, 0)
    answers = {verb: face.ok(verb, job, detail="full") for verb in ("status", "poll")}
    answers["wait"] = face.ok("wait", job, timeout_ms=0, detail="full")
    answers["list"] = next(one for one in face.ok("list", detail="full")["jobs"] if one["job_id"] == job)
    for verb, answer in answers.items():
        assert not {name for name in OF_A_RUN if answer.get(name) is not None}, verb
    text = cli.text("status", job, "--human", "-v").stdout
    assert "created at" in text and "elapsed" not in text and "started at" not in text
    (work / "go").touch()
    face.ok("wait", job, timeout_ms=50_000)
    ended, first = face.ok("status", job, detail="full"), face.ok("status", build, detail="full")
    assert ended["created_at"] < first["finished_at"] <= ended["started_at"] <= ended["finished_at"]
    assert ended["elapsed_ms"] == ended["duration_ms"]


def test_a_job_that_waited_in_vain_never_ran(face: Face, cli: Cli) -> None:
    build = face.ok("run", command="exit 3", yield_ms=50_000)["job_id"]
    job = face.ok("run", command="true", after=[build], yield_ms=50_000)["job_id"]
    answers = {verb: face.ok(verb, job, detail="full") for verb in ("status", "wait", "poll")}
    assert answers["status"]["reason"] == "dependency"
    assert answers["status"]["started_at"] == answers["status"]["created_at"], "the schema wants one"
    for verb, answer in answers.items():
        assert not {name for name in OF_A_RUN - {"started_at"} if answer.get(name) is not None}, verb
    assert " after " not in cli.text("status", job, "--human").stdout.splitlines()[2]


def test_a_job_whose_start_can_no_longer_come_fails_and_says_why(face: Face, work: Path) -> None:
    build = face.background(f"{GATE}; exit 3", title="npm build")
    job = face.background("touch ran", after=[build])
    (work / "go").touch()
    ended = face.ok("wait", job, timeout_ms=50_000)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(npm build) to exit with 0, and that exited with code 3" in ended["message"]
    assert not (work / "ran").exists()
    again = face.ok("run", command="echo yes", after=[{"job": build, "exit": 3}], yield_ms=50_000)
    assert (again["state"], again["output"]) == ("exited", "yes\n")


FORMS: list[tuple[Any, str]] = [
    ("{job}", "exit=0"),
    ("{job} exit=3", "exit=3"),
    ("{job} exit", "exit"),
    ("{job} port=5432", "port=5432"),
    ("{job} port=5432 any", "port=5432 any"),
    ("{job} regex=ready for  it", "regex=ready for  it"),
    ("a title idle=5s", "idle=5s"),
    ('{{"job": "{job}", "exit": 3}}', "exit=3"),
    ({"job": "{job}"}, "exit=0"),
    ({"job_id": "{job}", "exit": 1}, "exit=1"),
    ({"job": "a title", "port": 5432}, "port=5432"),
    ({"job": "{job}", "regex": "ready", "stream": "stderr"}, '{"regex": "ready", "stream": "stderr"}'),
    ({"job": "{job}", "until": ["regex=ready", {"fail_regex": "ERROR"}]}, "regex=ready or fail_regex=ERROR"),
    ({"job": "{job}", "until": "exit"}, "exit"),
]


def test_what_may_be_waited_for(face: Face) -> None:
    other = face.background(ENDLESS, title="a title")
    jobs = [other]
    for form, condition in FORMS:
        item = form.format(job=other) if isinstance(form, str) else {
            name: other if value == "{job}" else value for name, value in form.items()
        }  # fmt: skip
        jobs.append(face.background("true", after=[item]))
        assert asked(face, jobs[-1]) == [{"job_id": other, "condition": condition}], form
    face.ok("kill", job=jobs)


def test_what_makes_no_sense_is_refused_before_anything_is_made(face: Face) -> None:
    other = face.ok("run", command="true", yield_ms=50_000)["job_id"]
    rows: list[tuple[Any, str, str]] = [
        ("no-such-job", "job_not_found", "no-such-job"),
        (f"{other} port=x y", "invalid_argument", "port"),
        ({"job": other, "exit": 256}, "invalid_argument", "exit code"),
        ({"job": other, "exit": "all"}, "invalid_argument", "exit code"),
        ({"job": other, "exit": 0, "port": 80}, "invalid_argument", "not both"),
        ({"job": other, "regex": "("}, "invalid_argument", ""),
        ({"job": other, "ready": 1}, "invalid_argument", "unknown condition"),
        ({"job": other, "until": "exit", "port": 80}, "invalid_argument", "beside until"),
        ({"job": other, "until": []}, "invalid_argument", "until"),
        ({"port": 80}, "invalid_argument", "job"),
        ({"job": 3}, "invalid_argument", "job"),
        ("{nonsense", "invalid_argument", "JSON"),
        (f"{other} port=web", "invalid_argument", "web"),
    ]
    for item, code, said in rows:
        error = face.error("run", command="touch ran", after=[item], code=code)
        assert said in error["message"], (item, error)
        if code == "invalid_argument":
            assert error["details"]["field"] == "after", item
        assert [one["job_id"] for one in face.ok("list")["jobs"]] == [other], item


def test_a_job_that_waits_is_ended_and_one_of_create_waits_from_its_start_on(face: Face, work: Path) -> None:
    other = face.background(ENDLESS)
    job = face.background("touch ran", after=[other])
    killed = face.ok("kill", job)
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    created = face.ok("create", command="touch ran", after=[{"job": other, "until": "exit"}])["job_id"]
    assert face.ok("start", created, yield_ms=0)["state"] == "created"
    face.ok("kill", other)
    assert face.ok("wait", created, timeout_ms=50_000)["exit_code"] == 0
    assert (work / "ran").exists()


def test_a_restart_waits_for_the_same_and_starts_at_once_if_that_holds(face: Face) -> None:
    build = face.ok("run", command="true", yield_ms=50_000)["job_id"]
    job = face.ok("run", command="echo yes", after=[build, {"job": build, "until": "exit"}], yield_ms=50_000)
    again = face.ok("restart", job["job_id"], yield_ms=50_000)
    assert (again["output"], again["restarted_from"]) == ("yes\n", job["job_id"])
    face.ok("remove", build)
    late = face.ok("restart", job["job_id"], yield_ms=50_000)
    assert (late["state"], late["reason"]) == ("failed", "dependency")
    assert "was deleted" in late["message"]


def test_a_group_is_ended_in_the_reverse_order_of_its_starts(face: Face, work: Path) -> None:
    trap = "trap 'echo {name} >> order; exit' TERM; echo ready; {endless}"
    names = ["db", "api", "web"]
    before: list[str] = []
    for name in names:
        after = [{"job": job, "regex": "ready"} for job in before[-1:]]
        command = trap.format(name=name, endless=ENDLESS)
        job = face.ok("run", command=command, group="stack", title=name, after=after, until=["regex=ready"])["job_id"]
        before.append(job)
    waits = face.background("true", group="stack", after=before)
    killed = face.ok("kill", group="stack")
    assert [one["job_id"] for one in killed["jobs"]] == [waits, *reversed(before)]
    assert (work / "order").read_text().split() == ["web", "api", "db"]
    assert killed["hint"].startswith("Nothing of these jobs is left.")
    removed = face.ok("remove", group="stack")
    assert [one["job_id"] for one in removed["jobs"]] == [waits, *reversed(before)]
