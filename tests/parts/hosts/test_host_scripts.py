"""Scripts that are longer than a word of execve(2) may be, on other hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive import limits
from parts.hosts.test_host_starts import RUNS, SILENT
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support import fake_slurm
from support.cli import Cli
from support.fake_ssh import FakeSsh

FILLED = "# a line of a script\n" * (limits.MAX_COMMAND_BYTES // 20)


@pytest.mark.parametrize("shell", ["bash -lc", "sh -c"])
def test_a_long_script_runs_over_ssh_and_again_on_either_machine(
    cli: Cli, box: FakeSsh, work: Path, shell: str
) -> None:
    script = work / "script"
    script.write_text(f'{FILLED}echo "$0 é"; cat; exit 3')
    words = ("--shell-wrapper", shell, "--stdin-data", "typed", "--script", str(script))
    done = cli.ok("run", "--host", "box", "--wait", *words)
    assert (done["exit_code"], done["output"]) == (3, f"{shell.split(maxsplit=1)[0]} é\ntyped")
    assert done["command_bytes"] == script.stat().st_size
    made = cli.ok("create", "--host", "box", *words)["job_id"]
    script.unlink()
    for again in (cli.ok("start", made, "--wait"), *(cli.ok("restart", made, "--wait", *host) for host in HOSTS)):
        assert (again["exit_code"], again["output"]) == (3, done["output"])
    assert not any("a line" in call for call in box.calls)
    box.wait_empty()


HOSTS = ((), ("--host", "local"))


def test_a_long_script_runs_in_slurm(cli: Cli, place: Path, work: Path) -> None:
    fake_slurm.programs(place, {"sbatch": RUNS, "squeue": SILENT, "scancel": SILENT})
    (work / "script").write_text(f'{FILLED}echo "$0"; cat; exit 3')
    words = ("--stdin-data", "typed", "--script", str(work / "script"))
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", *words)["job_id"]
    found = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (found["exit_code"], cli.ok("log", job)["output"]) == (3, "sh\ntyped")


def test_sbatch_takes_no_library_of_a_workspace_which_its_job_finds_all_the_same(
    cli: Cli, place: Path, work: Path
) -> None:
    noted = RUNS.replace("\nscript =", f"\nopen({str(place / 'seen')!r}, 'w').write(repr(dict(os.environ)))\nscript =")
    fake_slurm.programs(place, {"sbatch": noted, "squeue": SILENT, "scancel": SILENT})
    env = {"LD_LIBRARY_PATH": f"{work}/lib", "LD_PRELOAD": "", "PYTHONPATH": f"{work}/src"}
    command = 'echo "$LD_LIBRARY_PATH" "$PYTHONPATH"'
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", command, env=env)["job_id"]
    cli.ok("wait", job, "--timeout-ms", "50s")
    assert cli.ok("log", job)["output"] == f"{work}/lib {work}/src\n"
    assert "'LD_LIBRARY_PATH'" not in (place / "seen").read_text()
