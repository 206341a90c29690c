"""The engine for hosts of kind slurm.

A job is one sbatch of a fixed script, whose name is the job's id. Guardian and supervisor run in
the allocation (inside_allocation.py), on the same job directory, so everything that only reads works as for a
job of this machine. What Slurm says counts where they left no outcome.
"""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import outlive
from outlive.core.records import Definition, Ending, EngineState, HostQueue, State
from outlive.core.units import seconds_or, timestamp
from outlive.errors import OutliveError, argument, from_os, invalid
from outlive.jobs.starting import gate
from outlive.launch import configured
from outlive.launch.engine import Caller, Engine, Finding, Host, Start
from outlive.parts import resources
from outlive.parts.hosts.slurm import checks, dependency, options, programs, snapshot, verdict
from outlive.parts.hosts.slurm.record import HIDDEN, NAME, SlurmRecord, digest_of
from outlive.parts.resources import Resources
from outlive.store import history
from outlive.store.inspection import handed_over, unseen_end
from outlive.store.inspection.inspect import inspect_job
from outlive.store.inspection.inspection import Inspection
from outlive.store.inspection.unseen_end import write_end
from outlive.store.job_dir import JobDir, Locks
from outlive.supervisor.request import Request
from outlive.system import fault_points, fds, own_programs, tree
from outlive.system.interpreter import isolated

LOG = "engine.log"  # what the batch script says before the supervisor has started
_SUBMIT_S = 60.0  # a busy controller lets sbatch wait
_SETTLE_S = 5.0  # a shared file system may show an outcome later than Slurm shows the end
_SUPERVISED_AGE_S = 60.0  # how old Slurm's word may be while the job's lock is held
_SERVER_WAIT_S = 1.0
_REMEMBERED_S = 240.0  # Slurm forgets jobs after 300 s (MinJobAge, slurm.conf(5))
_SCRIPT = os.path.join(outlive.DIRECTORY, "parts/hosts/slurm/inside_allocation.sh")
_WARN_S = 30  # before the time limit, at least; Slurm sends the signal up to a minute earlier (sbatch(1))
_MINUTE_MS = 60_000
_LOG_BYTES = 65_536
# In what sbatch says of a refusal that may be none later
_PASSING = ("controller", "timed out", "did not answer", "temporarily", "communication")
# What sbatch says of a job that no node has room for, even an empty one
_TOO_MUCH = ("configuration is not available", "can not be satisfied", "generic resource", "processors requested")
# Reasons of squeue(1) that no waiting ends
_NEVER = frozenset(
    "PartitionConfig PartitionNodeLimit PartitionTimeLimit BadConstraints InvalidAccount InvalidQOS "
    "DependencyNeverSatisfied".split()
)
_OWN_BYTES = 64 * 1024**2  # guardian and supervisor count as parts of the job


