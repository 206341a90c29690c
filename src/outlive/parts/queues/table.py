"""The slots of a queue and the line for them: a file that all job roots of a user share, on whose bytes jobs hold locks of
the kernel.

Bytes 0 to 1,023 are slots. Each has a line that says which job was given it, and when. A slot is taken as long as the lock
of its byte is held, which supervisor and guardian do until nothing of the job lives; after that as long as a process of the
job lives. So a SIGKILL of both frees no slot whose command runs, and none is taken for ever.

A job in line holds the lock of its ticket, a byte far behind the slots: for each priority there is a range, the highest
first, and in it a byte for each microsecond since the boot. So the first lock is that of the job whose turn it is; the line
needs no counter, and there is nothing in it that could be spoilt, or left by a process that was killed. No lock is waited
for: a stopped process keeps none that others need, but its place. A process that lets go of a lock changes the times of the file,
and the kernel closes it for a process that is killed: it wakes the first jobs in line then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from outlive.core.ids import ID_CHARS, is_id
from outlive.core.record import Value
from outlive.parts.queues.asked import MOST_SLOTS, PRIORITIES
from outlive.system import locks, process, tree

VARIABLE = "OUTLIVE_SLOTS"  # in the environment of a job: NAME=SLOT:OWNER:JOB of each queue that it is in
_LINE_BYTES = 64
_FIRST_TICKET = 1 << 20
_TICKETS = 1 << 53  # of a priority: 285 years
_EMPTY = b"".ljust(_LINE_BYTES, b"\n")


class Line(Value):
    """What the file says of a slot. ("", 0) for a free slot."""

    job_id: str = ""
    since: int = 0  # Unix seconds

    @classmethod
    def read(cls, data: bytes) -> Line:
        """What another program has spoilt counts as nothing."""
        job_id, _, since = data.split(b"\n", 1)[0].decode("ascii", "replace").partition(" ")
        is_number = since.isascii() and since.isdigit() and len(since) < _LINE_BYTES - ID_CHARS
        return cls(job_id, int(since)) if is_id(job_id) and is_number else cls()

    def to_bytes(self) -> bytes:
        return f"{self.job_id} {self.since}\n".encode().ljust(_LINE_BYTES, b"\n")


class Slot(Value):
    """A slot that a job was given, which those that are started inside of it share."""

    number: int
    owner: str  # id of the job


class Table(locks.LockFile):
    """The open file of a queue."""

    # --- the line ---

    def join(self, priority: int, before: int | None = None) -> int:
        """Join the line, and return the ticket. `before`: the ticket that a process had which was killed: that place again,
        if it is one of this priority."""
        first = _FIRST_TICKET + (PRIORITIES[-1] - priority) * _TICKETS
        is_known = before is not None and first <= before < first + _TICKETS
        ticket = (
            before if before is not None and is_known else first + time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        )
        while not locks.take(self.fd, ticket):
            ticket += 1
        return ticket

    def leave(self, ticket: int) -> None:
        locks.free(self.fd, ticket)
        self._tell()

    def ahead(self, ticket: int, most: int = MOST_SLOTS) -> int:
        """Return how many jobs are in line before the one with this ticket; at most `most` are counted."""
        return sum(1 for _ in zip(range(most), locks.held_by_others(self.fd, _FIRST_TICKET, ticket), strict=False))

    def tickets(self) -> list[int]:
        """Return the tickets of the jobs in line, the next one first."""
        return sorted(locks.held_by_others(self.fd, _FIRST_TICKET, _FIRST_TICKET + len(PRIORITIES) * _TICKETS))

    def length(self) -> int:
        """Return how many jobs are in line."""
        return len(self.tickets())

    # --- the slots ---

    def line(self, slot: int) -> Line:
        return Line.read(os.pread(self.fd, _LINE_BYTES, slot * _LINE_BYTES))

    def taken(self) -> list[Line]:
        """Return the lines of the slots whose locks are held."""
        return [self.line(slot) for slot in locks.held_by_others(self.fd, 0, MOST_SLOTS)]

    def take(self, slots: int, job_id: str) -> Slot | None:
        """Take one of so many slots; None if none is free. Errors: OSError."""
        if len(self.taken()) >= slots:  # more than there are, if there were more before
            return None
        return next((Slot(slot, job_id) for slot in range(slots) if self._take(slot, job_id)), None)

    def _take(self, slot: int, job_id: str) -> bool:
        had = self.line(slot)
        # The lock is not tried meanwhile: a process that takes over for the job that has the slot would find it held
        if locks.is_held(self.fd, slot) or (had.job_id not in ("", job_id) and _lives(had.job_id)):
            return False
        if not locks.take(self.fd, slot):
            return False
        if self.line(slot) != had:  # another job has come meanwhile, and may have gone
            locks.free(self.fd, slot)
            return False
        os.pwrite(self.fd, Line(job_id, int(time.time())).to_bytes(), slot * _LINE_BYTES)
        locks.share(self.fd, slot)  # with the jobs that are started inside of this one
        return True

    def share(self, slot: Slot) -> bool:
        """Hold a slot together with the job that was given it, or with what is left of that; return False if it is over."""
        if not locks.share(self.fd, slot.number):
            return False
        # Whatever the line says while the lock is held stays so. A slot that was let go of has another line, or none
        if self.line(slot.number).job_id == slot.owner:
            return True
        locks.free(self.fd, slot.number)
        return False

    def free(self, slot: Slot) -> None:
        """Let go of a slot, whichever processes have the file open too."""
        # The last one that holds it empties the line: nothing has to be looked for then before the slot is taken again
        if locks.take(self.fd, slot.number):
            os.pwrite(self.fd, _EMPTY, slot.number * _LINE_BYTES)
        locks.free(self.fd, slot.number)
        self._tell()

    def _tell(self) -> None:
        """Wake the jobs in line that watch the file."""
        try:
            os.utime(self.fd)
        except OSError:  # a full disk; they look at intervals too
            return


def _lives(owner: str) -> bool:
    """Return whether any process lives of the job that was given a slot, or of those that were started inside of it."""
    if tree.with_cookie(owner):
        return True
    for pid in process.pids():
        values = dict(word.split(b"=", 1) for word in tree.environment(pid) if b"=" in word)
        job = values.get(tree.COOKIE.encode(), b"").decode("latin-1")
        if any(
            slot.owner == owner and of == job
            for slot, of in _slots(values.get(VARIABLE.encode(), b"").decode("latin-1"))
        ):
            return True
    return False


# --- the variable ---


def slot_within(text: str, queue: str) -> Slot | None:
    """Return the slot of a queue that a job has with this variable in its environment."""
    entry = next((one for one in text.split() if one.startswith(f"{queue}=")), "")
    return next((slot for slot, _ in _slots(entry)), None)


def with_slot(text: str, queue: str, slot: Slot, job_id: str) -> str:
    """Return the variable of a job in a slot. `text`: that of the job that it was started inside of."""
    others = [one for one in text.split() if not one.startswith(f"{queue}=")]
    return " ".join([*others, f"{queue}={slot.number}:{slot.owner}:{job_id}"])


def _slots(text: str) -> Iterator[tuple[Slot, str]]:
    """Yield each slot, and the id of the job that it is said of."""
    for entry in text.split():
        number, _, ids = entry.rpartition("=")[2].partition(":")
        owner, _, job_id = ids.partition(":")
        if number.isascii() and number.isdigit() and len(number) < 5 and int(number) < MOST_SLOTS and is_id(owner):
            yield Slot(int(number), owner), job_id
