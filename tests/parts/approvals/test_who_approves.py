"""Who approves: a person, and no job, wherever it hides."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.parts.limits import own_group
from outlive.system.tree import COOKIE
from support.cli import Cli, answer_of, configured, environment
from support.jobs import rewrite
from support.preloaded import OUTLIVE
from support.wait import until

RULES = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n'
ALONE = "env -i HOME=$HOME PATH=$PATH OUTLIVE_ROOT=$OUTLIVE_ROOT"
JOB_ID = """sed 's/.*"job_id":"//;s/".*//'"""  # that of the answer on its stdin
NAMESPACE = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]


@pytest.fixture
def config(place: Path) -> Path:
    return configured(place, RULES)


@pytest.fixture
def namespace() -> str:
    """The words that run a command in a pid namespace of its own, with its own /proc."""
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"no pid namespace can be made here: {tried.stderr.decode()}")
    return " ".join(NAMESPACE)


def pending(cli: Cli) -> str:
    return str(cli.ok("run", "--snapshot-after", "0", "touch made")["job_id"])


def as_job(cli: Cli, config: Path, command: str) -> str:
    """Run a command as a job that no rule asks about, and return its output."""
    away = config.with_name("away")
    config.rename(away)
    try:
        return str(cli.ok("run", "--wait", command)["output"])
    finally:
        away.rename(config)


def test_a_job_that_hides_in_a_namespace_does_not_approve(cli: Cli, config: Path, work: Path, namespace: str) -> None:
    job = pending(cli)
    for verb in ("approve", "deny"):
        found = json.loads(as_job(cli, config, f"{namespace} {ALONE} {' '.join(OUTLIVE)} {verb} {job}"))
        assert found["error"]["code"] == "denied"
        assert "another pid namespace" in found["error"]["message"]
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    cli.ok("approve", job)
    cli.ok("wait", job)


def test_nor_does_it_approve_a_question_that_it_asked_itself_in_there(
    cli: Cli, config: Path, work: Path, namespace: str
) -> None:
    outlive = f"{' '.join(OUTLIVE)} --config {config.with_name('away')}"
    script = f"job=$({outlive} run --snapshot-after 0 'touch made' | {JOB_ID}); {outlive} approve $job"
    found = json.loads(
        as_job(cli, config, f"{namespace} {ALONE} sh -c {json.dumps(script).replace('$', chr(92) + '$')}")
    )
    assert "another pid namespace" in found["error"]["message"]
    (asked,) = cli.ok("list", "--all", "--state", "created")["jobs"]
    cli.ok("deny", asked["job_id"])
    assert not (work / "made").exists()


def test_a_question_that_was_asked_elsewhere_is_not_answered_in_a_namespace(
    cli: Cli, config: Path, work: Path, namespace: str
) -> None:
    """No job runs: what tells is the question."""
    job = pending(cli)
    done = subprocess.run(
        [*namespace.split(), *OUTLIVE, "approve", job],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert "another pid namespace" in json.loads(done.stdout)["error"]["message"]
    cli.ok("deny", job)


def test_outlive_in_a_container_of_its_own_is_answered_in_there(
    cli: Cli, config: Path, work: Path, namespace: str
) -> None:
    outlive = " ".join(OUTLIVE)
    script = (
        f"job=$({outlive} run --snapshot-after 0 'touch made' | {JOB_ID}); {outlive} approve $job; "
        f"{outlive} wait $job; kill $(pgrep -P 1 | grep -vx $$) 2>/dev/null; true"
    )
    done = subprocess.run(
        [*namespace.split(), "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["type"] for one in answers] == ["approve", "wait"], done
    assert (work / "made").exists()


def test_a_process_in_the_control_group_of_a_job_does_not_approve(cli: Cli, config: Path, work: Path) -> None:
    try:
        group = own_group.made(new_id(), own_group.CONTROLLERS)
    except own_group.NoGroup as error:
        pytest.skip(f"no control group can be made here: {error}")
    places = list(dict.fromkeys(group.record().places.values()))
    job = pending(cli)
    try:
        enter = "".join(f'echo $$ > "{place}/cgroup.procs" && ' for place in places)
        done = subprocess.run(
            ["sh", "-c", f'{enter}exec "$@"', "sh", *OUTLIVE, "approve", job],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            timeout=60,
            check=False,
        )
    finally:
        assert group.remove()
    refusal = json.loads(done.stdout)["error"]
    assert (refusal["code"], "belongs to a job" in refusal["message"]) == ("denied", True)
    cli.ok("deny", job)
    assert os.listdir(work) == []


LET_GO = {
    "its command ended": "true",
    "it killed both processes above it": "b=$(awk '/^PPid/ {print $2}' /proc/$PPID/status); kill -9 $b $PPID",
}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("way", LET_GO)
def test_what_a_job_left_behind_in_a_session_of_its_own_does_not_approve(
    cli: Cli, config: Path, work: Path, way: str, recorded: bool
) -> None:
    """It has shed its environment, and process 1 is its parent. Its supervisor may have been killed before it had written
    down which process it had started."""
    job = pending(cli)
    approve = f"{' '.join(OUTLIVE)} approve {job} > answer.new; mv answer.new answer"
    left = f"until [ -e go ]; do sleep 0.05; done; {approve}"
    script = f"{ALONE} setsid sh -c {shlex.quote(left)} </dev/null >/dev/null 2>&1 &\n{LET_GO[way]}\n"
    (work / "leave.sh").write_text(script)
    away = config.with_name("away")
    config.rename(away)
    left_by = cli.ok("run", "--wait", "--", "sh", "leave.sh")["job_id"]
    if not recorded:
        rewrite(cli.root / left_by / "state.json", identity=None)
    away.rename(config)
    (work / "go").touch()
    until((work / "answer").exists, what="an answer to what the job left behind")
    error = json.loads((work / "answer").read_text())["error"]
    assert error["code"] == "denied"
    assert ("no terminal" in error["message"]) is ("killed" in way), "a supervisor stays above what a job leaves"
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    cli.ok("deny", job)


def test_a_script_whose_starter_has_ended_approves_where_it_has_a_terminal(cli: Cli, config: Path, work: Path) -> None:
    cli.ok("run", "true")
    job = pending(cli)
    call = f"{' '.join(OUTLIVE)} approve {job} </dev/null > answer.new; mv answer.new answer"
    subprocess.run(
        ["sh", "-c", f"setsid script -qec {shlex.quote(call)} /dev/null </dev/null >/dev/null 2>&1 &"],
        env=environment(),
        timeout=60,
        check=True,
    )
    until((work / "answer").exists, what="the answer")
    assert json.loads((work / "answer").read_text())["ok"], (work / "answer").read_text()
    cli.ok("wait", job)


def test_a_call_of_a_job_in_another_session_keeps_no_person_from_approving(cli: Cli, config: Path) -> None:
    """Tests that run beside this one are in its session, and may run outlive as a job does."""
    job = pending(cli)
    with cli.spawn("wait", job, env={COOKIE: new_id()}) as call:
        answer = cli.run("approve", job).json
        cli.run("kill", job)
        assert answer_of(call)["exit_code"] == 0, answer


def test_a_plain_process_of_a_running_program_approves(cli: Cli, config: Path, work: Path) -> None:
    """A task of an editor, a script, a test: in a session of its own, without a terminal."""
    cli.ok("run", "true")
    job = pending(cli)
    done = subprocess.run(
        ["setsid", "-w", *OUTLIVE, "approve", job], capture_output=True, env=environment(), timeout=60, check=False
    )
    assert json.loads(done.stdout)["ok"], done
    cli.ok("wait", job)
