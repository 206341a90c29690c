"""What is said of a job that waits in a queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.answers import advice
from outlive.core.record import Value
from outlive.core.units import counted, size
from outlive.part import Inspection, Look, OfJob, Said
from outlive.parts.queues import MEMORY, SLOTS, asked, checks, room
from outlive.parts.queues.answers import InLine, InList, Queued, Standing
from outlive.parts.queues.asked import Asked
from outlive.parts.queues.table import Table


class Wait(Value):
    """How a job waits."""

    queue: Asked
    position: int  # 1 is next
    running: int  # slots that are taken
    lacking: str  # one of LACKS


class InQueue(OfJob):
    def check(self) -> None:
        checks.require(self.definition)

    def facts(self) -> Iterable[tuple[str, str]]:
        try:
            queue = asked.of_job(self.definition)
        except ValueError:  # a start of it is refused
            return
        if queue is not None:
            yield "Queue", queue.name if not queue.priority else f"{queue.name}, priority {queue.priority}"

    def described(self, look: Look) -> Said | None:
        wait = wait_of(look.inspection)
        if wait is None:
            return None
        queued = Queued(
            name=wait.queue.name,
            position=wait.position,
            slots=wait.queue.slots,
            running=wait.running,
            reason=wait.lacking,
        )
        return Said(InLine(queued=queued), advice.told(advice.WAITS, _sentence(wait)))

    def entry_of(self, inspection: Inspection) -> InList | None:
        wait = wait_of(inspection)
        return None if wait is None else InList(queued=Standing(name=wait.queue.name, position=wait.position))


def wait_of(inspection: Inspection) -> Wait | None:
    """Return how a job waits; None if it does not, or that cannot be seen."""
    ticket = asked.place(inspection.state).ticket
    if inspection.state.state != "created" or ticket is None:
        return None
    try:
        queue = asked.of_job(inspection.definition)
        table = None if queue is None else Table.read(queue.table)
    except (OSError, ValueError):
        return None
    if queue is None or table is None:
        return None
    try:
        running = table.taken()
        return Wait(queue, table.ahead(ticket) + 1, len(running), room.lacking(queue, running) or SLOTS)
    finally:
        table.close()


def when(queue: Asked, lacking: str) -> str:
    """Return when jobs of a queue start, of which the next one lacks memory or a lower load."""
    if lacking == MEMORY:
        return f"when {size(queue.memory_free or 0)} of memory are available for each"
    return f"while the load is below {queue.load:g} for each core"


def _sentence(wait: Wait) -> str:
    queue = wait.queue
    place = "next in line" if wait.position == 1 else f"number {wait.position} in line"
    if wait.lacking != SLOTS:
        return f"It waits in the queue {queue.name}, {place}: its jobs start {when(queue, wait.lacking)}."
    runs = "runs" if wait.running == 1 else "run"
    return f"It waits for a slot of the queue {queue.name}: {place}, {counted(wait.running, 'job')} {runs}."


def why_not_started(answer: Mapping[str, object]) -> str:
    """Return for what the job of an answer waits."""
    return "it waits in a queue"
