"""A cluster as a test uses it: with a command line whose configuration names it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.system import tree
from support import slurm
from support.cli import Cli
from support.wait import until

SOON_S = 180.0  # other slow tests load the machine meanwhile


def started(*, control_groups: bool = False) -> Iterator[slurm.Cluster]:
    """The body of a fixture: a cluster for the tests of a module. Skips them where none can be."""
    why = slurm.missing() or (slurm.without_groups() if control_groups else None)
    if why is not None:
        pytest.skip(why)
    with slurm.only_one():
        place = Path(tempfile.mkdtemp(prefix="slurm-"))
        found = slurm.Cluster(place / "cluster", control_groups=control_groups)
        try:
            yield found
        finally:
            found.close()
            shutil.rmtree(place)


def used(cluster: slurm.Cluster, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """The body of a fixture: the cluster for one test. It is whole before, and empty after."""
    for name, value in cluster.env.items():
        monkeypatch.setenv(name, value)
    cluster.mend()
    yield Slurm(cluster, cli, place)
    cluster.mend()
    cluster.run("scancel", "--user=root")
    until(lambda: not cluster.run("squeue", "-h", "-t", "PD,R,CG"), what="the queue is empty", timeout=SOON_S)


class Slurm:
    """The cluster as a test uses it, with a configuration that names it."""

    def __init__(self, cluster: slurm.Cluster, cli: Cli, place: Path) -> None:
        self.cluster = cluster
        self.cli = cli
        self.place = place
        self._config = place / "home/.config/outlive/config.toml"
        self._config.parent.mkdir(parents=True, exist_ok=True)
        self.configure()

    def configure(self, more: str = "") -> None:
        text = f'[hosts.cluster]\nkind = "slurm"\ncaller_options = true\n{more}\n'
        self._config.write_text(text, encoding="utf-8")

    def wrap(self, name: str, script: str) -> None:
        """Put a script in the place of one of Slurm's programs."""
        programs = self.place / "programs"
        programs.mkdir()
        for one in ("sbatch", "squeue", "scancel", "srun", "sinfo", "scontrol"):
            (programs / one).symlink_to(str(shutil.which(one)))
        (programs / name).unlink()
        (programs / name).write_text(script.format(program=shutil.which(name), place=self.place))
        (programs / name).chmod(0o755)
        self.configure(f'programs = "{programs}"')

    def run(self, *words: str, **how: Any) -> dict[str, Any]:
        return self.cli.ok("run", "--host", "cluster", *words, **how)

    def start(self, *words: str) -> dict[str, Any]:
        """Start a job, and return its status once it runs."""
        job = self.run("--snapshot-after", "0", *words)["job_id"]
        return self.until(job, lambda found: found["state"] == "running", "it runs")

    def until(self, job: str, holds: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found = self.cli.ok("status", job)
            return found if holds(found) else None

        found = until(look, what=what, timeout=SOON_S)
        assert found is not None
        return found

    def ended(self, job: str) -> dict[str, Any]:
        return self.until(job, lambda found: found["state"] not in ("created", "running"), "it has ended")

    def events(self, job: str) -> list[str]:
        return [event["type"] for event in self.cli.ok("events", job)["events"]]

    def state(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.cli.root / job / "state.json").read_text())
        return found

    def pair(self, job: str) -> tuple[int, int]:
        """Return guardian and supervisor of a job, as pids of this test's namespace."""

        def look() -> list[int]:
            nodes = self.cluster.nodes
            found = {name: [pid for node in nodes for pid in node.pids_with(name, job)] for name in names}
            return [pids[-1] for pids in found.values() if pids]

        names = (tree.GUARDIAN, tree.SUPERVISOR)
        guardian, supervisor = until(lambda: found if len(found := look()) == 2 else [], what="both", timeout=SOON_S)
        return guardian, supervisor

    def node_of(self, job: str) -> slurm.Node:
        """Return the node that a job runs on."""
        name = self.state(job)["machine"]["name"]
        return next(node for node in self.cluster.nodes if node.name == name)
