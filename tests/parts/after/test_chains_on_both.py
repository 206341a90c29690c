"""Several jobs of one call: all of them, in order, or none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, configured, environment
from support.commands import GATE
from support.face import Face

Run = Callable[..., dict[str, Any]]


def toml_of(jobs: list[dict[str, Any]]) -> str:
    """Return the jobs as a file: JSON of texts, numbers and lists of them is TOML too."""
    tables = []
    for job in jobs:
        tables += ["[[jobs]]", *(f"{name} = {_value(value)}" for name, value in job.items())]
    return "\n".join(tables) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


@pytest.fixture
def chain(face: Face, work: Path) -> Run:
    """`chain(jobs, **more)` starts a chain on this face; with `code` it must be refused, and returns the error."""

    def call(jobs: list[dict[str, Any]], code: str = "", **more: Any) -> dict[str, Any]:
        given: dict[str, Any] = {"jobs": jobs}
        if face.name == "cli":
            (work / "jobs.toml").write_text(toml_of(jobs), encoding="utf-8")
            given = {"file": "jobs.toml"}
        return face.error("run", code=code, **given, **more) if code else face.ok("run", **given, **more)

    return call


BUILD = {"name": "build", "command": "echo build >> order"}
TEST = {"name": "test", "command": "echo test >> order", "after": ["build"]}
LAST = {"name": "report", "command": "echo report >> order", "after": ["build", {"job": "test", "until": "exit"}]}


def test_the_jobs_of_a_chain_run_in_order(face: Face, chain: Run, work: Path) -> None:
    started = chain([LAST, TEST, BUILD])
    assert [one["name"] for one in started["jobs"]] == ["build", "test", "report"]
    assert started["job_id"] == started["jobs"][0]["job_id"]
    group = f"chain {started['job_id'][-8:]}"
    every = face.ok("wait", group=group, mode="all", timeout_ms=50_000)
    assert {one["state"] for one in every["jobs"]} == {"exited"}
    assert (work / "order").read_text().split() == ["build", "test", "report"]
    assert face.ok("status", "report")["group"] == group


def test_jobs_that_wait_for_no_other_have_started_when_the_call_is_answered(face: Face, chain: Run, work: Path) -> None:
    """They hear that all of the chain is there."""
    jobs: list[dict[str, Any]] = [{"name": name, "command": GATE} for name in "abc"]
    started = chain([*jobs, {"name": "last", "command": "true", "after": ["a", "b", "c"]}])
    assert (started["state"], started.get("waiting_for")) == ("running", None)
    assert [one["state"] for one in started["jobs"]] == ["running"] * 3 + ["created"]
    (work / "go").touch()
    assert face.ok("wait", started["jobs"][3]["job_id"], timeout_ms=50_000)["exit_code"] == 0


def test_a_last_job_whose_program_is_missing_keeps_no_other_from_its_start(face: Face, chain: Run, work: Path) -> None:
    started = chain([{"name": "a", "command": "echo a >> order"}, {"name": "bad", "command": ["no-such-program", "x"]}])
    first, last = (face.ok("wait", one["job_id"], timeout_ms=50_000) for one in started["jobs"])
    assert (first["exit_code"], last["state"], last["reason"]) == (0, "failed", "launch")


def test_a_hint_about_a_job_of_a_chain_is_for_the_caller(face: Face, chain: Run) -> None:
    error = chain([{**TEST, "workdir": "/nowhere"}, BUILD], code="invalid_argument")
    assert error["details"]["field"] in ("jobs", "file"), "the jobs spell their arguments as over MCP"
    hint = chain([TEST], code="job_not_found")["hint"]
    assert ("`outlive list --all`" if face.name == "cli" else "`process` action=list all=true") in hint


def test_a_chain_has_the_arguments_of_the_call_and_each_job_its_own(face: Face, chain: Run, work: Path) -> None:
    (work / "sub").mkdir()
    jobs: list[dict[str, Any]] = [
        {"name": "a", "command": ["sh", "-c", "pwd; echo $WORD"], "workdir": "sub", "env": {"WORD": "own"}},
        {"command": "pwd; echo $WORD", "tags": ["x.y"], "group": "other", "timeout": 90},
    ]
    started = chain(jobs, env={"WORD": "shared"}, group="mine", tags=["z"])
    for one in started["jobs"]:
        face.ok("wait", one["job_id"], timeout_ms=50_000)
    # Not of `wait`: the answer to the start may have shown what the first printed
    first, second = (face.ok("log", one["job_id"])["output"] for one in started["jobs"])
    assert (first, second) == (f"{work / 'sub'}\nown\n", f"{work}\nshared\n")
    shown = [
        face.ok("status", one["job_id"], **({"detail": "full"} if face.name == "mcp" else {}))
        for one in started["jobs"]
    ]
    assert [(one["group"], one["tags"]) for one in shown] == [("mine", ["z"]), ("other", ["x.y"])]
    assert shown[1]["timeout_ms"] == 90_000


def test_a_failure_ends_what_comes_after_it(face: Face, chain: Run, work: Path) -> None:
    started = chain([{"name": "build", "command": "exit 7"}, TEST, LAST], group="ci")
    every = {one["name"]: one for one in face.ok("wait", group="ci", mode="all", timeout_ms=50_000)["jobs"]}
    for name in ("test", "report"):
        face.ok("wait", started["jobs"][1 if name == "test" else 2]["job_id"], timeout_ms=50_000)
        assert face.ok("status", name)["reason"] == "dependency"
    assert every["build"]["exit_code"] == 7
    assert not (work / "order").exists()


NO_CHAINS: list[tuple[list[dict[str, Any]], str]] = [
    ([{**BUILD, "after": ["test"]}, TEST], "these jobs wait for each other"),
    ([{**BUILD, "after": ["build"]}], "these jobs wait for each other"),
    ([BUILD, {**TEST, "after": ["missing"]}], "job test: "),
    ([BUILD, BUILD], "two jobs of the chain have the name build"),
    ([BUILD, {"name": "x"}], "job x: it has no command"),
    ([BUILD, {"name": " ", "command": "true"}], "name of job 2"),
    ([BUILD, {**TEST, "workdir": "/nowhere"}], "job test: the directory /nowhere does not exist"),
    ([BUILD, {**TEST, "nonsense": 1}], "job test: nonsense"),
    ([BUILD, {**TEST, "until": "exit"}], "job test: until is not of one job of a chain"),
    ([BUILD, {**TEST, "after": [{"job": "build", "port": "web"}]}], "job test: "),
    ([{"name": str(at), "command": "true"} for at in range(51)], "51 jobs"),
]


def test_a_chain_is_refused_as_a_whole(face: Face, chain: Run, work: Path) -> None:
    for jobs, said in NO_CHAINS:
        error = chain(jobs, code="job_not_found" if "missing" in str(jobs) else "invalid_argument")
        assert said in error["message"], (jobs, error)
        assert face.ok("list")["jobs"] == [], jobs
        assert not (work / "order").exists(), jobs


def test_arguments_of_one_job_do_not_go_with_a_chain(face: Face, chain: Run, work: Path) -> None:
    for more in ({"until": ["exit"]}, {"after": ["x"]}, {"title": "x"}, {"dedupe_key": "x"}):
        error = chain([BUILD], code="invalid_argument", **more)
        assert "is of one job, and this call starts several" in error["message"]
    assert face.ok("list")["jobs"] == []


def test_a_file_that_is_no_chain_is_refused(cli: Cli, work: Path) -> None:
    for text, said in (
        ("", "has no jobs"),
        ("[[jobs]\n", "is not TOML"),
        ("jobs = 1\n", "has no jobs"),
        ("[[jobs]]\ncommand = 'true'\n[other]\n", "has other"),
        ("jobs = [1]\n", "job 1 of the chain is not an object"),
    ):
        (work / "jobs.toml").write_text(text)
        assert said in cli.error("run", "--file", "jobs.toml", code="invalid_argument")["message"]
    cli.error("run", "--file", "missing.toml", code="io_error")
    (work / "jobs.toml").write_text(toml_of([BUILD]))
    cli.error("run", "--file", "jobs.toml", "true", code="invalid_argument")
    cli.error("run", "--wait", "--file", "jobs.toml", code="invalid_argument")
    assert cli.ok("list")["jobs"] == []
    shown = cli.text("run", "--human", "--file", "jobs.toml").stdout
    assert "first of 1 job" in shown


FAILS = """
import sys
from outlive.errors import OutliveError
from outlive.jobs.starting import making
begin, begun = making.hand_over, []
def failing(ctx, plan, *args, **how):
    begun.append(plan)
    if len(begun) == 3:
        raise OutliveError("launch_failed", "no process can be made")
    return begin(ctx, plan, *args, **how)
