"""A job that is started inside a job: neither the end of the outer one nor its supervisors' takes it along."""

from __future__ import annotations

import sys
from pathlib import Path

from support import pair
from support.cli import Cli
from support.wait import until

INNER = "run --snapshot-after 0 --title inner"


def _nested(cli: Cli, rest: str) -> tuple[str, str]:
    """(outer, inner): the inner job was started by the outer one's command, which goes on with `rest`."""
    inner = f"{sys.executable} -m outlive {INNER} 'echo in; until [ -e go ]; do sleep 0.1; done; echo done; exit 8'"
    outer = cli.ok("run", "--snapshot-after", "0", f"{inner} && {rest}")["job_id"]
    found = until(
        lambda: [job["job_id"] for job in cli.ok("list", "--all")["jobs"] if job["name"] == "inner"],
        what="the inner job",
    )
    return outer, found[0]


def test_a_job_started_inside_a_job_survives_the_kill_of_the_outer_one(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "sleep 60")
    cli.ok("wait", inner, "--until", "output", "--timeout-ms", "50s")
    killed = cli.ok("kill", outer)
    assert (killed["state"], killed["reason"], killed["survivors"]) == ("killed", "kill", [])
    pair.until_free(cli.root, outer)
    assert cli.ok("status", inner)["state"] == "running"
    assert pair.supervisor(inner)
    (work / "go").touch()
    ended = cli.ok("wait", inner, "--timeout-ms", "50s")
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 8, "in\ndone\n")


def test_a_job_started_inside_a_job_does_not_keep_the_outer_one_lingering(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "exit 2")
    ended = cli.ok("wait", outer, "--timeout-ms", "50s")
    assert (ended["exit_code"], ended["descendants"]) == (2, 0)
    pair.until_free(cli.root, outer)
    assert cli.ok("status", inner)["state"] == "running"
    (work / "go").touch()
    assert cli.ok("wait", inner, "--timeout-ms", "50s")["exit_code"] == 8


def test_the_supervisors_of_both_may_be_killed(cli: Cli, work: Path) -> None:
    outer, inner = _nested(cli, "until [ -e go ]; do sleep 0.1; done; exit 2")
    pair.end(pair.supervisor(outer))
    pair.end(pair.supervisor(inner))
    for job in (outer, inner):
        assert cli.ok("status", job)["state"] == "running"
    (work / "go").touch()
    assert cli.ok("wait", outer, "--timeout-ms", "50s")["exit_code"] == 2
    assert cli.ok("wait", inner, "--timeout-ms", "50s")["exit_code"] == 8
    pair.until_free(cli.root, outer)
    pair.until_free(cli.root, inner)
