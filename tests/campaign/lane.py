"""A lane: a job root in which one job after the other is started, and what that needs besides the command line."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign import jobs
from campaign.grounds import Grounds
from campaign.jobs import Files
from campaign.plan import KILL_LAUNCHER, Act, JobPlan
from outlive.system import fault_points
from support import on_ssh, processes, slurm, sshd
from support.cli import Cli, Text, one_object
from support.jobs import job_ids
from support.mcp_client import RawMcp
from support.mounts import Mounts
from support.wait import until

DISK_MIB = 3
_START_S = 120.0
_SLOW_LINK = Path(__file__).with_name("slow_link.py")


@dataclass(frozen=True)
class Started:
    """What came of a start: its answer, empty if its process died first; whether that was a kill of ours."""

    answer: dict[str, Any]
    died: bool = False
    killed: bool = False


class Lane:
    """Jobs on this machine, started by the command line."""

    def __init__(self, grounds: Grounds, name: str) -> None:
        self.grounds, self.name = grounds, name
        self.root = grounds.place / "roots" / name
        self.work = grounds.place / "work" / name
        for path in (self.root, self.work):
            path.mkdir(parents=True, mode=0o700)
        shutil.copy(jobs.PROGRAM, self.work)
        self.cli = Cli(self.root)

    def env(self, files: Files, **more: str) -> dict[str, str | None]:
        """Return the environment of a call: its clock, and where our processes put tracebacks and say where they died."""
        return self.grounds.env(
            self.root, **{"CAMPAIGN_CLOCK": str(files.clock), fault_points.REPORT: str(files.crashes)}, **more
        )

    def call(self, files: Files, *words: str) -> dict[str, Any]:
        """Return the object of a call, an error too."""
        with self.grounds.gate.call():
            return self.cli.run(*words, env=self.env(files), cwd=self.work, timeout=240).json

    @contextlib.contextmanager
    def spawned(self, files: Files, *words: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
        with (
            self.grounds.gate.call(),
            self.cli.spawn(*words, env=self.env(files, **env), cwd=self.work) as process,
        ):
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def start(self, plan: JobPlan, files: Files, act: Act | None) -> Started:
        """Start a job. `act` may be the death of the process that does it, or of a process that it makes."""
        words = ["run", "--snapshot-after", "0", *jobs.options(plan, files), "--", *jobs.command(plan, files)]
        crash = {fault_points.VARIABLE: act.point} if act is not None and act.point else {}
        killed = False
        with self.spawned(files, *words, **crash) as process:
            if act is not None and act.name == KILL_LAUNCHER:
                time.sleep(act.after_ms / 1000)
                killed = process.poll() is None
                process.kill()
            stdout, stderr = process.communicate(timeout=_START_S)
        answer = one_object(Text(process.returncode, stdout.decode(), stderr.decode())) if stdout else {}
        return Started(answer, died=process.returncode < 0, killed=killed)

    def ids(self) -> set[str]:
        return job_ids(self.root)

    def close(self) -> list[str]:
        """End what belongs to the lane. Return what it has left where no job is any more."""
        return []


class DiskLane(Lane):
    """Jobs whose root is a small file system of its own."""

    def __init__(self, grounds: Grounds, name: str) -> None:
        super().__init__(grounds, name)
        self._mounts = Mounts(self.root.parent)
        self._mounts(name, f"size={DISK_MIB}m,mode=700")

    def close(self) -> list[str]:
        self._mounts.close()
        return []


class McpLane(Lane):
    """Jobs that a server starts, which is killed with its fork server now and then."""

    def __init__(self, grounds: Grounds, name: str) -> None:
        super().__init__(grounds, name)
        self._server: RawMcp | None = None
        self._clock = Files.below(self.work, "server")

    def server(self) -> RawMcp:
        """Return a server that lives, and holds its code."""
        if self._server is None:
            with self.grounds.gate.call():
                raw = RawMcp(log=self.work / "mcp.log", env=self.env(self._clock), cwd=self.work)
                self._server = raw.__enter__()
                raw.start()
                until(lambda: processes.descendants(raw.pid), what="the fork server, right before the code is held")
                raw.request("tools/list")
        return self._server

    def start(self, plan: JobPlan, files: Files, act: Act | None) -> Started:
        told = self.server().call("exec", command=jobs.command(plan, files), background=True, workdir=str(self.work))
        return Started(told.result)

    def kill_server(self, how: int) -> int:
        """Kill the server: alone, with its group, or with all that is below it. Return how many processes that were."""
        if self._server is None:
            return 0
        count = 1 if how != 2 else 1 + len(processes.descendants(self._server.pid))
        (self._server.kill, self._server.kill_group, self._server.kill_tree)[how]()
        self.close()
        return count

    def close(self) -> list[str]:
        if self._server is not None:
            self._server.__exit__(None, None, None)
            self._server = None
        return []


class SshLane(Lane):
    """Jobs on a machine behind sshd, over a link that delays what it carries, and loses it now and then."""

    def __init__(self, grounds: Grounds, name: str) -> None:
        super().__init__(grounds, name)
        self.machine = sshd.Machine(grounds.place)
        delayed = f"ProxyCommand={sys.executable} -IS {_SLOW_LINK} %h %p"
        section = on_ssh.CONFIG.format(config=self.machine.config, python=sys.executable)
        text = section.replace('"-F", ', f'"-o", "{delayed}", "-F", ')
        _configure(grounds, text)
        (self.machine.home / "work").mkdir()

    def close(self) -> list[str]:
        try:
            with contextlib.suppress(AssertionError):
                until(lambda: not self.machine.jobs(), what="nothing is left there", timeout=60)
            return [f"{path} is left on the other machine" for path in self.machine.jobs()]
        finally:
            self.machine.close()


class SlurmLane(Lane):
    """Jobs on a cluster of two nodes."""

    def __init__(self, grounds: Grounds, name: str) -> None:
        super().__init__(grounds, name)
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(slurm.only_one())
        self.cluster = slurm.Cluster(grounds.place / "cluster")
        self._stack.callback(self.cluster.close)
        _configure(grounds, '[hosts.cluster]\nkind = "slurm"\ncaller_options = true\n')

    def env(self, files: Files, **more: str) -> dict[str, str | None]:
        return super().env(files, **more) | self.cluster.env

    def close(self) -> list[str]:
        left = self.cluster.run("squeue", "-h", "-t", "PD,R")
        self._stack.close()
        return [f"Slurm still has {line.strip()}" for line in left.splitlines()]


def _configure(grounds: Grounds, section: str) -> None:
    path = grounds.home / ".config/outlive/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(section)


OF_LANE: dict[str, type[Lane]] = {
    "local": Lane, "disk": DiskLane, "mcp": McpLane, "ssh": SshLane, "slurm": SlurmLane,
}  # fmt: skip
