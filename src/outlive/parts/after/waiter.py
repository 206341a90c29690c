"""The process that looks at what a job waits for, until all of it holds or something of it never will.

It is a child of the job's supervisor, which starts it with an interpreter of its own: a supervisor keeps none of the code
that asks for ports, servers and lines of output. It ends with its supervisor, which starts another one if it is killed.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from outlive.core.ids import short_id
from outlive.core.members import parse_json
from outlive.core.quoted import one_line
from outlive.core.record import Record
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.conditions.condition import AwaitedEnd
from outlive.jobs.conditions.job_wait import JobWait, wait_for
from outlive.jobs.conditions.parse import parsed
from outlive.jobs.context import Context
from outlive.parts.after import own_process
from outlive.parts.after.asked import Edge
from outlive.store import fault_report
from outlive.system import fds, prctl
from outlive.system.known import Known

_OUT = 1


class Asked(Record):
    """What it is told by its supervisor, in the file that is its stdin."""

    supervisor: int = 0  # its pid
    root: str = ""
    job_id: str = ""
    environment: dict[str, str] = {}  # of the job
    config: str | None = None  # the file of the configuration of its caller
    known: Known = Known()  # what its caller knew of where jobs work
    edges: list[Edge] = []
    left: list[int] = []  # the numbers of the edges that are waited for


class Told(Record):
    """A line that it writes: which edges are left, or why the job never starts."""

    left: list[int] | None = None
    failed: str | None = None


def main() -> None:
    prctl.end_with_parent()
    asked = Asked.of(parse_json(fds.read_all(0)))
    if os.getppid() != asked.supervisor:  # it was killed before this process could ask to end with it
        return
    try:
        _look(
            own_process.context(asked.root, asked.environment, "wait", config=asked.config, known=asked.known),
            {number: asked.edges[number] for number in asked.left},
        )
    except Exception as error:
        if isinstance(error, OutliveError) and error.code == "job_not_found":
            _tell(Told(failed=f"what it waited for was deleted: {error.message}"))
            return
        fault_report.write_for(asked.root, asked.job_id, "waiter", error)
        raise


def _tell(told: Told) -> None:
    os.write(_OUT, json.dumps(told.to_dict()).encode() + b"\n")


def _look(ctx: Context, edges: dict[int, Edge]) -> None:
    """Wait until all holds, and tell each time that something does. Errors: job_not_found, io_error."""
    with _waits(ctx, edges) as waits:
        while waits:
            wait_for(ctx, [*waits.values()], began=time.monotonic(), limit=None)
            for number, one in list(waits.items()):
                if not one.is_over:
                    continue
                why = _why_never(edges[number], one)
                if why is not None:
                    _tell(Told(failed=why))
                    return
                del waits[number]
            _tell(Told(left=[*waits]))


@contextmanager
def _waits(ctx: Context, edges: dict[int, Edge]) -> Iterator[dict[int, JobWait]]:
    with ExitStack() as stack:
        waits: dict[int, JobWait] = {}
        for number, edge in edges.items():
            job = stack.enter_context(lookup.open_known(ctx.caller, edge.job))
            wanted = parsed(edge.until or ["exit"])
            waits[number] = wait = JobWait(ctx, job, wanted, output_since=0, match_since=0)
            stack.callback(wait.close)
        yield waits


def _why_never(edge: Edge, wait: JobWait) -> str | None:
    """Return why what is waited for can no longer come true, of a wait that is over; None if it has."""
    other = wait.found.definition
    if edge.exit is None:
        name = f"job {short_id(edge.job)} ({one_line(other.name)})"
        return f"it waited for {name}. {wait.hint() or 'It has ended.'}" if wait.in_vain else None
    return AwaitedEnd(edge.job, other.name, edge.exit).why_never(wait.found.state)
