"""Tracebacks of our own processes, in the directory of the job that they worked for.

A process that ends by an exception writes `fault-<process>.txt`: what a bug report needs.
<process> is supervisor, guardian, fork-server, cursor (the fork that looks for a terminal's
cursor) or gc (a supervisor that deletes what the configuration does not keep). Of each only the
newest is kept. The event `fault` is told by the process that holds the job's lock then.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from outlive import __version__, errors
from outlive.core.units import timestamp
from outlive.store import atomic_file, history
from outlive.store.job_dir import FAULT, JobDir
from outlive.system.fds import DIRECTORY

_FACTS = ("process", "at", "error")
_TRACE_BYTES, _ERROR_CHARS = 32_768, 400
_MOST = 20  # reports that are read; there are five kinds of processes


def write(job: JobDir, process: str, error: BaseException) -> None:
    """Record why a process of ours ends. Never raises: the job is what counts."""
    try:
        kernel = os.uname()
        facts = {
            "process": process,
            "at": timestamp(),
            "error": " ".join(f"{type(error).__name__}: {error}".split())[:_ERROR_CHARS],
            "pid": os.getpid(),
            "outlive": __version__,
            "python": sys.version.replace("\n", " "),
            "kernel": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        }
        head = "".join(f"{name}: {value}\n" for name, value in facts.items())
        text = head.encode("utf-8", "replace") + b"\n" + _trace(error)
        atomic_file.write_atomic(job.fd, f"{FAULT}{process}.txt", text, promised=False)
    except Exception:  # noqa: BLE001 - a full disk, a directory that was deleted, no memory
        return


def write_for(root: str, job_id: str, process: str, error: BaseException) -> None:
    """Record it in the directory of a job that this process has not open, if that is still
    there. Never raises."""
    with suppress(OSError), JobDir(root, job_id, os.open(os.path.join(root, job_id), DIRECTORY)) as job:
        write(job, process, error)


def read(job: JobDir) -> list[dict[str, str]]:
    """Return `process`, `at`, `error` and the `path` of each report, the oldest first."""
    faults = []
    for name in job.fault_names()[:_MOST]:
        try:
            head = atomic_file.read(job.fd, name, 2 * _TRACE_BYTES).partition(b"\n\n")[0].decode("utf-8", "replace")
        except OSError:
            continue
        facts = dict(line.partition(": ")[::2] for line in head.splitlines())
        if all(fact in facts for fact in _FACTS):
            faults.append({fact: facts[fact] for fact in _FACTS} | {"path": os.path.join(job.path, name)})
    return sorted(faults, key=lambda fault: fault["at"])


def cause(job: JobDir) -> str:
    """Return a clause about the newest traceback of a supervisor or guardian, "" if there is none:
    a process that ended so was not killed."""
    faults = [fault for fault in read(job) if fault["process"] in ("supervisor", "guardian")]
    if not faults:
        return ""
    newest = faults[-1]
    return f"its {newest['process']} failed with {newest['error']} ({os.path.basename(newest['path'])} has more)"


def unrecorded(job: JobDir) -> list[dict[str, Any]]:
    """Return the content of the `fault` events that the history does not have yet."""
    if not job.fault_names():
        return []
    known = [
        (event.get("process"), str(event["at"])) for event in history.recorded(job, history.FAULT) if "at" in event
    ]
    return [
        {"process": fault["process"], "error": fault["error"], "file": os.path.basename(fault["path"])}
        for fault in read(job)
        if not any(process == fault["process"] and at >= fault["at"] for process, at in known)
    ]


def _trace(error: BaseException) -> bytes:
    text = errors.traceback_of(error).encode("utf-8", "replace")
    half = _TRACE_BYTES // 2
    return text if len(text) <= 2 * half else text[:half] + b"\n...\n" + text[-half:]
