"""What parts of outlive note elsewhere of what a supervisor does, which knows none of them.

A part does for each job whose request has something for it (`for_supervisor`, part.py). Its module `in_supervisor` has
`NOTES`, a subclass of `Notes`, and is lean as the supervisor itself. It is loaded before the command is spawned
(large_code.py), or where a mirror begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from outlive import parts
from outlive.core.records import State
from outlive.supervisor.request import Request


class Notes:
    """What a part notes for one job. Each method does nothing by default, and raises nothing: the work goes on."""

    def __init__(self, given: dict[str, Any]) -> None:
        """`given`: what `for_supervisor` of the part returned."""

    def ended(self, job_id: str, state: State) -> None:
        """Note that the job has ended so. It is called in its supervisor, or in its mirror if it ran on another machine,
        after the end is on disk for good and before a sink is notified. A process that takes over there calls it again."""

    def deleted(self, root: str, job_id: str, bound: str) -> None:
        """Note that automatic gc deletes a job of this root because of this bound of [gc]. It is called in a supervisor
        whose own job is over, by any of its threads, right before the deletion."""


class AllNotes(Notes):
    """What all parts note for one job."""

    def __init__(self, each: Sequence[Notes]) -> None:
        super().__init__({})
        self.each = each

    def ended(self, job_id: str, state: State) -> None:
        for one in self.each:
            one.ended(job_id, state)

    def deleted(self, root: str, job_id: str, bound: str) -> None:
        for one in self.each:
            one.deleted(root, job_id, bound)


def of(request: Request) -> AllNotes:
    """Return what parts that are installed here note for the job of a request."""
    made: list[Notes] = []
    for name, given in request.parts.items():
        with suppress(ModuleNotFoundError):  # of a caller with another version of outlive; the job goes on
            made.append(import_module(parts.in_supervisor(name)).NOTES(given))
    return AllNotes(made)