making.hand_over = failing
sys.argv = ["outlive", "run", "--file", "jobs.toml"]
from outlive.__main__ import main
sys.exit(main())
"""


def test_a_start_that_fails_takes_back_those_before_it(cli: Cli, work: Path) -> None:
    jobs: list[dict[str, Any]] = [
        {"name": "server", "command": "sleep 60"},
        {"name": "waits", "command": "touch ran", "after": ["server"]},
        {"name": "bad", "command": "touch ran"},
        {"name": "later", "command": "touch ran"},
    ]
    (work / "jobs.toml").write_text(toml_of(jobs))
    words = [sys.executable, "-c", FAILS]
    done = subprocess.run(words, capture_output=True, env=environment(), cwd=work, timeout=60, check=False)
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["message"]) == ("launch_failed", "job bad: no process can be made")
    assert "The other jobs of the chain were ended and deleted." in error["hint"]
    assert cli.ok("list")["jobs"] == []
    assert not (work / "ran").exists()


@pytest.mark.usefixtures("system_path")
def test_a_job_that_is_denied_takes_back_those_made_before_it(cli: Cli, work: Path, place: Path) -> None:
    configured(
        place, '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "deny"\nreason = "no"\n'
    )
    (work / "jobs.toml").write_text(toml_of([BUILD, {"name": "bad", "command": "touch x", "after": ["build"]}]))
    error = cli.error("run", "--file", "jobs.toml", code="denied")
    assert error["message"].startswith("job bad: ")
    assert cli.ok("list")["jobs"] == []
    assert not (work / "order").exists()
