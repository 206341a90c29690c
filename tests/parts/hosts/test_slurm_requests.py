"""Requests to a job in an allocation, with a program that stands for srun(1) where no step can be started yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from outlive import limits
from outlive.jobs import control_client
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system import fds
from support import fake_slurm, processes
from support.cli import Cli
from support.wait import until

WAITS = "#!/bin/sh\necho $$ >{place}/pid.new\nmv {place}/pid.new {place}/pid\nexec sleep 300\n"
BOUND_S = 60


def test_a_request_that_was_given_up_before_its_step_started_is_never_done(place: Path) -> None:
    srun = place / "srun"
    srun.write_text(WAITS.format(place=place), encoding="utf-8")
    srun.chmod(0o755)
    here, there = fds.pair()
    words = [sys.executable, "-P", "-m", "outlive.parts.hosts.slurm.pump", str(there.fileno()), str(srun)]
    told = fds.memory_file("known", b"{}")
    with subprocess.Popen([*words, "7", "python", str(place), "ID"], stdin=told, pass_fds=[there.fileno()]) as pump:
        try:
            there.close()
            fds.send(here, b'{"op": "kill"}')
            until((place / "pid").exists, what="srun waits for its step", timeout=BOUND_S)
            here.close()
            assert pump.wait(BOUND_S) == 0
        finally:
            pump.kill()
            os.close(told)
    until(lambda: not processes.is_alive(int((place / "pid").read_text())), what="srun was ended", timeout=BOUND_S)


# A caller in the directory WORK that asks the node of the job ID in ROOT
ASKS = """
import os, sys
from outlive.parts.hosts.slurm.engine import ENGINE
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system import own_programs
root, job_id, work = sys.argv[1:]
own_programs.know([work])
with JobDir.open(Store.existing(root), job_id) as job, ENGINE.connect(job) as sock:
    while sock.recv(65536):
        pass
os.wait()
"""


def test_what_leads_to_a_node_takes_nothing_from_where_a_job_writes(cli: Cli, place: Path, work: Path) -> None:
    said = place / "environment"
    scripts = {"sbatch": fake_slurm.TAKES, "squeue": "#!/bin/sh\nexit 1\n", "srun": f"#!/bin/sh\nenv >{said}\n"}
    fake_slurm.programs(place, scripts)
    job_id = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    env = {**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}", "SLURM_CONF": f"{work}/slurm.conf"}
    subprocess.run([sys.executable, "-c", ASKS, str(cli.root), job_id, str(work)], env=env, check=True, timeout=BOUND_S)
    variables = dict(line.partition("=")[::2] for line in said.read_text(encoding="utf-8").splitlines())
    assert "SLURM_CONF" not in variables and f"{work}/bin" not in variables["PATH"].split(":")


def test_a_terminal_that_is_joined_to_a_node_is_told_of_output_as_it_comes(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without such hints each key would be drawn when the job is looked at again, up to a second later."""
    job_id = cli.ok("run", "--wait", "true")["job_id"]
    here, there = fds.pair()
    there.setblocking(False)
    monkeypatch.setattr(control_client, "_connected_elsewhere", lambda job: here)
    monkeypatch.setattr(control_client.ControlClient, "_connect", lambda self: False)
    store = Store.existing(str(cli.root))
    with JobDir.open(store, job_id) as job:
        client = control_client.ControlClient(job, output=True)
        assert client.request({"op": "ping"}) and client.request({"op": "ping"})
        said = [json.loads(there.recv(limits.CONTROL_BYTES)) for _ in range(3)]
        client.close()
    there.close()
    store.close()
    assert said == [{"op": "watch", "output": True}, {"op": "ping"}, {"op": "ping"}]


def test_a_wait_looks_at_a_file_system_that_machines_share_twice_a_second(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = cli.ok("run", "--wait", "true")["job_id"]
    monkeypatch.setattr(control_client, "_is_elsewhere", lambda job: True)
    monkeypatch.setattr(control_client.ControlClient, "_connect", lambda self: False)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    store = Store.existing(str(cli.root))
    with JobDir.open(store, job_id) as job:
        client = control_client.ControlClient(job, output=True)
        awaited = [client.awaited(None) for _ in range(12)]
        pauses = [one.deadline or 0 for one in awaited if one is not None]
    store.close()
    assert pauses[-3:] == [100.5] * 3 and pauses == sorted(pauses)
