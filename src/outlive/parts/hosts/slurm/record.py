"""`engine.json` of a job that Slurm has."""

import json
from collections.abc import Mapping

from outlive.core.ids import sha256
from outlive.core.record import Record
from outlive.core.records import EngineState, HostQueue, Machine

NAME = "slurm"
HIDDEN = "_OUTLIVE_"  # before the name of a variable that no program reads until the job itself is started


def digest_of(variables: Mapping[str, str]) -> str:
    """Return a digest of the variables that a call gives, from which none of them can be read."""
    return sha256(json.dumps(sorted(variables.items())).encode())


class SlurmRecord(Record, omitted=("decided", "unreachable_since", "node", "machine", "ended_seen")):
    """What is needed to reach the job again, and what Slurm said of it last."""

    kind: str = NAME
    host: str = ""
    python: str = ""
    programs: str | None = None  # the directory of Slurm's programs; None: on PATH
    engine: EngineState = EngineState(name=NAME)
    queue: HostQueue = HostQueue()
    submitted: int | float = 0.0  # Unix seconds
    waits: bool = False  # Slurm has it wait for other jobs
    request: dict[str, object] = {}  # members of a request that the configuration of its caller decided
    decided: str | None = None  # digest of its variables, if some are in env files, where a gate let it start
    unreachable_since: str | None = None
    node: str | None = None  # where its batch script runs
    machine: Machine | None = None
    ended_seen: int | float | None = None  # Unix seconds: when Slurm was first heard to say that it has ended
