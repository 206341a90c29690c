"""What a supervisor is told when it starts.

It travels in a memfd: an environment does not fit into a socket message, and must never touch the
disk.
"""

import json
import os
from typing import Any

from outlive.core.members import parse_json
from outlive.core.real_path import real_path
from outlive.core.record import Record
from outlive.core.records import Definition, Identity
from outlive.store import fault_report
from outlive.store.job_dir import JobDir
from outlive.system import fds
from outlive.system.known import Known


class Request(Record):
    """`mode` start: run the command; adopt: see a command to its end whose supervisor and guardian
    are dead.

    `environment` is what the job inherits, `overrides` what was given for it (env files, then env):
    notification commands get the first only.
    """

    mode: str = "start"
    root: str = ""
    job_id: str = ""
    definition: Definition = Definition()
    command: Identity | None = None  # adopt: the command, if the reader found it and nothing had written it down
    environment: dict[str, str] = {}
    overrides: dict[str, str] = {}
    stages: dict[str, str] = {}  # variables that have its shell write down how each stage of a pipeline ended
    masked: list[str] = []  # what is masked in the output: lines of the values of masked variables
    umask: int = 0o022
    sink_shell: list[str] = ["sh", "-c"]
    shell_path: str = ""  # of the shell of a job outside of a sandbox; "": it is looked up along the PATH of the job
    awaited: bool = False  # the caller waits for the end; if not, its answer is made while the command starts
    # Of a job of a host that waits here: the words of the process that gives it to its host then
    at_turn: list[str] = []
    created: bool = False  # by `create`: if nothing can be run it is created again, not failed
    own: list[str] = []  # files and directories of outlive besides the root: no notification goes there
    # What parts need to note something elsewhere (Notes in added.py), by their names
    parts: dict[str, dict[str, Any]] = {}
    housekeeping: dict[str, Any] | None = None  # what a part needs that works for other jobs when this one is over
    config: str | None = None  # the path of the file of the caller's configuration; None: there was none
    known: Known = Known()  # what processes that are started for the job later must know to run none of what jobs wrote

    def to_file(self) -> int:
        """Return an fd that holds this request."""
        # ASCII with escapes: names and values that are not UTF-8 are lone surrogates here and come
        # back as they were
        return fds.memory_file("request", json.dumps(self.to_dict(), ensure_ascii=True).encode())

    @classmethod
    def from_file(cls, fd: int) -> "Request":
        return cls.of(parse_json(fds.read_all(fd)))

    def inherited(self) -> dict[str, str]:
        """Return what the job inherits, with PWD as the directory that it runs in and without OLDPWD: programs believe
        both. Another name of the same directory stays: a person came there by it. Not where a policy decided about the
        directory: shells go by PWD, and links in it may lead elsewhere by then."""
        environment = dict(self.environment)
        environment.pop("OLDPWD", None)
        directory, known = self.definition.cwd, environment.get("PWD")
        if self.definition.sandbox is not None:  # which may not show the link that was given
            directory = real_path(directory)
        if (
            self.definition.cwd_id is not None
            or known is None
            or not os.path.isabs(known)
            or real_path(known) != directory
        ):
            environment["PWD"] = directory
        return environment

    def open_job(self) -> JobDir:
        """Open the directory of the job. Errors: OSError."""
        path = os.path.join(self.root, self.job_id)
        return JobDir(self.root, self.job_id, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def report_fault(request: "Request | None", process: str, error: Exception) -> None:
    """Leave a traceback in the directory of the job that a process of ours worked for. Never raises."""
    if request is not None:
        fault_report.write_for(request.root, request.job_id, process, error)
