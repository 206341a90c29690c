"""Scripts that are longer than a word of execve(2) may be, in a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive import limits
from support import pair, processes
from support.cli import Cli
from support.wait import until

FILLED = "# a line of a script\n" * (limits.MAX_COMMAND_BYTES // 20)


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
@pytest.mark.parametrize("shell", ["bash -c", "sh -c"])
def test_a_long_script_runs_in_a_sandbox_and_finds_no_open_file(cli: Cli, work: Path, mode: str, shell: str) -> None:
    short = 'ls /proc/$$/fd; read line; echo "$0 $- $line"; touch made 2>/dev/null; exit 3'
    (work / "script").write_text(FILLED + short)
    (work / "input").write_text("typed\n")
    how = ("--wait", "--sandbox", mode, "--shell-wrapper", shell, "--stdin", "@input")
    for words in (("--script", "script"), (short,)):
        done = cli.ok("run", *how, *words, cwd=work)
        assert (done["exit_code"], done["output"].split()[:3]) == (3, ["0", "1", "2"])
        assert done["output"].splitlines()[-1].startswith(shell.split(maxsplit=1)[0]) and "typed" in done["output"]
        assert (work / "made").exists() == (mode == "workspace-write")
    how = ("--snapshot-after", "0", "--sandbox", mode, "--shell-wrapper", shell, "--pty")
    job = cli.ok("run", *how, "--script", "script", cwd=work)["job_id"]
    cli.ok("write", job, "--data", "typed\n")
    assert cli.ok("wait", job)["exit_code"] == 3
    assert "typed" in cli.ok("log", job)["output"].splitlines()[-1]


@pytest.mark.parametrize("shell", ["bash -c", "sh -c"])
def test_no_process_of_a_sandbox_keeps_a_long_script_open(cli: Cli, work: Path, shell: str) -> None:
    waits = "until [ -e end ]; do sleep 0.1; done"
    (work / "script").write_text(f"{FILLED}ls /proc/self/fd; ls /proc/$$/fd; touch said; {waits}")
    words = ("--snapshot-after", "0", "--sandbox", "workspace-write", "--shell-wrapper", shell, "--script", "script")
    job = cli.ok("run", *words, cwd=work)["job_id"]
    until((work / "said").exists, what="it runs")
    everyone = {pair.supervisor(job), *processes.descendants(pair.supervisor(job))}
    names = {pid: processes.name(pid) for pid in everyone}
    assert "boxkeeper" in names.values(), names
    links = {pid: sorted(processes.open_files(pid).values()) for pid in everyone}
    assert not [name for pid, name in names.items() if any("memfd:script" in link for link in links[pid])]
    (work / "end").touch()
    cli.ok("wait", job)
    assert cli.ok("log", job)["output"].split() == ["0", "1", "2", "3", "0", "1", "2"], "3 is what ls itself opened"


def test_what_keeps_the_output_of_a_sandboxed_job_open_is_not_its_script(cli: Cli, work: Path) -> None:
    """Both streams have a reader while no process of outlive is there."""
    waits = "until [ -e {} ]; do sleep 0.1; done\n".format
    said = "echo out; echo err >&2; touch said\n"
    (work / "script").write_text(f"{FILLED}{waits('go')}{said}{waits('end')}exit 3")
    words = ("--snapshot-after", "0", "--sandbox", "workspace-write", "--script", "script")
    job = cli.ok("run", *words, cwd=work)["job_id"]
    processes.kill(pair.guardian(job), pair.supervisor(job))
    (work / "go").touch()
    until((work / "said").exists, what="both lines are written")
    assert cli.ok("status", job)["state"] == "running"
    (work / "end").touch()
    done = cli.ok("wait", job)
    assert (done["exit_code"], sorted(cli.ok("log", job)["output"].split())) == (3, ["err", "out"])


def test_a_notification_command_in_a_sandbox_goes_on_working(cli: Cli, work: Path) -> None:
    """The numbers of its files changed too."""
    words = ("--wait", "--sandbox", "workspace-write", "--notify-command", "cat > told.new; mv told.new told", "true")
    cli.ok("run", *words, cwd=work)
    until((work / "told").exists, what="the command is told")
