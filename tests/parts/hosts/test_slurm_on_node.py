"""What is done on a node of Slurm, and what a reader does when nothing of ours is left there, with programs that stand for Slurm's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file, history
from parts.hosts.test_slurm_words import programs as programs  # noqa: PLC0414 - a fixture
from parts.hosts.test_slurm_words import sandboxes as sandboxes  # noqa: PLC0414 - a fixture
from support import processes
from support.cli import Cli
from support.fake_slurm import put
from support.wait import until

MAIN = "import sys; from outlive.parts.hosts.slurm.inside_allocation import main; sys.exit(main(*sys.argv[1:]))"
NAMED = "#!/bin/sh\nfor word; do case $word in --job-name=*) echo ${{word#*=}} > {place}/name;; esac; done\necho 7\n"
SAYS = "#!/bin/sh\nprintf '7|%s|OUT_OF_MEMORY|None|1790000000|N/A|\\n' \"$(cat {place}/name)\"\n"


def on_node(cli: Cli, job: str) -> subprocess.Popen[str]:
    """Run what Slurm runs for a job."""
    words = [sys.executable, "-c", MAIN, str(cli.root), job]
    return subprocess.Popen(words, env={**os.environ, "SLURM_JOB_ID": "7"}, stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("x", 'echo "evil $MODE" > got\n', "/x, which the command runs, has changed since it was asked about"),
        (".env", "MODE=production\n", "its env files have changed since it was asked about"),
        (".env", "MODE=staging\nLD_PRELOAD=x.so\n", "its env files have changed since it was asked about"),
        (None, "", None),
    ],
    ids=["a script", "a variable", "one more variable", "nothing"],
)
def test_what_changed_while_an_approved_job_was_in_the_queue_is_not_run(
    cli: Cli, programs: Path, work: Path, file: str | None, content: str, said: str | None
) -> None:
    config = programs.parent / "home/.config/outlive/config.toml"
    config.write_text('[policy]\ndefault = "ask"\n' + config.read_text(encoding="utf-8"), encoding="utf-8")
    (work / "x").write_text('echo "good $MODE" > got\n', encoding="utf-8")
    (work / ".env").write_text("MODE=staging\n", encoding="utf-8")
    words = ("--host", "cluster", "--snapshot-after", "0", "--env-file", ".env", "--notify-command", "touch told")
    job = cli.ok("run", *words, "--", "sh", "x")["job_id"]
    assert cli.ok("approve", job)["state"] == "created"
    if file is not None:
        (work / file).write_text(content, encoding="utf-8")
    on_node(cli, job).communicate()
    ended = cli.ok("wait", job)
    if said is None:
        assert (ended["state"], (work / "got").read_text()) == ("exited", "good staging\n")
        until((work / "told").exists, what="it is told of its end")
        return
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert said in ended["message"]
    (told,) = until(lambda: _of_type(cli, job, history.NOT_NOTIFIED), what="its notification")
    assert told["error"] == "not run: the start of its job was denied, and its notification commands with it"
    assert not {"got", "told"} & {path.name for path in work.iterdir()}


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize("content", ["TERM=xterm\nLD_PRELOAD=x.so\n", "TERM=xterm\n"])
def test_a_job_that_a_rule_allowed_gets_the_variables_that_it_was_allowed_with(
    cli: Cli, programs: Path, work: Path, content: str
) -> None:
    config = programs.parent / "home/.config/outlive/config.toml"
    rule = '[policy]\ndefault = "ask"\n[[policy.rule]]\nprefix = ["true"]\ndecision = "allow"\n'
    config.write_text(rule + config.read_text(encoding="utf-8"), encoding="utf-8")
    (work / ".env").write_text("TERM=xterm\n", encoding="utf-8")
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "--env-file", ".env", "--", "true")["job_id"]
    (work / ".env").write_text(content, encoding="utf-8")
    _, said = on_node(cli, job).communicate()
    if "LD_PRELOAD" in content:
        assert "the variables in .env changed after" in said.replace(f"{work}/", "")
        assert cli.ok("status", job)["state"] == "created"
    else:
        assert cli.ok("wait", job)["exit_code"] == 0


def _of_type(cli: Cli, job: str, kind: str) -> list[dict[str, Any]]:
    return [one for one in cli.ok("events", job)["events"] if one["type"] == kind]


@pytest.fixture
def named(programs: Path) -> Path:
    """Programs that say of the newest job that it took too much memory."""
    put(programs, "sbatch", NAMED.format(place=programs))
    return programs


@pytest.mark.usefixtures("sandboxes")
def test_what_a_job_left_whose_allocation_slurm_ended_as_a_whole_is_reported(cli: Cli, named: Path, work: Path) -> None:
    arms = "git init -q r; git -C r config core.fsmonitor ./x; echo {} > .mcp.json; touch armed; exec sleep 300"
    words = ("--host", "cluster", "--snapshot-after", "0", "--sandbox", "workspace-write")
    job = cli.ok("run", *words, arms)["job_id"]
    script = on_node(cli, job)
    until((work / "armed").exists, what="it has made them")
    # Slurm's KILL, for all of the allocation
    processes.kill(script.pid, *processes.descendants(script.pid))
    script.communicate()
    put(named, "squeue", SAYS.format(place=named))
    record = cli.root / job / "engine.json"
    found = until(lambda: _seen_long_ago(cli, job, record), what="Slurm's word is taken")
    assert (found["state"], found["reason"]) == ("killed", "oom")
    assert f"{work}/r/.git" in found["message"] and f"{work}/.mcp.json" in found["message"]
    (event,) = _of_type(cli, job, "workspace_changed")
    assert {one["kind"] for one in event["found"]} == {"armed", "settings"}
    assert (work / "r/.git").is_dir()  # nothing is renamed


def _seen_long_ago(cli: Cli, job: str, record: Path) -> dict[str, Any] | None:
    """Return a job that has ended; what Slurm said counts as if it had been said a while ago."""
    found = cli.ok("status", job)
    content = atomic_file.load(record.read_bytes())
    if content.get("ended_seen"):
        record.write_bytes(atomic_file.dump({**content, "ended_seen": 1.0}))
    return found if found["state"] != "running" else None
