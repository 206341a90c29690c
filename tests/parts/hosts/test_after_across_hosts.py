"""Jobs that start after others, where not all of them run on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from parts.hosts.test_host_starts import NEVER_RUN_OVER_SSH, RUNS
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import mirror_of
from support import fake_slurm, pair, processes
from support.cli import Cli
from support.commands import GATE
from support.face import Face
from support.fake_ssh import FakeSsh
from support.mcp_client import McpSession
from support.tiers import IN_TURN
from support.wait import until

BUSY = "#!/bin/sh\necho the controller is busy >&2\nexit 1\n"  # one that says that it knows no job would have it judged
DONE = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


@pytest.fixture
def cluster(box: FakeSsh, place: Path) -> None:
    """A host `cluster` besides `box`: what its Slurm takes is run here."""
    programs = place / "programs"
    programs.mkdir()
    for name, script in {"sbatch": RUNS, "squeue": BUSY, "scancel": DONE}.items():
        fake_slurm.put(programs, name, script)
    with (place / "home/.config/outlive/config.toml").open("a", encoding="utf-8") as file:
        file.write(f'[hosts.cluster]\nkind = "slurm"\nprograms = "{programs}"\n')
        file.write(f'[programs]\nssh = "{box.bin}/ssh"\n')  # the PATH of a login shell may lead to another one


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, cluster: None, mcp_connect: Callable[..., McpSession]) -> Face:
    return Face(request.param, cli, mcp_connect())


def gated(work: Path, then: str) -> str:
    """A command that goes on once the file `go` is in this directory, from whichever one it is started."""
    return f"cd {work}; {GATE}; {then}"


def looker(job: str) -> int:
    """Return the pid of the process that looks at what a job waits for."""
    supervisor = pair.supervisor(job)

    def found() -> int:
        below = processes.descendants(supervisor)
        return next((pid for pid in below if "after.waiter" in " ".join(processes.command_line(pid))), 0)

    return until(found, what="the process that looks")


# --- a job of this machine after one of another -----------------------------------------------------------------------


@IN_TURN
@pytest.mark.parametrize("host", ["box", "cluster"])
def test_a_job_here_starts_after_one_of_another_machine(host: str, face: Face, box: FakeSsh, work: Path) -> None:
    build = face.background(gated(work, "echo built >> order"), title="build", host=host)
    job = face.ok("run", command="echo tested >> order", after=[build], yield_ms=0)
    assert (job["state"], [one["job_id"] for one in job["waiting_for"]]) == ("created", [build])
    (work / "go").touch()
    ended = face.ok("wait", job["job_id"], timeout_ms=50_000)
    assert (ended["state"], ended["exit_code"]) == ("exited", 0)
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()


@IN_TURN
@pytest.mark.parametrize("host", ["box", "cluster"])
def test_it_fails_and_says_why_if_that_one_did_not_end_well(host: str, face: Face, box: FakeSsh, work: Path) -> None:
    build = face.background(gated(work, "exit 3"), title="build", host=host)
    job = face.background("touch ran", after=[build])
    (work / "go").touch()
    ended = face.ok("wait", job, timeout_ms=50_000)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(build) to exit with 0, and that exited with code 3" in ended["message"]
    assert not (work / "ran").exists()
    box.wait_empty()


def test_a_line_of_a_job_there_can_be_waited_for(face: Face, box: FakeSsh, work: Path) -> None:
    web = face.background(gated(work, "echo ready; while :; do sleep 0.05; done"), host="box")
    job = face.background("true", after=[{"job": web, "regex": "ready"}])
    (work / "go").touch()
    assert face.ok("wait", job, timeout_ms=50_000)["exit_code"] == 0
    face.ok("kill", web)
    box.wait_empty()


@pytest.mark.parametrize("which", ["looker", "pair", "mirror", "all"])
def test_it_waits_on_whichever_process_is_killed(which: str, cli: Cli, box: FakeSsh, work: Path) -> None:
    build = cli.ok("run", "--host", "box", "--snapshot-after", "0", gated(work, "echo built >> order"))["job_id"]
    job = cli.ok("run", "--after", build, "--snapshot-after", "0", "echo tested >> order")["job_id"]
    looks = looker(job)
    if which in ("mirror", "all"):
        os.kill(mirror_of(build), signal.SIGKILL)
    if which in ("pair", "all"):
        pair.end_both(pair.supervisor(job))
    if which == "looker":
        os.kill(looks, signal.SIGKILL)
    cli.ok("list", "--all")
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50000")["exit_code"] == 0
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()
    until(lambda: not mirrors(build), what="the mirror is done")


def mirrors(job: str) -> list[int]:
    return [
        pid
        for pid in processes.all_pids()
        if processes.name(pid) == "outmirror" and job in str(processes.command_line(pid))
    ]


def test_it_waits_while_the_machine_cannot_be_reached(cli: Cli, box: FakeSsh, work: Path) -> None:
    build = cli.ok("run", "--host", "box", "--snapshot-after", "0", gated(work, "echo built >> order"))["job_id"]
    job = cli.ok("run", "--after", build, "--snapshot-after", "0", "echo tested >> order")["job_id"]
    box.down()
    (work / "go").touch()
    until((work / "order").exists, what="the end of the job there")
    until(lambda: cli.ok("status", build).get("reachable") is False, what="it is out of reach")
    assert cli.ok("status", job)["state"] == "created"
    box.up()
    assert cli.ok("wait", job, "--timeout-ms", "90000")["exit_code"] == 0
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()


# --- a job of another machine after others ----------------------------------------------------------------------------

WHERE = [("box", None), ("cluster", None), ("box", "box"), ("box", "cluster"), ("cluster", "box")]


@IN_TURN
@pytest.mark.parametrize(("host", "other"), WHERE)
def test_a_job_of_another_machine_waits_here_and_goes_there_at_its_turn(
    host: str, other: str | None, face: Face, box: FakeSsh, work: Path
) -> None:
    on = {} if other is None else {"host": other}
    build = face.background(gated(work, "echo built >> order"), title="build", **on)
    job = face.ok(
        "run",
        command=f"echo tested $NAME >> {work}/order; exit 5",
        after=[build],
        host=host,
        env={"NAME": "x"},
        yield_ms=0,
    )
    assert (job["state"], [one["job_id"] for one in job["waiting_for"]], job["host"]) == ("created", [build], host)
    assert face.ok("status", job["job_id"])["hint"].startswith("It has not started: it waits for job")
    (work / "go").touch()
    ended = face.ok("wait", job["job_id"], timeout_ms=50_000)
    assert (ended["state"], ended["exit_code"], ended["host"]) == ("exited", 5, host), str(
        (ended, face.ok("status", build))
    )
    assert "waiting_for" not in ended
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested x\n"
    box.wait_empty()


@IN_TURN
@pytest.mark.parametrize("host", ["box", "cluster"])
def test_it_never_goes_there_if_its_start_can_no_longer_come(host: str, face: Face, box: FakeSsh, work: Path) -> None:
    build = face.background(gated(work, "exit 3"), title="build", host="box")
    job = face.background(f"touch {work}/ran", after=[build], host=host)
    (work / "go").touch()
    ended = face.ok("wait", job, timeout_ms=50_000)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(build) to exit with 0, and that exited with code 3" in ended["message"]
    box.wait_empty()
    assert not (work / "ran").exists()


@IN_TURN
@pytest.mark.parametrize("host", ["box", "cluster"])
def test_it_is_ended_and_removed_while_it_waits(host: str, face: Face, work: Path) -> None:
    other = face.background(gated(work, "true"))
    job, removed = (face.background(f"touch {work}/ran", after=[other], host=host) for _ in range(2))
    killed = face.ok("kill", job)
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    face.ok("remove", removed)
    (work / "go").touch()
    face.ok("wait", other, timeout_ms=50_000)
    assert face.ok("status", job)["state"] == "failed"
    assert not (work / "ran").exists()


def waiting(cli: Cli, work: Path, **env: str | None) -> str:
    """Start a job on the box that waits for one here, which ends once `go` is there; return its id."""
    build = cli.ok("run", "--snapshot-after", "0", gated(work, "echo built >> order"))["job_id"]
    command = f"echo tested >> {work}/order; exit 5"
    answer = cli.ok("run", "--host", "box", "--after", build, "--snapshot-after", "0", command, env=env)
    assert answer["state"] == "created"
    return str(answer["job_id"])


def test_no_program_of_the_workspace_is_run_at_its_turn(cli: Cli, box: FakeSsh, work: Path) -> None:
    """A job in a sandbox could have written it while the other one waited."""
    (work / "bin").mkdir()
    planted = work / "bin/ssh"
    planted.write_text(f"#!/bin/sh\ntouch {work}/planted\nexit 255\n", encoding="utf-8")
    planted.chmod(0o755)
    job = waiting(cli, work, PATH=f"{work}/bin:{os.environ['PATH']}")
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50000")["exit_code"] == 5
    assert not (work / "planted").exists()
    box.wait_empty()


@pytest.fixture
def planted(box: FakeSsh, cluster: None, place: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `squeue` of the workspace, first on PATH where Slurm's programs are found too; return the file that it would leave."""
    config = place / "home/.config/outlive/config.toml"
    kept = [line for line in config.read_text(encoding="utf-8").splitlines() if not line.startswith("programs =")]
    config.write_text("\n".join(kept), encoding="utf-8")
    (work / "bin").mkdir()
    fake_slurm.put(work / "bin", "squeue", f"#!/bin/sh\nreadlink /proc/$PPID/exe >{place}/planted\n")
    fake_slurm.put(place / "programs", "squeue", f"#!/bin/sh\ntouch {place}/asked\nexit 1\n")
    monkeypatch.setenv("PATH", f"{work}/bin:{place}/programs:{os.environ['PATH']}")
    return place / "planted"