class SlurmEngine(Engine):
    """Jobs in the queue of a Slurm cluster."""

    tells_use = ("usage",)  # a step for each status would burden the controller

    def check(self, host: Host, definition: Definition) -> None:
        programs.path("sbatch", host.settings.programs)
        if definition.masked_env:
            names = ", ".join(definition.masked_env)
            hint = f"Put the values into a file that the nodes see, and name it with {argument('env_file')}."
            message = f"{names} cannot be masked on {host.name}: Slurm writes the environment of a job to its controller's disk"
            raise OutliveError("not_supported", message, hint=hint)
        if definition.stdin == "caller":
            hint = f"Use {argument('stdin_data')}, a file, or {argument('stdin')} open and write."
            raise OutliveError("not_supported", f"the stdin of this command does not reach {host.name}", hint=hint)
        wanted = resources.of_job(definition) or Resources()
        if wanted.options and not host.settings.caller_options:
            hint = f"caller_options = true in [hosts.{host.name}] of the configuration lets them."
            raise OutliveError("denied", f"calls may not give options for {host.name}", hint=hint)
        others = self.beside_command(definition)
        if definition.sandbox is not None and others:
            message = f"{others[0]} may have Slurm run, read or write something outside of the sandbox"
            raise OutliveError(
                "denied", message, hint=f"In a sandbox a call may give: {', '.join(sorted(options.ALLOCATING))}."
            )
        cpus = wanted.cpus
        if cpus is not None and cpus != int(cpus):
            raise invalid("resources", f"Slurm gives whole processors: cpus is {math.ceil(cpus)}, not {cpus}")

    def beside_command(self, definition: Definition) -> Sequence[str]:
        return options.beside_command(definition)

    def holds(self, caller: Caller, host: Host, definition: Definition) -> bool:
        return dependency.can_hold(caller, host, definition)

    def submit(
        self, caller: Caller, host: Host, job: JobDir, start: Start, locks: Locks, *, awaited: bool = True
    ) -> socket.socket | None:
        definition = start.definition
        python = host.settings.python or sys.executable
        held = dependency.flags(caller, host, definition) if awaited else []  # else it has waited
        decided = configured.for_request(caller, definition, elsewhere=True)
        record = SlurmRecord(
            host=host.name,
            python=python,
            programs=host.settings.programs,
            queue=HostQueue(state="SUBMITTING", since=timestamp()),
            submitted=time.time(),
            waits=bool(held),
            decided=_decided(caller, start),
            request={name: value for name, value in Request(**decided).to_dict().items() if name in decided},
        )
        try:
            handed_over.write_synced(job, record)
        except OSError as error:
            raise from_os(f"writing {job.path}/{handed_over.ENGINE}", error, on="store") from error
        fault_points.at("host_recorded")
        # Slurm passes the environment on: with the cookie of an outer job, the kill of that one would end this one too
        # The job gets these all the same, when ours in the allocation has started
        hidden = own_programs.unsafe(caller.env)
        env = {name: value for name, value in caller.env.items() if name != tree.COOKIE and name not in hidden}
        env |= {f"{HIDDEN}{name}": value for name, value in hidden.items()}
        arguments = [*_flags(host, definition), *held, _SCRIPT, python, definition.root, job.job_id]
        try:
            status, printed, error_text = _sbatch([programs.path("sbatch", record.programs), *arguments], env, locks)
        except OutliveError:  # it did not even start
            handed_over.delete(job)
            raise
        engine_id = printed.strip().partition(";")[0]
        if status != 0 or not engine_id.isdigit():
            # It may have been half done. A script that starts all the same finds its job gone
            if _scancel(job, record):
                handed_over.delete(job)
            raise OutliveError(
                "launch_failed",
                f"Slurm did not take the job: {error_text or f'sbatch ended with {status}'}; nothing was run",
                retryable=any(word in error_text.lower() for word in _PASSING),
                hint=_hint(host, error_text),
            )
        fault_points.at("host_handed")
        known, queue = EngineState(name=NAME, job_id=engine_id), HostQueue.replace(record.queue, state="PENDING")
        try:
            handed_over.write(job, SlurmRecord.replace(record, engine=known, queue=queue))
        except OSError:  # a full disk: the next reader finds the job by its name
            return None
        history.record(job, history.SUBMITTED, host=host.name, engine=NAME, engine_job_id=engine_id)
        return None

    def resumed(self, caller: Caller, job: JobDir, inspection: Inspection) -> Inspection:
        record = handed_over.read_as(SlurmRecord, job)
        if record is None or (inspection.state.finished and not _is_worth_asking(record, inspection)):
            return inspection
        if record.engine.state not in verdict.OVER:
            is_held = inspection.supervised and not inspection.state.finished
            age_s = _SUPERVISED_AGE_S if is_held else snapshot.ASK_EVERY_S
            in_event_loop = threading.current_thread() is threading.main_thread()  # of a server, which waits not at all
            wait_s = snapshot.WAIT_S if caller.face == "cli" else 0.0 if in_event_loop else _SERVER_WAIT_S
            try:
                seen = snapshot.take(caller.store, record, max_age_s=age_s, wait_s=wait_s)
            except (OSError, OutliveError):
                seen = snapshot.Snapshot("", time.time())  # squeue did not run
            if seen is not None:
                record = _noted(job, record, seen, inspection)
        if record.waits and not dependency.is_waited_for(record) and inspection.state.state == "created":
            if not dependency.is_noted(inspection.state):
                dependency.note_over(job)
                inspection = inspect_job(job)
        if inspection.state.finished or record.engine.state not in verdict.OVER:
            return inspection
        # The outcome may have come to this machine after the first look
        inspection = inspect_job(job)
        if inspection.state.finished or abs(time.time() - (record.ended_seen or 0.0)) < _SETTLE_S:
            return inspection
        why = dependency.why_never(caller, inspection.definition, record.queue.reason) if record.waits else None
        if why == "":  # how the other job ended is found out in a moment
            return inspection
        return _judged(job, _recalled(job, record), inspection, why)

    def connect(self, job: JobDir) -> socket.socket:
        record = handed_over.read_as(SlurmRecord, job) or SlurmRecord()
        engine_id = record.engine.job_id
        if not engine_id:
            message = f"job {job.job_id} is not known to Slurm yet"
            raise OutliveError("io_error", message, retryable=True, hint="Try again.")
        here, there = fds.pair()
        words = [*isolated("outlive.parts.hosts.slurm.pump"), str(there.fileno())]
        words += [programs.path("srun", record.programs), engine_id, record.python]
        words += [os.path.dirname(job.path), job.job_id]
        told = fds.memory_file("known", json.dumps(own_programs.known().to_dict()).encode())
        try:
            subprocess.Popen(
                words,
                stdin=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=own_programs.of_ours(os.environ),
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            here.close()
            raise from_os("starting srun", error, on="process") from error
        finally:
            os.close(told)
            there.close()
        return here

    def cancelled(self, job: JobDir, inspection: Inspection, by: str) -> Inspection:
        record = handed_over.read_as(SlurmRecord, job) or SlurmRecord()
        try:
            locks = Locks(job)
        except BlockingIOError:  # it starts just now
            return inspect_job(job)
        except OSError as error:
            raise from_os(f"locking job {job.job_id}", error, on="store") from error
        locks.close()
        state: State | None = job.read_state()
        if state is not None and state.state == "created":
            ending = Ending(cause="kill", by=by, at=timestamp())
            message = "it was cancelled before it started; it never ran"
            ended = unseen_end.failed(inspection.definition, state, "kill", message, ending)
            # Written first: from here on its script would find it ended, and run nothing
            write_end(job, ended, inspection.definition)
            _scancel(job, record)
        return inspect_job(job)

    def forget(self, job: JobDir) -> None:
        """Have Slurm give up a job that is about to be deleted. Errors: none; a script that starts all
        the same finds its job gone."""
        record = handed_over.read_as(SlurmRecord, job) or SlurmRecord()
        if record.engine.state not in verdict.OVER:
            _scancel(job, record)

    def checked(self, caller: Caller, host: Host) -> list[Finding]:
        return checks.run(caller, host)

    def advice(self, reason: str | None) -> str | None:
        if reason not in _NEVER:
            return None
        return (
            "Slurm will not start it as it was submitted: kill it, and ask for what a partition gives (`sinfo` tells)."
        )


ENGINE = SlurmEngine()


def _decided(caller: Caller, start: Start) -> str | None:
    """Return a digest of the variables with which a gate let a job start, if some are in files, which the node reads anew.
    None of a job that was held back: the part that held it compares them itself."""
    is_decided = gate.decides(caller.config) and not gate.is_held(start.definition)
    return digest_of(start.overrides) if is_decided and start.definition.env_files else None


def _flags(host: Host, definition: Definition) -> list[str]:
    """Return the flags of sbatch that say what the job is given."""
    wanted = resources.of_job(definition) or Resources()
    warn_s = max(_WARN_S, math.ceil(definition.kill_after_ms / 1000))
    flags = [
        "--parsable",
        f"--job-name={definition.job_id}",
        "--no-requeue",  # a command is not repeatable
        "--export=ALL",
        "--chdir=/",
        f"--signal=B:TERM@{warn_s}",
        "--open-mode=append",
        f"--output={_escaped(os.path.join(definition.root, definition.job_id, LOG))}",
    ]
    if definition.timeout_ms:  # the supervisor keeps the exact limit, and Slurm's comes after it
        minutes = math.ceil((definition.timeout_ms + definition.kill_after_ms) / _MINUTE_MS) + 1
        flags.append(f"--time={minutes}")
    if wanted.cpus is not None:
        flags += ["--ntasks=1", f"--cpus-per-task={int(wanted.cpus)}"]
    if wanted.memory is not None:
        flags.append(f"--mem={math.ceil((wanted.memory + _OWN_BYTES) / 1024)}K")
    if wanted.gpus is not None:
        flags += ["--nodes=1", f"--gpus={wanted.gpus}"]  # else they may be spread over several nodes
    if wanted.nice:
        flags.append(f"--nice={wanted.nice * 100}")
    flags += host.settings.options or []
    for name, value in (wanted.options or {}).items():
        if value not in (False, "false"):
            flags.append(f"--{name}" if value in (True, "true") else f"--{name}={value}")
    return flags


def _escaped(path: str) -> str:
    """Return a path in which Slurm replaces nothing."""
    return path.replace("\\", "\\\\").replace("%", "%%")


def _sbatch(words: list[str], env: dict[str, str], locks: Locks) -> tuple[int, str, str]:
    """Run sbatch, which holds the job's locks too: if this process is killed, no reader looks for
    the job before sbatch has ended."""
    try:
        return programs.bounded("sbatch", words, timeout_s=_SUBMIT_S, env=env, pass_fds=locks.fds)
    except OSError as error:
        raise from_os("starting sbatch", error, code="launch_failed", on="process") from error


def _hint(host: Host, error: str) -> str:
    """Return what to do about a job that sbatch refused with this error."""
    if any(words in error for words in _TOO_MUCH) and (most := _most(host)):
        return f"Ask for less in `resources`: one node gives at most {most} (`sinfo -N` shows each)."
    return f"`outlive host check {host.name}` tells what is missing."


def _most(host: Host) -> str | None:
    """Return the most that a node of the cluster has, as members of `resources`."""
    try:
        status, printed, _ = programs.run("sinfo", host.settings.programs, "--noheader", "--Node", "--format=%c|%m|%G")
        nodes = [line.split("|") for line in printed.splitlines() if line.count("|") == 2]
        if status != 0 or not nodes:
            return None
        cpus, memory = (max(int(node[column].rstrip("+")) for node in nodes) for column in (0, 1))
        gpus = max(_gpus(node[2]) for node in nodes)
    except (OutliveError, ValueError):
        return None
    return f"cpus={cpus} memory={memory}M gpus={gpus}"


def _gpus(text: str) -> int:
    """Return how many GPUs are in a list of generic resources: gpu:a100:4(S:0-1),gpu:2,nic:1."""
    counts = [one.partition("(")[0].split(":") for one in text.replace("),", ")|").replace(",gpu", "|gpu").split("|")]
    return sum(int(words[-1]) for words in counts if words[0] == "gpu" and words[-1].isdigit())


def _is_worth_asking(record: SlurmRecord, inspection: Inspection) -> bool:
    """Return whether Slurm may still tell its word for the end of a job that has ended, and has not
    told it yet."""
    ended = seconds_or(inspection.state.finished_at, 0)
    return record.engine.state not in verdict.ENDED and time.time() - ended < _REMEMBERED_S


def _noted(job: JobDir, record: SlurmRecord, seen: snapshot.Snapshot, inspection: Inspection) -> SlurmRecord:
    """Return the record with what Slurm said last; write it if that is news."""
    if seen.failed is not None:
        after = SlurmRecord.replace(record, unreachable_since=record.unreachable_since or timestamp(seen.at))
    else:
        after = SlurmRecord.replace(record, unreachable_since=None)
        entry = seen.jobs.get(job.job_id)
        if entry is not None and not _is_old(entry, seen, inspection):
            after = _with_entry(after, entry)
        # A clock that was set back holds nothing up
        is_settled = abs(seen.at - record.submitted) > _SETTLE_S
        if entry is None and is_settled and not inspection.supervised and not inspection.state.finished:
            after = SlurmRecord.replace(after, engine=EngineState.replace(after.engine, state=verdict.FORGOTTEN))
        if after.engine.state in verdict.OVER and after.ended_seen is None:
            after = SlurmRecord.replace(after, ended_seen=time.time())
    if after != record:
        _write(job, record, after)
    return after


def _is_old(entry: snapshot.Entry, seen: snapshot.Snapshot, inspection: Inspection) -> bool:
    """Return whether Slurm said that a job waits before the job started."""
    return entry.state in verdict.WAITING and seen.at < seconds_or(inspection.state.started_at, seen.at)


def _with_entry(record: SlurmRecord, entry: snapshot.Entry) -> SlurmRecord:
    start = timestamp(entry.start) if entry.start is not None and entry.state in verdict.WAITING else None
    queue = HostQueue(state=entry.state, reason=entry.reason, since=record.queue.since, estimated_start=start)
    engine = EngineState.replace(record.engine, job_id=entry.job_id, state=entry.state)
    return SlurmRecord.replace(record, engine=engine, queue=queue)


def _write(job: JobDir, before: SlurmRecord, after: SlurmRecord) -> None:
    """Write what has changed in the record, and what is new in it into the history.

    Slurm may take seconds to answer. What another process has written meanwhile stays, such as what
    the batch script tells when it starts.
    """
    try:
        now, old = handed_over.read_as(SlurmRecord, job) or before, vars(before)
        changed = {name: value for name, value in vars(after).items() if value != old[name]}
        handed_over.write(job, SlurmRecord.replace(now, **changed))
        word = after.engine.state
        state = job.read_state()
        if word == before.engine.state or word not in verdict.WAITING or state is None or state.finished:
            return
        locks = Locks(job)  # a history has one writer
    except OSError:
        return
    try:
        history.record(job, history.QUEUED, state=word, reason=after.queue.reason)
    finally:
        locks.close()


def _recalled(job: JobDir, record: SlurmRecord) -> SlurmRecord:
    """Return the record; of a job that Slurm's controller has forgotten with the word of the
    accounting, where there is one."""
    if record.engine.state != verdict.FORGOTTEN:
        return record
    known = snapshot.end_of(job.job_id, record)
    if known is None:
        return record
    after = SlurmRecord.replace(record, engine=known)
    _write(job, record, after)
    return after


def _judged(job: JobDir, record: SlurmRecord, inspection: Inspection, why_never: str | None) -> Inspection:
    """End a job by what Slurm says, because no process of ours wrote an outcome. `why_never`: why it could not start, of one
    that waited for others."""
    word = record.engine.state or ""
    state = inspection.state
    started = state.state != "created"
    outcome, reason, message = verdict.of(word, started=started, accepted=bool(record.engine.job_id))
    if started and reason == "lost" and _is_over_memory(job):
        outcome, reason, message = verdict.of("OUT_OF_MEMORY", started=True)
    if not started and reason == "launch":
        said = programs.said(_log(job))  # what the batch script said before it ended
        message += f": {said}" if said else ""
    if not started and why_never is not None:
        reason, message = "dependency", why_never
    ending = Ending(cause="kill", by="engine", at=timestamp()) if reason == "kill" else None
    failed = unseen_end.failed(inspection.definition, state, reason, message, ending)
    ended = State.replace(failed, state=outcome, stdin="closed", waiting=None)
    event = (history.PREEMPTED, {"state": word}) if word == "PREEMPTED" else None
    written = write_end(job, ended, inspection.definition, event)
    return Inspection(inspection.definition, written, just_ended=True)


def _is_over_memory(job: JobDir) -> bool:
    """Return whether Slurm says in the log of the job that it ended it for its memory."""
    return any(b"slurmstepd" in line and (b"memory limit" in line or b"oom" in line) for line in _log(job).splitlines())


def _log(job: JobDir) -> bytes:
    try:
        with open(job.open_file(LOG), "rb") as file:
            return file.read(_LOG_BYTES)
    except OSError:
        return b""


def _scancel(job: JobDir, record: SlurmRecord) -> bool:
    """Cancel by the name alone, which no other job has. Slurm may give one number to two jobs, after
    its controller was killed. Return whether scancel is there to be asked."""
    try:
        programs.run("scancel", record.programs, f"--name={job.job_id}")
    except OutliveError:
        return False
    return True
