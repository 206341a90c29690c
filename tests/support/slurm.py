"""A real Slurm cluster: Debian's daemons, and two nodes with hosts, process, mount and network namespaces of their own.

`Cluster` needs root. Everything it starts ends with it: the nodes' namespaces have no names, so they go when their last
process does, and with them their ends of the links.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import stat
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from support import debian, networks, processes
from support.wait import until

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "iproute2")
NODES = ("outlive1", "outlive2")
_PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "munged", "ip", "unshare", "nsenter")
_START_S = 180.0

CONF = """
ClusterName=outlive{number}
SlurmctldHost={hostname}({address})
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/{tracking}
TaskPlugin=task/{tasks}
GresTypes=gpu
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
{gathering}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
ReturnToService=2
TreeWidth=65533
KillWait=4
OverTimeLimit=0
MessageTimeout=10
SlurmdTimeout=8
SlurmctldTimeout=10
MinJobAge=300
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/%n.log
SlurmctldDebug=info
SlurmdDebug=info
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=200 PriorityTier=1 State=UP
PartitionName=first Nodes=ALL MaxTime=INFINITE DefMemPerCPU=200 PriorityTier=10 PreemptMode=OFF State=UP
"""

# With control groups and without them. Slurm without them samples what the processes of a job use
WITH = {"tracking": "cgroup", "tasks": "cgroup", "gathering": ""}
WITHOUT = {"tracking": "linuxproc", "tasks": "none", "gathering": "JobAcctGatherParams=OverMemoryKill"}
# Device files without a driver stand for GPUs: what is proven is which job gets which, not what it computes
GPUS_A_NODE = 2
GPUS = "Name=gpu File={place}/gpu[0-{last}]\n"
_MAJOR = 240  # for local use (devices.txt of the kernel)
# What Slurm needs of version 1 of the kernel's control groups. Cores are not limited: a node has more than the machine
CONTROLLERS = ("devices", "freezer", "memory")
CONTROL_GROUPS = """
CgroupPlugin=cgroup/v1
ConstrainDevices=yes
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
"""
# A node is put into groups of its own first, and sees none above them
JOIN = """
set -e
for one in {controllers}; do
    mkdir -p /sys/fs/cgroup/$one/{group}
    echo $$ >/sys/fs/cgroup/$one/{group}/cgroup.procs
done
exec "$@"
"""
MOUNT_GROUPS = """
mount -t tmpfs none /sys/fs/cgroup
for one in {controllers}; do
    mkdir /sys/fs/cgroup/$one
    mount -t cgroup -o $one none /sys/fs/cgroup/$one
done
"""

# What becomes process 1 of a node: its own host name, machine id and boot id, and one daemon
NODE = """
set -e
hostname {name}
mount --make-rprivate /
echo {machine} > {place}/{name}.machine-id
echo {boot} > {place}/{name}.boot-id
mount --bind {place}/{name}.machine-id /etc/machine-id
mount --bind {place}/{name}.boot-id /proc/sys/kernel/random/boot_id
{groups}
# The kernel lets a sandbox mount /proc only where one is visible of which nothing is hidden
mkdir -p {place}/{name}.proc
mount -t proc proc {place}/{name}.proc
ip link set lo up
until [ -e {place}/{name}.linked ]; do sleep 0.1; done
ip link set {link}n name eth0
ip addr add {address}/30 dev eth0
ip link set eth0 up
ip route add default via {gateway}
ready=1
while :; do slurmd -D -f {place}/slurm.conf || :; echo "slurmd ended: $?" >> {place}/{name}.ended; sleep 0.2; done
"""


def missing() -> str | None:
    """Return why no cluster can be started here; None if one can. As root, install Debian's packages where that works."""
    if os.geteuid() != 0:
        return "a cluster of namespaces needs root"
    lacking = debian.lacking(_PROGRAMS, PACKAGES)
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt-get install {' '.join(PACKAGES)})"
    tried = subprocess.run(
        ["unshare", "-n", "-m", "-p", "-u", "-f", "--mount-proc", "true"], capture_output=True, check=False
    )
    return None if tried.returncode == 0 else f"no namespaces: {tried.stderr.decode().strip()}"