def test_no_program_of_the_workspace_is_run_in_an_allocation(
    cli: Cli, planted: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guardian asks when Slurm's time limit ends the job, before it starts that."""
    monkeypatch.setenv("SLURM_CONF", f"{planted.parent}/work/slurm.conf")
    answer = cli.ok("run", "--host", "cluster", "--wait", "--", "printenv", "PATH", "SLURM_CONF")
    assert answer["output"].split("\n") == [os.environ["PATH"], os.environ["SLURM_CONF"], ""], "as they were"
    assert not planted.exists() and (place / "asked").exists()


def test_what_looks_at_other_jobs_finds_the_programs_of_slurm_as_its_caller_does(
    cli: Cli, planted: Path, place: Path
) -> None:
    """It is started without variables. `squeue` of the workspace is first on PATH, and is passed over."""
    fake_slurm.put(place / "programs", "sbatch", fake_slurm.TAKES)  # Slurm alone knows what became of the job
    build = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    job = cli.ok("run", "--after", build, "--snapshot-after", "0", "true")["job_id"]
    try:
        looker(job)
        (place / "asked").unlink(missing_ok=True)
        for path in cli.root.glob(".slurm-*"):  # what Slurm said to the calls
            path.unlink()
        until((place / "asked").exists, what="the process that looks has asked")
        assert not planted.exists()
    finally:
        assert cli.ok("kill", job)["reason"] == "kill"


@pytest.fixture(params=["cli", "mcp"])
def with_other_file(
    request: pytest.FixtureRequest,
    cli: Cli,
    box: FakeSsh,
    place: Path,
    mcp_connect: Callable[..., McpSession],
) -> Callable[..., str]:
    """Starts a job with a configuration that is named to outlive; the usual one has another root for `box`."""
    usual, other = place / "home/.config/outlive/config.toml", place / "other.toml"
    # The PATH of a login shell may lead to another ssh
    programs = f'[programs]\nssh = "{box.bin}/ssh"\n'
    other.write_text(usual.read_text(encoding="utf-8") + programs, encoding="utf-8")
    usual.write_text(f'{usual.read_text(encoding="utf-8")}root = "{place}/wrong"\n', encoding="utf-8")

    def run(command: str, after: str) -> str:
        if request.param == "mcp":
            session = mcp_connect(args=("--config", str(other)))
            answer = Face("mcp", cli, session).ok("run", command=command, host="box", after=[after], yield_ms=0)
        else:
            words = ("--config", str(other), "--host", "box", "--after", after, "--snapshot-after", "0")
            answer = cli.ok("run", *words, command)
        return str(answer["job_id"])

    return run


def test_at_its_turn_it_goes_by_the_configuration_that_its_caller_named(
    cli: Cli, box: FakeSsh, place: Path, work: Path, with_other_file: Callable[..., str]
) -> None:
    build = cli.ok("run", "--snapshot-after", "0", gated(work, "true"))["job_id"]
    job = with_other_file(f"cd {work}; echo ran >> order; until test -e end; do sleep 0.05; done; exit 5", build)
    (work / "go").touch()
    until((work / "order").exists, what="it runs")
    there = [path.name for path in box.jobs()]
    (work / "end").touch()
    assert there == [job] and not (place / "wrong").exists()
    assert cli.ok("wait", job, "--timeout-ms", "50000")["exit_code"] == 5
    box.wait_empty()


def test_it_goes_nowhere_if_the_configuration_that_its_caller_named_is_gone(
    cli: Cli, box: FakeSsh, place: Path, work: Path
) -> None:
    other = place / "other.toml"
    other.write_bytes((place / "home/.config/outlive/config.toml").read_bytes())
    build = cli.ok("run", "--snapshot-after", "0", gated(work, "true"))["job_id"]
    words = ("--config", str(other), "--host", "box", "--after", build, "--snapshot-after", "0")
    job = cli.ok("run", *words, f"touch {work}/ran")["job_id"]
    opened = Path(f"/proc/{looker(job)}/fd")
    until(lambda: {str(cli.root)} & {os.readlink(one) for one in opened.iterdir()}, what="what looks has read it")
    other.unlink()
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50000")
    assert (ended["state"], ended["reason"]) == ("failed", "launch")
    assert ended["message"] == f"no configuration file at {other}; it never ran"
    assert not (work / "ran").exists()


@pytest.mark.parametrize("which", ["looker", "supervisor", "pair"])
def test_a_job_of_another_machine_waits_on_whichever_process_is_killed(
    which: str, cli: Cli, box: FakeSsh, work: Path
) -> None:
    job = waiting(cli, work)
    looks, supervisor = looker(job), pair.supervisor(job)
    if which == "looker":
        os.kill(looks, signal.SIGKILL)
    elif which == "supervisor":
        pair.end(supervisor)
    else:
        pair.end_both(supervisor)
    until(lambda: not processes.is_alive(looks), what="the end of the process that looked")
    assert cli.ok("list", "--all")["jobs"]  # a reader, who may be the first to find out
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50000")["exit_code"] == 5
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()


AT_ITS_TURN = (
    "wait_over",
    "turn_told",
    "turn_locked",
    "host_recorded",
    "host_handed",
    "mirror_told",
    "mirror_asked",
    "mirror_sent",
)


@pytest.mark.fault("H25")
@pytest.mark.parametrize("point", AT_ITS_TURN)
def test_a_process_that_dies_at_its_turn_starts_it_once_or_it_says_that_it_never_ran(
    point: str, cli: Cli, box: FakeSsh, work: Path
) -> None:
    crashes = work / "crashes"
    job = waiting(cli, work, OUTLIVE_CRASH_AT=point, OUTLIVE_DEBUG_FILE=str(crashes))
    (work / "go").touch()
    until(lambda: crashes.exists() and crashes.read_text(encoding="utf-8"), what=f"a death at {point}")
    ended = cli.ok("wait", job, "--timeout-ms", "50000")
    ran = (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    if point in NEVER_RUN_OVER_SSH or (
        point == "mirror_sent" and not ran
    ):  # what was sent may be lost with the connection
        assert (ended["state"], ended["reason"], ran) == ("failed", "launch", False)
        assert ended["message"].endswith("it never ran")
    else:
        assert (ended["exit_code"], ran) == (5, True), ended
    assert crashes.read_text(encoding="utf-8").split() == [point]
    box.wait_empty()


def test_its_turn_waits_for_a_machine_that_is_out_of_reach(cli: Cli, box: FakeSsh, work: Path) -> None:
    job = waiting(cli, work)
    box.down()
    (work / "go").touch()
    found = until(lambda: (one := cli.ok("status", job)).get("queue") and one, what="it waits for a connection")
    assert (found["state"], found["queue"]["state"], "waiting_for" in found) == ("created", "CONNECTING", False)
    box.up()
    assert cli.ok("wait", job, "--timeout-ms", "90000")["exit_code"] == 5
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()


def test_a_host_that_is_gone_from_the_configuration_at_its_turn_ends_it(
    cli: Cli, box: FakeSsh, place: Path, work: Path
) -> None:
    told = work / "told"
    build = cli.ok("run", "--snapshot-after", "0", gated(work, "true"))["job_id"]
    words = ("--host", "box", "--after", build, "--notify-file", str(told), "--snapshot-after", "0")
    job = cli.ok("run", *words, f"touch {work}/ran")["job_id"]
    (place / "home/.config/outlive/config.toml").write_text("", encoding="utf-8")
    (work / "go").touch()
    until(told.exists, what="the end is told")
    ended = cli.ok("status", job)
    assert (ended["state"], ended["reason"]) == ("failed", "launch")
    assert ended["message"] == "the configuration has no host 'box' any more; it never ran"
    assert not (work / "ran").exists()


def test_masked_variables_and_the_input_reach_it_at_its_turn(cli: Cli, box: FakeSsh, work: Path) -> None:
    build = cli.ok("run", "--snapshot-after", "0", gated(work, "true"))["job_id"]
    words = ("--host", "box", "--after", build, "--mask", "TOKEN", "--env", "TOKEN=secret-7", "--stdin-data", "line 1")
    job = cli.ok("run", *words, "--snapshot-after", "0", f'echo "$TOKEN" > {work}/token; cat')["job_id"]
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50000")
    assert (ended["exit_code"], ended["output"]) == (0, "line 1")
    assert (work / "token").read_text(encoding="utf-8") == "secret-7\n"
    box.wait_empty()
