"""What Slurm says and what a node sees, with programs that stand for Slurm's: told as they say it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlive import __version__
from outlive.parts.sandbox.confinement import bubblewrap
from outlive.system import machine
from support import fake_slurm
from support.cli import Cli
from support.fake_slurm import TAKES, put

NOTHING = "#!/bin/sh\nexit 0\n"
# squeue with one job, whose name is that of the newest sbatch
NAMED = "#!/bin/sh\nfor word; do case $word in --job-name=*) echo ${{word#*=}} > {place}/name;; esac; done\necho 7\n"
WAITS = "#!/bin/sh\nprintf '7|%s|PENDING|Resources|1790000000|1790003600|\\n' \"$(cat {place}/name)\"\n"
# squeue with a job whose batch script writes down its node meanwhile
STARTS = """#!/bin/sh
{python} -P - <<'END'
import os
from outlive.store import atomic_file
job = os.open("{root}/" + open("{place}/name").read().strip(), os.O_RDONLY)
record = atomic_file.load(atomic_file.read(job, "engine.json"))
atomic_file.write_atomic(job, "engine.json", atomic_file.dump({{**record, "node": "n1"}}))
END
""" + WAITS.partition("\n")[2]
SINFO = "#!/bin/sh\n[ \"$1\" = --version ] && echo slurm 22.05.8 || echo 'main*|up|2|idle'\n"
TRACKS = "#!/bin/sh\necho 'ProctrackType = proctrack/cgroup'\n"
SEES = "#!/bin/sh\ncat <<'END'\n{seen}\nEND\n"


@pytest.fixture
def programs(place: Path) -> Path:
    silent = dict.fromkeys(("squeue", "scancel", "srun"), NOTHING)
    return fake_slurm.programs(place, {"sbatch": TAKES, "sinfo": SINFO, "scontrol": TRACKS, **silent})


def test_a_job_that_waits_says_when_slurm_means_to_start_it(cli: Cli, programs: Path) -> None:
    put(programs, "sbatch", NAMED.format(place=programs))
    put(programs, "squeue", WAITS.format(place=programs))
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    found = cli.ok("status", job)
    assert (found["state"], found["queue"]["state"], found["queue"]["reason"]) == ("created", "PENDING", "Resources")
    assert found["queue"]["estimated_start"] == "2026-09-21T15:13:20.000Z"
    (entry,) = cli.ok("list", "--all")["jobs"]
    assert entry["queue"]["estimated_start"] == found["queue"]["estimated_start"]
    assert cli.error("write", job, "--data", "x", code="invalid_state")["hint"] == (
        "It waits for its start on cluster; status says for what."
    )


def test_what_the_batch_script_wrote_while_slurm_was_asked_stays(cli: Cli, programs: Path) -> None:
    put(programs, "sbatch", NAMED.format(place=programs))
    put(programs, "squeue", STARTS.format(place=programs, python=sys.executable, root=cli.root))
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    assert cli.ok("status", job)["queue"]["state"] == "PENDING"
    record = json.loads((cli.root / job / "engine.json").read_bytes())
    assert (record["node"], record["engine"]["state"]) == ("n1", "PENDING")


def test_options_of_a_call_are_refused_unless_the_configuration_lets_them(cli: Cli, programs: Path) -> None:
    words = ("run", "--host", "cluster", "--snapshot-after", "0", "--resource", "options.qos=high", "true")
    assert "caller_options = true" in cli.error(*words, code="denied")["hint"]
    assert cli.ok("list", "--all")["jobs"] == []
    config = programs.parent / "home/.config/outlive/config.toml"
    config.write_text(f"{config.read_text(encoding='utf-8')}caller_options = true\n", encoding="utf-8")
    assert cli.ok(*words)["engine"]["job_id"] == "7"


@pytest.mark.usefixtures("system_path")
def test_a_rule_allows_no_option_of_a_call_by_which_slurm_may_run_more(cli: Cli, programs: Path) -> None:
    config = programs.parent / "home/.config/outlive/config.toml"
    rule = '[policy]\ndefault = "ask"\nask_timeout = 0\n[[policy.rule]]\nprefix = ["true"]\ndecision = "allow"\n'
    config.write_text(f"{rule}{config.read_text(encoding='utf-8')}caller_options = true\n", encoding="utf-8")
    words = ("run", "--host", "cluster", "--snapshot-after", "0", "--resource")
    for option in ("export=ALL,LD_PRELOAD=/w/x.so", "output=/home/me/.bashrc", "nodelist=/etc/shadow"):
        cli.error(*words, f"options.{option}", "true", code="denied")
    assert cli.ok(*words, "options.qos=high", "true")["engine"]["job_id"] == "7"


@pytest.fixture
def sandboxes() -> None:
    problem = bubblewrap.tried(bubblewrap.find(None))
    if problem is not None:
        pytest.skip(f"no sandbox can be set up here: {problem}")


@pytest.mark.usefixtures("sandboxes")
def test_options_of_a_call_for_a_job_in_a_sandbox_only_say_what_is_allocated(cli: Cli, programs: Path) -> None:
    """With `export` Slurm would load a library of an earlier job, outside of the sandbox."""
    config = programs.parent / "home/.config/outlive/config.toml"
    config.write_text(f"{config.read_text(encoding='utf-8')}caller_options = true\n", encoding="utf-8")
    words = ("run", "--host", "cluster", "--snapshot-after", "0", "--sandbox", "workspace-write", "--resource")
    for option in (
        "export=ALL,LD_PRELOAD=/w/x.so",
        "exp=x",
        "output=/home/me/.bashrc",
        "get-user-env=true",
        "nodelist=/etc/shadow",
        "exclude=/etc/shadow",
    ):
        found = cli.error(*words, f"options.{option}", "true", code="denied")
        assert found["message"].startswith(
            f"options.{option.split('=')[0]} may have Slurm run, read or write something"
        )
    assert cli.ok(*words, "options.qos=high", "true")["engine"]["job_id"] == "7"


@pytest.mark.usefixtures("sandboxes")
@pytest.mark.parametrize("given", [("--stdin", "@in"), ("--env-file", "in")], ids=["input", "variables"])
def test_a_file_that_became_a_link_while_the_job_was_in_the_queue_is_not_given_to_it(
    cli: Cli, programs: Path, work: Path, given: tuple[str, str]
) -> None:
    """Another job of the workspace made it, so that this one sees your keys."""
    put(programs, "sbatch", f'#!/bin/sh\nfor last; do echo "$last"; done > {programs}/words\necho 7\n')
    put(programs, "squeue", "#!/bin/sh\n")
    keys = programs.parent / "keys"
    keys.write_text("KEY=secret\n")
    (work / "in").write_text("KEY=mine\n")
    command = 'echo "$KEY"; cat'
    for is_link in (True, False):
        words = ("run", "--host", "cluster", "--snapshot-after", "0", "--sandbox", "workspace-write")
        job = cli.ok(*words, *given, command)["job_id"]
        if is_link:
            (work / "in").rename(work / "was")
            (work / "in").symlink_to(keys)
        *_, script, python, root, named = (programs / "words").read_text().splitlines()
        assert named == job
        done = subprocess.run(["sh", script, python, root, job], capture_output=True, text=True, check=False)
        if is_link:
            assert f"a job in the sandbox does not see {keys}" in done.stderr
            (work / "in").unlink()
            (work / "was").rename(work / "in")
        else:
            assert "mine" in cli.ok("log", job)["output"], done.stderr


@pytest.mark.parametrize(
    ("sees", "name", "status", "advice"),
    [
        ({}, "locks", "ok", None),
        ({"locked": False}, "locks", "warn", "nfs(5): no nolock"),
        ({"machine": machine.here().id}, "locks", "warn", "OUTLIVE_MACHINE"),
        ({"root": False, "locked": False}, "root", "fail", "--root or OUTLIVE_ROOT"),
        ({"version": "0.0.1"}, "node", "warn", "-m pip install ."),
    ],
    ids=["all well", "locks that do not reach", "one machine id for two", "a root of its own", "another version"],
)
def test_the_check_of_a_cluster_tells_what_a_node_lacks(
    cli: Cli, programs: Path, sees: dict[str, Any], name: str, status: str, advice: str | None
) -> None:
    seen = {"version": __version__, "node": "n1", "machine": "other", "boot_id": "other", "root": True, "locked": True}
    put(programs, "srun", SEES.format(seen=json.dumps(seen | sees)))
    found = cli.ok("host", "check", "cluster")
    check = next(one for one in found["checks"] if one["name"] == name)
    assert check["status"] == status
    assert (advice is None) == ("advice" not in check) and (advice or "") in check.get("advice", "")
    assert found["healthy"] == (status != "fail")


def batch_script(cli: Cli, job: str, **env: str) -> tuple[int, str]:
    """Run what Slurm runs for a job, and return its status and what it says."""
    program = "import sys; from outlive.parts.hosts.slurm.inside_allocation import main; sys.exit(main(*sys.argv[1:]))"
    words = [sys.executable, "-c", program, str(cli.root), job]
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("option", "says"),
    [("--env-file=given", "reading the env file {path}"), ("--stdin=@given", "opening {path} for the job's stdin")],
)
def test_a_file_that_a_node_does_not_see_is_named_and_nothing_runs(
    cli: Cli, programs: Path, work: Path, option: str, says: str
) -> None:
    (work / "given").touch()
    job = cli.ok("run", "--host", "cluster", option, "touch ran")["job_id"]
    (work / "given").unlink()
    told = f"outlive: while {says.format(path=work / 'given')}: No such file or directory\n"
    assert batch_script(cli, job) == (1, told)
    assert not (work / "ran").exists()


def test_a_script_that_slurm_starts_again_runs_nothing_and_the_events_tell_of_it(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--wait", "echo run >> ran")["job_id"]
    said = batch_script(cli, job, SLURM_RESTART_COUNT="1")
    assert said == (1, "outlive: the job is exited; a command is never run twice\n")
    (event,) = [one for one in cli.ok("events", job)["events"] if one["type"] == "requeued"]
    assert event["state"] == "REQUEUED"
    assert (work / "ran").read_text(encoding="utf-8") == "run\n"
