"""The example for jobs on another machine does what its comment says."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support.cli import Cli, environment
from support.fake_ssh import FakeSsh
from support.preloaded import OUTLIVE
from support.wait import until

SCRIPT = Path(__file__).parents[3] / "examples/on-a-host.sh"
BOUND_S = 120


def begun(cli: Cli, *words: str) -> subprocess.Popen[str]:
    env = environment({"OUTLIVE": shlex.join(OUTLIVE), "OUTLIVE_ROOT": str(cli.root)})
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ["sh", str(SCRIPT), *words], env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def test_the_same_line_again_goes_on_with_the_job_and_both_end_with_its_exit_code(cli: Cli, box: FakeSsh) -> None:
    line = ("box", "echo one; while [ ! -e end ]; do sleep 0.1; done; echo two; exit 7")
    first = begun(cli, *line)
    until(lambda: len(cli.ok("list", "--all")["jobs"]) == 1, what="a job")
    job = cli.ok("list", "--all")["jobs"][0]["job_id"]
    cli.ok("wait", job, "--until", "regex=one")
    for connection in box.connections():
        os.kill(connection, 9)
    second = begun(cli, *line)
    assert second.stderr is not None
    assert second.stderr.readline() == f"job {job} on box\n"
    (box.home / "end").touch()
    for one in (first, second):
        out, _ = one.communicate(timeout=BOUND_S)
        assert (out, one.returncode) == ("one\ntwo\n", 7)
    assert len(cli.ok("list", "--all")["jobs"]) == 1
    box.wait_empty()


def test_a_host_that_cannot_be_reached_is_an_error_on_stderr(cli: Cli, box: FakeSsh) -> None:
    box.down()
    done = begun(cli, "box", "true")
    out, said = done.communicate(timeout=BOUND_S)
    assert (out, done.returncode) == ("", 1) and "No route to host" in said
