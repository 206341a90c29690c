"""What `host check` looks for on a Slurm cluster: programs, controller, and what a node sees.

A short job (srun) looks from a node: whether the interpreter has outlive, whether the root is the
same directory there, whether locks reach from machine to machine, and, if jobs there run in a
sandbox, whether one can be set up. Nodes may differ; a job finds out at its start.
"""

from __future__ import annotations

import json
import os
import secrets
import sys

from outlive import __version__
from outlive.errors import OutliveError
from outlive.launch.engine import Caller, Finding, Host
from outlive.parts.hosts import findings
from outlive.parts.hosts.findings import finding
from outlive.parts.hosts.slurm import look, programs
from outlive.parts.hosts.slurm.look import Look
from outlive.parts.sandbox.settings import sandbox_of
from outlive.system import interpreter, locks, machine, own_programs

_LOOK_S = 30.0
_FREE_S = 15  # how long a node may take to be free
_BYTE = 0


def run(caller: Caller, host: Host) -> list[Finding]:
    """Return the findings, in the order in which one needs the other."""
    try:
        checks = [_programs(host)]
    except OutliveError as error:
        return [finding("programs", "fail", error.message, error.hint)]
    controller = _controller(host)
    checks.append(controller)
    if controller["status"] == "fail":
        return checks
    return [*checks, *_node(caller, host), _tracking(host)]


def _programs(host: Host) -> Finding:
    for name in programs.NEEDED:
        programs.path(name, host.settings.programs)
    _, version, _ = programs.run("sinfo", host.settings.programs, "--version")
    return finding("programs", "ok", f"{version.strip() or 'slurm'}: {', '.join(programs.NEEDED)} are here.")


def _controller(host: Host) -> Finding:
    status, printed, error = programs.run("sinfo", host.settings.programs, "--noheader", "--format=%P|%a|%D|%T")
    if status != 0:
        advice = "Start slurmctld, or set SLURM_CONF for the process that runs outlive (`scontrol ping` tells more)."
        return finding("controller", "fail", f"Slurm's controller does not answer: {error}", advice)
    lines = [line.split("|") for line in printed.splitlines() if line.count("|") == 3]
    nodes = sum(int(line[2]) for line in lines if line[2].isdigit() and line[3].rstrip("*") in ("idle", "mixed"))
    names = ", ".join(dict.fromkeys(line[0] for line in lines))
    return finding("controller", "ok", f"It answers; partitions: {names}; nodes with room: {nodes}.")


def _tracking(host: Host) -> Finding:
    """Say whether Slurm finds every process of a job, however that has detached itself."""
    _, printed, _ = programs.run("scontrol", host.settings.programs, "show", "config")
    kind = next((line.rpartition("=")[2].strip() for line in printed.splitlines() if "ProctrackType" in line), "")
    if kind == "proctrack/cgroup":
        return finding("processes", "ok", "Slurm ends every process of a job (proctrack/cgroup).")
    advice = "ProctrackType=proctrack/cgroup in slurm.conf has Slurm end them."
    text = f"Slurm may lose processes that detach themselves if a job's supervisor is killed ({kind or 'unknown'})."
    return finding("processes", "warn", text, advice)


def _node(caller: Caller, host: Host) -> list[Finding]:
    """Look from a node."""
    python = host.settings.python or sys.executable
    name = f".check-{secrets.token_hex(8)}"
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=caller.store.fd)
    try:
        locks.take(fd, _BYTE)
        words = [f"--immediate={_FREE_S}", "--ntasks=1", "--nodes=1", "--time=1", "--chdir=/", "--quiet"]
        words += [*(host.settings.options or []), *interpreter.words(python, "-EP", "outlive.parts.hosts.slurm.look")]
        words += [caller.store.path, name, json.dumps(own_programs.known().to_dict())]
        if findings.is_sandboxed(caller.config, host.name):
            words.append(sandbox_of(caller.config).bwrap or look.ANY)
        status, printed, error = programs.run("srun", host.settings.programs, *words, timeout_s=_LOOK_S)
    finally:
        os.close(fd)
        os.unlink(name, dir_fd=caller.store.fd)
    try:
        seen = json.loads(printed) if status == 0 else None
    except (ValueError, RecursionError):
        seen = None
    # Another program may have answered
    if not isinstance(seen, dict) or Look.misfit(seen) is not None:
        return [_unlooked(host, python, error)]
    there = Look.of(seen)
    checks = [_outlive(python, there), _root(caller, there), _locks(there)]
    if there.sandbox is not None:
        checks.append(findings.of_sandbox(f"on node {there.node}", there.sandbox))
    return checks


def _unlooked(host: Host, python: str, error: str) -> Finding:
    if "llocate" in error or "did not answer" in error:
        why = f"No node was free within {_FREE_S} s, so nothing was looked at from one: {error}"
        return finding("node", "warn", why, "Check again when a node is free.")
    advice = (
        f"{python} with outlive must be on every node, for example in a virtual environment on the shared file "
        f"system; name it: python in [hosts.{host.name}]."
    )
    return finding("node", "fail", f"A node cannot run outlive: {error or 'it said nothing'}", advice)


def _outlive(python: str, there: Look) -> Finding:
    where = f"{python} on node {there.node} has outlive {there.version}"
    if there.version == __version__:
        return finding("node", "ok", f"{where}.")
    advice = f"Install outlive {__version__} there, in its checkout or from its wheel: `{python} -m pip install .`."
    return finding("node", "warn", f"{where}; here is {__version__}.", advice)


def _root(caller: Caller, there: Look) -> Finding:
    if there.root:
        return finding("root", "ok", f"The job root {caller.store.path} is the same directory on node {there.node}.")
    advice = "Choose a job root on the file system that the nodes share: --root or OUTLIVE_ROOT."
    return finding("root", "fail", f"Node {there.node} does not see the job root {caller.store.path}.", advice)


def _locks(there: Look) -> Finding:
    if not there.root:
        return finding("locks", "warn", "Not looked at: the root is not shared.")
    if there.locked:
        alike = there.machine == machine.here().id
        if not alike or there.boot_id == machine.here().boot_id:
            return finding("locks", "ok", "Locks reach from machine to machine.")
        advice = "Set OUTLIVE_MACHINE to another name on each, or make /etc/machine-id unique (machine-id(5))."
        return finding("locks", "warn", "Locks reach, but two machines have the same machine id.", advice)
    advice = "Mount it so that locks reach all machines (nfs(5): no nolock; lustre: -o flock), or start jobs from one machine."
    text = "Locks do not reach other machines: what Slurm says is all that tells whether a job is looked after."
    return finding("locks", "warn", text, advice)