def without_groups() -> str | None:
    """Return why no cluster here can have control groups; None if one can."""
    lacking = [name for name in CONTROLLERS if not Path(f"/sys/fs/cgroup/{name}/tasks").exists()]
    return f"no control groups of version 1: {', '.join(lacking)}" if lacking else None


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other worker of the tests has a cluster, and keep it so. A wait of minutes: it is none of the time
    that a test may take (TEST_S in tests/conftest.py)."""
    with Path(__file__).open("rb") as lock:
        left_s = signal.alarm(0)
        fcntl.flock(lock, fcntl.LOCK_EX)
        signal.alarm(left_s)
        yield


class Daemon:
    """A process that is no child of the tests', and has nothing of the directory of a test open."""

    def __init__(self, words: list[str], out: IO[bytes], env: dict[str, str]) -> None:
        script = 'cd /; "$@" </dev/null >&3 2>&3 3>&- & echo $!'
        shell = ["sh", "-c", f"exec 3>&2; {script}", "sh", *words]
        done = subprocess.run(shell, stdout=subprocess.PIPE, stderr=out, stdin=subprocess.DEVNULL, env=env, check=True)
        self.pid = int(done.stdout)

    def kill(self) -> None:
        processes.kill(self.pid)
        until(lambda: not processes.is_alive(self.pid), what=f"{self.pid} is dead")


class Node:
    """One node: the process that is its process 1, as seen from outside."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.name = NODES[number]
        self._cluster = cluster
        self._link = f"{cluster.network.link}x{number}"
        low = 4 * (number + 1)
        self.gateway, self.address = (f"{cluster.network.addresses}.{low + end}" for end in (1, 2))
        self.group = f"{self._link}.{self.name}"
        self.process: Daemon | None = None

    def start(self) -> None:
        place = self._cluster.place
        (place / f"{self.name}.linked").unlink(missing_ok=True)
        script = NODE.format(
            name=self.name, place=place, machine=uuid.uuid4().hex, boot=uuid.uuid4(), link=self._link,
            address=self.address, gateway=self.gateway, groups=self._cluster.fill(MOUNT_GROUPS),
        )  # fmt: skip
        words = ["unshare", "-n", "-m", "-p", "-u", "-f", "--kill-child", "--mount-proc", "sh", "-c", script]
        if self._cluster.control_groups:
            words[1:1] = ["-C"]
            words[:0] = ["sh", "-c", self._cluster.fill(JOIN, group=self.group), "sh"]
        with (place / f"{self.name}.out").open("ab") as out:
            self.process = Daemon(words, out, self._cluster.daemon_env)
        first = until(self._first, what=f"{self.name} has a process 1", timeout=_START_S)
        _run("ip", "link", "add", self._link, "type", "veth", "peer", "name", f"{self._link}n", "netns", str(first))
        _run("ip", "addr", "add", f"{self.gateway}/30", "dev", self._link)
        _run("ip", "link", "set", self._link, "up")
        (place / f"{self.name}.linked").touch()

    def _first(self) -> int | None:
        """Return the pid of its process 1, once that is in its own network namespace."""
        assert self.process is not None
        with contextlib.suppress(OSError):
            for pid in _children(self.process.pid):
                if os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net"):
                    return pid
        return None

    def pids(self, name: str) -> list[int]:
        """Return the processes of the node with this command name."""
        first = self._first()
        if first is None:
            return []
        space = os.readlink(f"/proc/{first}/ns/pid")
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (
                    os.readlink(entry / "ns/pid") == space
                    and (entry / "comm").read_text().strip().split(" ")[0] == name
                ):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def pids_with(self, name: str, job_id: str) -> list[int]:
        """Return the processes of the node whose command name begins with `name` and that hold files of this job."""
        return [pid for pid in self.pids(name) if job_id in _open_files(pid)]

    def run(self, *words: str) -> None:
        """Run a program among the node's mounts and processes."""
        first = self._first()
        assert first is not None
        _run("nsenter", f"--target={first}", "--mount", "--pid", *words)

    def kill(self) -> None:
        """End the whole node at once, as if its power were cut."""
        if self.process is None:
            return
        first = self._first()
        if first is not None:
            processes.kill(first)
        self.process.kill()
        self.process = None
        subprocess.run(["ip", "link", "del", self._link], capture_output=True, check=False)
        for controller in CONTROLLERS if self._cluster.control_groups else ():
            for folder, _, _ in os.walk(f"/sys/fs/cgroup/{controller}/{self.group}", topdown=False):
                until(lambda folder=folder: _is_removed(folder), what=f"{folder} is empty")


