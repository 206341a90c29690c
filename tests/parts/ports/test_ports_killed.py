"""Ports under SIGKILL: none is leased to two, none is free while its command runs, and none is leased for ever."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.parts.ports.leases import Leases
from outlive.system import fault_points, locks
from support import pair, processes
from support.cli import Cli, Jobs
from support.commands import GATE
from support.jobs import job_ids
from support.tiers import first
from support.wait import until

COMMAND = f"echo $PORT_WEB >> given; {GATE}"
# Supervisor: from before the lease to the end
STARTS = ["start_ends", "start_unmarked", "start_marked", "start_spawned", "start_unrecorded", "start_recorded"]
CALLER = ["make_visible", "send_request", "send_guardian", "send_done", "send_answered"]


@contextmanager
def table(place: Path) -> Iterator[Leases]:
    found = Leases.opened(str(place / "home/.local/state/outlive/ports"))
    try:
        yield found
    finally:
        found.close()


def is_locked(place: Path, port: int) -> bool:
    with table(place) as found:
        return locks.is_held(found.fd, port)


def holder(place: Path, port: int) -> str | None:
    with table(place) as found:
        return found.holder(port)


def is_free_again(place: Path, *ports: int) -> bool:
    with table(place) as found:
        return not any(locks.is_held(found.fd, port) or found.holder(port) for port in ports)


def given(work: Path) -> list[int]:
    return [int(line) for line in (work / "given").read_text().split()] if (work / "given").exists() else []


def number(answer: Any) -> int:
    return int(answer["ports"]["web"]["port"])


def start(cli: Cli, **how: Any) -> tuple[str, int]:
    answer = cli.ok("run", "--snapshot-after", "0", "--port", "web", COMMAND, **how)
    return answer["job_id"], number(answer)


@pytest.mark.parametrize("who", ["supervisor", "guardian", "both"])
def test_a_port_stays_leased_while_its_command_runs_whatever_of_ours_is_killed(
    who: str, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    job, port = start(cli)
    one, above = pair.supervisor(job), pair.guardian(job)
    pair.end(*{"supervisor": [one], "guardian": [above], "both": [above, one]}[who])
    if who == "supervisor":
        pair.supervisor(job)
    assert holder(place, port) == job
    other, second = start(cli)
    assert second != port
    cli.ok("kill", other)
    assert number(cli.ok("status", job)) == port, "this look starts a new supervisor, if there is none"
    pair.supervisor(job)
    until(lambda: is_locked(place, port), what="the lock of a new supervisor")
    if who == "both":  # an adopter too has a guardian, and whichever of them is left holds the port
        pair.end(pair.supervisor(job))
        pair.supervisor(job)
        assert is_locked(place, port)
    cli.ok("kill", job)
    pair.until_free(root, job)
    until(lambda: is_free_again(place, port, second), what="the end of both leases")
    again, third = start(cli)
    assert third == port
    cli.ok("kill", again)


@pytest.mark.parametrize("point", STARTS)
def test_a_start_that_is_killed_leases_one_port(point: str, cli: Cli, work: Path, place: Path, root: Path) -> None:
    env = {fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}
    job, port = start(cli, env=env)
    assert (work / "crashes").read_text() == f"{point}\n", "it died there, and its successor did not"
    until(lambda: given(work), what="the command")
    assert given(work) == [port], "it ran once, with the port that the answer has"
    assert is_locked(place, port)
    cli.ok("kill", job)
    pair.until_free(root, job)
    until(lambda: is_free_again(place, port), what="the end of the lease")


@pytest.mark.parametrize("point", CALLER)
def test_a_caller_that_is_killed_leaves_a_whole_lease_or_none(
    point: str, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    env = {fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}
    call = cli.spawn("run", "--snapshot-after", "0", "--port", "web", COMMAND, env=env)
    call.communicate(timeout=60)
    assert point in (work / "crashes").read_text().split()
    (job,) = job_ids(root)
    if point in ("make_visible", "send_request", "send_guardian"):
        # At send_guardian its lock lies in the socket of a pair that may still be on its way, and counts as a launch
        pair.until_free(root, job)
        assert cli.ok("status", job)["state"] == "failed"
        assert not (place / "home/.local/state/outlive/ports").exists()
        return
    until(lambda: given(work), what="the command")
    (port,) = given(work)
    assert number(cli.ok("status", job)) == port
    assert holder(place, port) == job
    cli.ok("kill", job)
    pair.until_free(root, job)
    until(lambda: is_free_again(place, port), what="the end of the lease")


def test_what_a_command_left_behind_keeps_its_port(cli: Cli, work: Path, place: Path, root: Path) -> None:
    leaves = f"import subprocess; subprocess.Popen(['sh', '-c', '{GATE}'], start_new_session=True)"
    words = ("--wait", "--port", "web", "--port", "db", "--", sys.executable, "-c", leaves)
    ended = cli.ok("run", *words)
    assert ended["descendants"]
    with table(place) as found:
        ports = [port for port in range(20_000, 30_000) if found.line(port).job_id == ended["job_id"]]
    assert len(ports) == 2
    assert all(holder(place, port) == ended["job_id"] for port in ports)
    assert start(cli)[1] not in ports
    pair.end_both(pair.supervisor(ended["job_id"]))
    assert all(holder(place, port) == ended["job_id"] for port in ports), "it holds no file of the lease"
    assert start(cli)[1] not in ports
    (work / "go").touch()
    until(lambda: is_free_again(place, *ports), what="the end of the lease")


def test_a_start_that_fails_leases_nothing(cli: Cli, place: Path, work: Path) -> None:
    env = {"OUTLIVE_PORTS_FIRST": "23000", "OUTLIVE_PORTS_LAST": "23001"}
    for _ in range(3):
        missing = cli.ok("run", "--port", "web", "--port", "db", "--", "no-such-program", "x", env=env)
        assert (missing["state"], "ports" in missing) == ("failed", False)
    until(lambda: is_free_again(place, 23_000, 23_001), what="the end of the lease")
    error = cli.error("run", "--port", "a", "--port", "b", "--port", "c", "touch ran", code="launch_failed", env=env)
    said = "no port from 23000 to 23001 is free: end a job that leases one, or set [ports] first and last"
    assert error["message"] == f"while starting the command: {said}"
    assert not (work / "ran").exists()
    assert is_free_again(place, 23_000, 23_001)


@pytest.mark.parametrize(("leases", "most"), first(1, [(14, 1), (40, 1), (2_000, 6)]))
def test_whatever_is_killed_no_port_is_leased_twice_and_none_is_lost(
    leases: int, most: int, cli: Cli, jobs: Jobs, work: Path, place: Path, root: Path
) -> None:
    """Six jobs at once, in four worktrees, with up to `most` ports each, in a range that has twice as many."""
    dice = random.Random(7)
    last = 22_000 + 12 * most - 1
    env = {"OUTLIVE_PORTS_FIRST": "22000", "OUTLIVE_PORTS_LAST": str(last)}
    lived: dict[str, set[int]] = {}
    made = 0
    while made < leases:
        while len(lived) < 6:
            folder = work / f"tree{dice.randrange(4)}"
            (folder / ".git").mkdir(parents=True, exist_ok=True)
            names = [word for at in range(dice.randint((most + 1) // 2, most)) for word in ("--port", f"p{at}")]
            answer = cli.ok("run", "--snapshot-after", "0", *names, GATE, cwd=folder, env=env)
            ports = {int(one["port"]) for one in answer["ports"].values()}
            twice = ports & set[int]().union(*lived.values())
            assert not twice, f"after {made} leases: {twice} are leased to two"
            assert len(ports) == len(names) // 2
            lived[answer["job_id"]] = ports
            made += len(ports)
        for job in dice.sample([*lived], 3):
            victims = dice.choice(["supervisor", "guardian", "both", "command"])
            pid = cli.ok("status", job)["pid"]  # this look starts a new supervisor, if there is none
            supervisor = pair.supervisor(job)
            above = processes.parent(supervisor)
            both = [above, supervisor] if pair.comm(above) == pair.GUARDIAN else [supervisor]
            pair.end(*{"supervisor": [supervisor], "guardian": both[:1], "both": both, "command": [pid]}[victims])
            if victims == "command" or dice.random() < 0.5:
                cli.ok("kill", job) if victims != "command" else cli.ok("wait", job, "--timeout-ms", "50s")
                del lived[job]
            else:
                assert {holder(place, port) for port in lived[job]} == {job}
    for job in lived:
        cli.ok("kill", job)
    for job in job_ids(root):
        pair.until_free(root, job)
    with table(place) as found:
        mine = new_id()
        every = [found.lease(22_000, last, f"/{port}", "web", mine, None) for port in range(22_000, last + 1)]
        assert sorted(every) == [*range(22_000, last + 1)]
    jobs.end()
