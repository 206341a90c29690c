"""What a supervisor is told when it starts. Travels in a memfd: an environment does not fit into a socket message, and
must never touch the disk.
"""

from __future__ import annotations

from outlive import fastjson
from outlive.core.records import Record
from outlive.system import fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Request(Record):
    """`mode` start: run the command. adopt: see a running command to its end whose supervisors are dead.

    `environment` is what the job inherits, `overrides` what was given for it (env files, then env): notification
    commands get the first only.
    """

    FIELDS: ClassVar[dict[str, Any]] = {
        "mode": "start",
        "root": "",
        "job_id": "",
        "definition": {},
        "command": None,  # adopt: the identity of the command, if the reader found it and nobody had written it down
        "environment": {},
        "overrides": {},
        "umask": 0o022,
        "sink_shell": ["sh", "-c"],
        "created": False,  # by `create`: if nothing can be run it is created again, not failed
        "bounds": None,  # what of finished jobs is to be kept (store/cleanup/policy.py), as the caller's configuration has it
    }

    def to_file(self) -> int:
        """An fd that holds this request."""
        # ASCII with escapes: names and values that are not UTF-8 are lone surrogates here and come back as they were
        return fds.memory_file("request", fastjson.dumps(self.to_dict(), ensure_ascii=True).encode())

    @classmethod
    def from_file(cls, fd: int) -> Request:
        return cls.of(fastjson.loads(fds.read_all(fd)))
