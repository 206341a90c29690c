"""The slot of a job: waited for before its command is spawned, and held as long as anything of it lives."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.parts.queues import QUEUE, asked, room
from outlive.parts.queues.asked import Asked, PlaceInQueue
from outlive.parts.queues.table import VARIABLE, Slot, Table, slot_within, with_slot
from outlive.supervisor.added import Added, Running, Waiting
from outlive.supervisor.event_loop import EventLoop, Timer
from outlive.system import fault_points, prctl

_HELD = "queues_table"  # in escrow
_NEAR = 8  # so many in line have the kernel wake them: it does so for few files of a user
_AGAIN_S = 0.02  # after such an event they look once more: it may come right before a lock is gone
# How often a job in line looks whatever happens, and without such events: so often for each place
_LOOK_S, _PLACE_S = 1.0, 0.1


class QueueOfJob(Added):
    """What is done for the place of one job in its queue."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._asked: Asked | None = None
        self._table: Table | None = None
        self._place = PlaceInQueue()
        self._waiting: Waiting | None = None
        self._timer: Timer | None = None
        self._events = -1  # the file that is readable when a slot or a place may be free; -1: there is none
        self._pids: Callable[[], list[int]] | None = None

    # --- in line ---

    def wait(self, waiting: Waiting) -> bool:
        try:
            self._asked = wanted = asked.of_job(self.definition)
        except ValueError as error:
            raise OSError(0, str(error)) from error
        if wanted is None:
            return False
        self._table = table = Table.opened(wanted.table)
        before = asked.place(waiting.state())
        # A process that takes over for a caller which died has the environment of another
        within = waiting.request.environment.get(VARIABLE, "") if before.within is None else before.within
        outer = slot_within(within, wanted.name)
        if outer is not None and table.share(outer):
            self._place = PlaceInQueue(slot=outer.number, owner=outer.owner, within=within)
            return False
        ticket = table.join(wanted.priority, before.ticket)
        fault_points.at("queue_joined")
        self._place = PlaceInQueue(ticket=ticket, since=before.since or timestamp(), within=within)
        if self._take():
            return False
        waiting.note(QUEUE, self._place.to_dict())
        self._waiting = waiting
        self._timer = waiting.loop.timer(self._look)
        self._timer.after(0)
        return True

    def _look(self) -> None:
        waiting = self._waiting
        assert waiting is not None
        assert self._timer is not None
        try:
            before = self._ahead(_NEAR)
            if before < _NEAR and self._events < 0:
                self._watch(waiting.loop)
            if self._take():
                waiting.go()
                return
        except OSError as error:
            waiting.fail("launch", f"while taking a slot of the queue: {error.strerror}")
            return
        self._timer.after(_LOOK_S if self._events >= 0 else _PLACE_S * (before + 1))

    def _watch(self, loop: EventLoop) -> None:
        assert self._asked is not None
        try:
            self._events = prctl.watch(self._asked.table)
        except OSError:  # it looks by the clock
            return
        loop.read(self._events, self._woken)

    def _woken(self) -> None:
        assert self._timer is not None
        os.read(self._events, 4096)
        self._look()
        if self._timer.is_set:  # it waits still
            self._timer.after(_AGAIN_S)

    def _take(self) -> bool:
        """Take a slot if it is this job's turn, one is free and the machine has room. Errors: OSError."""
        table, wanted = self._table, self._asked
        assert table is not None
        assert wanted is not None
        if self._ahead(1) or room.lacking(wanted, table.taken()) is not None:
            return False
        slot = table.take(wanted.slots, self.definition.job_id)
        if slot is None:
            return False
        fault_points.at("queue_taken")
        self._leave()
        self._place = PlaceInQueue(slot=slot.number, owner=slot.owner, within=self._place.within)
        return True

    def _ahead(self, most: int) -> int:
        assert self._table is not None
        assert self._place.ticket is not None
        return self._table.ahead(self._place.ticket, most)

    def _leave(self) -> None:
        if self._table is not None and self._place.ticket is not None:
            self._table.leave(self._place.ticket)

    def end_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._events >= 0:
            assert self._waiting is not None
            self._waiting.loop.forget(self._events)
            os.close(self._events)
            self._events = -1
        self._leave()

    # --- in a slot ---

    def begin(self, state: State) -> State:
        if self._asked is None:
            return state
        return State.replace(state, kept={**state.kept, QUEUE: self._place.to_dict()})

    def held(self) -> Mapping[str, int]:
        return {} if self._table is None else {_HELD: self._table.fd}

    def taken(self, state: State, held: Mapping[str, int]) -> None:
        try:
            self._asked = wanted = asked.of_job(self.definition)
            self._place = asked.place(state)
            slot = self._slot()
            if wanted is not None:
                self._table = Table(held[_HELD]) if _HELD in held else Table.opened(wanted.table)
                if slot is not None and _HELD not in held:
                    self._table.share(slot)
        except (OSError, ValueError):  # the command runs, and its slot is its own as long as its processes live
            return

    def environment(self, state: State) -> Mapping[str, str]:
        place, slot = asked.place(state), self._slot()
        if self._asked is None or slot is None:
            return {}
        return {VARIABLE: with_slot(place.within or "", self._asked.name, slot, self.definition.job_id)}

    def discard(self) -> None:
        self._free()

    def running(self, job: Running) -> None:
        self._pids = job.pids

    def ended(self, state: State) -> State:
        # Before the outcome is visible: a caller that waited for it may start the next job at once. What the command left
        # behind keeps the slot until this process, which sees it to its end, has ended too
        if self._pids is not None and not self._pids():
            self._free()
        return state

    def _slot(self) -> Slot | None:
        place = self._place
        return None if place.slot is None or place.owner is None else Slot(place.slot, place.owner)

    def _free(self) -> None:
        slot = self._slot()
        if self._table is not None and slot is not None:
            self._table.free(slot)
        self._place = PlaceInQueue()


ADDED = QueueOfJob