class Cluster:
    """A running cluster. Close it."""

    def __init__(self, place: Path, *, control_groups: bool = False, cpus: int = 8, memory_mb: int = 8000) -> None:
        """`control_groups`: Slurm keeps processes, memory and devices of a job by them, as most clusters have it."""
        self.place = place
        self.control_groups = control_groups
        place.mkdir(parents=True, exist_ok=True)
        (place / "state").mkdir()
        self.network = networks.Network("ol", 200)
        # The controller's, which no node takes with it
        self.address = f"{self.network.addresses}.1"
        _run("ip", "addr", "add", f"{self.address}/32", "dev", "lo")
        self.nodes = [Node(self, number) for number in range(len(NODES))]
        self.conf = place / "slurm.conf"
        self.env = {"SLURM_CONF": str(self.conf)}
        self.daemon_env = {
            name: value for name, value in os.environ.items() if not name.startswith("OUTLIVE_")
        } | self.env
        lines = [
            f"NodeName={node.name} NodeAddr={node.address} CPUs={cpus} RealMemory={memory_mb} Gres=gpu:{GPUS_A_NODE} State=UNKNOWN"
            for node in self.nodes
        ]
        text = CONF.format(
            number=self.network.number, hostname=os.uname().nodename, address=self.address, place=place,
            port=20_000 + self.network.number, slurmd_port=31_000 + self.network.number, **(WITH if control_groups else WITHOUT),
        )  # fmt: skip
        self.conf.write_text(text + "\n".join(lines) + "\n")
        for number in range(GPUS_A_NODE):
            os.mknod(place / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(_MAJOR, number))
        (place / "gres.conf").write_text(GPUS.format(place=place, last=GPUS_A_NODE - 1))
        (place / "cgroup.conf").write_text(CONTROL_GROUPS)
        self.munge: Daemon | None = None
        self.controller: Daemon | None = None
        try:
            self._start_munge()
            for node in self.nodes:
                node.start()
            self.start_controller()
            until(self.is_ready, what="the nodes are idle", timeout=_START_S)
        except BaseException:
            self.close()
            raise

    def _start_munge(self) -> None:
        key = self.place / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"key-file": "key", "log-file": "log", "pid-file": "munge-pid", "seed-file": "seed", "socket": "socket"}
        words = [f"--{flag}={self.place}/munge.{end}" for flag, end in files.items()]
        with (self.place / "munge.out").open("ab") as out:
            self.munge = Daemon(["munged", "--foreground", "--force", *words], out, self.daemon_env)
        until((self.place / "munge.socket").exists, what="munged listens", timeout=_START_S)

    def fill(self, script: str, **values: str) -> str:
        """Return a script with the control groups of this cluster in it; "" if it uses none."""
        return script.format(controllers=" ".join(CONTROLLERS), **values) if self.control_groups else ""

    def start_controller(self) -> None:
        """Start slurmctld."""
        with (self.place / "slurmctld.out").open("ab") as out:
            self.controller = Daemon(["slurmctld", "-D", "-f", str(self.conf)], out, self.daemon_env)

    def kill_controller(self) -> None:
        if self.controller is not None:
            self.controller.kill()
            self.controller = None

    def save(self, job_id: str) -> None:
        """Wait until the controller has written down what it knows of a running job, by Slurm's own id. One that is
        killed within seconds of a start takes the job for a waiting job, and starts it again."""
        self.run("scontrol", "update", f"jobid={job_id}", "comment=outlive-saved")
        state = self.place / "state/job_state"
        until(lambda: b"outlive-saved" in state.read_bytes(), what="the controller has saved the job", timeout=_START_S)

    def is_ready(self) -> bool:
        return self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split() == ["idle"] * len(self.nodes)

    def run(self, *words: str) -> str:
        """Return what one of Slurm's programs prints; "" if it fails."""
        done = subprocess.run(
            words, env={**os.environ, **self.env}, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout if done.returncode == 0 else ""

    def mend(self) -> None:
        """Have everything up again that a test has killed."""
        if self.controller is None:
            self.start_controller()
        for node in self.nodes:
            if node.process is None:
                node.start()
        if not self.is_up():
            for node in self.nodes:
                self.run("scontrol", "update", f"nodename={node.name}", "state=resume")
        until(self.is_up, what="the nodes are up", timeout=_START_S)

    def is_up(self) -> bool:
        states = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split()
        return len(states) == len(self.nodes) and set(states) <= {"idle", "mixed", "allocated", "completing"}

    def pids_of(self, job_id: str) -> list[int]:
        """Return every process on any node that has the job's cookie."""
        cookie = f"OUTLIVE_JOB_ID={job_id}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if cookie in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def engine_state(self, job_id: str) -> str:
        """Return Slurm's word for a job, by Slurm's own id."""
        found = re.search(r"JobState=(\w+)", self.run("scontrol", "show", "job", job_id))
        return found[1] if found else ""

    def close(self) -> None:
        self.run("scancel", "--user=root", "--signal=KILL")
        for node in self.nodes:
            node.kill()
        self.kill_controller()
        subprocess.run(["ip", "addr", "del", f"{self.address}/32", "dev", "lo"], capture_output=True, check=False)
        if self.munge is not None:
            self.munge.kill()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(Path(f"/sys/class/net/{node._link}").exists() for node in self.nodes):
            time.sleep(0.05)
        self.network.close()


def _is_removed(folder: str) -> bool:
    with contextlib.suppress(OSError):
        Path(folder).rmdir()
    return not Path(folder).exists()


def _open_files(pid: int) -> str:
    try:
        return " ".join(os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return ""


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=120)
