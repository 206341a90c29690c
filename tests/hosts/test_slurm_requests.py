"""Requests to a job in an allocation, with a program that stands for srun(1) where no step can be started yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from outlive.system import fds
from support import processes
from support.wait import until

WAITS = "#!/bin/sh\necho $$ >{place}/pid.new\nmv {place}/pid.new {place}/pid\nexec sleep 300\n"
BOUND_S = 60


def test_a_request_that_was_given_up_before_its_step_started_is_never_done(place: Path) -> None:
    srun = place / "srun"
    srun.write_text(WAITS.format(place=place), encoding="utf-8")
    srun.chmod(0o755)
    here, there = fds.pair()
    words = [sys.executable, "-P", "-m", "outlive.hosts.slurm.pump", str(there.fileno()), str(srun)]
    with subprocess.Popen([*words, "7", "python", str(place), "ID"], pass_fds=[there.fileno()]) as pump:
        try:
            there.close()
            fds.send(here, b'{"op": "kill"}')
            until((place / "pid").exists, what="srun waits for its step", timeout=BOUND_S)
            here.close()
            assert pump.wait(BOUND_S) == 0
        finally:
            pump.kill()
    until(lambda: not processes.is_alive(int((place / "pid").read_text())), what="srun was ended", timeout=BOUND_S)
