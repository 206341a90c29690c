"""Find the values of masked variables in the logs (store/output/masks.py), in all forms in which a reader may see them
(store/output/forms.py).

The logs keep what the job printed. A reader masks it, by the places that are recorded here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from outlive.store.job_dir import LOGS, MASKS, JobDir
from outlive.store.output import forms
from outlive.store.output.masks import HEADER, PAIR, Mask, joined
from outlive.system.fds import Closing

_BLOCK = 1 << 16
_LEAST_BYTES = 4  # of a value without its control characters: less is found everywhere


class Masking:
    """Searches both logs for `values`. Call `look` when there is new output, before a reader is told of it."""

    def __init__(self, job: JobDir, values: list[str]) -> None:
        """Continue where the last supervisor stopped. Errors: OSError."""
        known: set[bytes] = set()
        for value in values:
            known |= forms.forms(value, forms.WIDE if value.isascii() else forms.SEARCHED)
        self._searches = [_Search(job, stream, sorted(known)) for stream in range(len(LOGS))]

    def look(self, sizes: list[int], *, final: bool = False) -> None:
        """Search what was appended. `final`: a part of a value at the end is not going to be
        completed, so it is no value."""
        for search, size in zip(self._searches, sizes, strict=True):
            search.look(size, final=final)

    def shown(self, stream: int, offset: int, data: bytes) -> bytes:
        """Return bytes of a log, which begin at `offset`, as readers see them."""
        return self._searches[stream].shown(offset, data)

    def close(self) -> None:
        for search in self._searches:
            search.close()


class _Search:
    def __init__(self, job: JobDir, stream: int, values: list[bytes]) -> None:
        self._job = job
        self._stream = stream
        self._values = values
        longest = max(map(len, values))
        # A value is not longer, with what is dropped within it: a block has more than that
        self._reach = 4 * longest + forms.MOST_BYTES
        self._block = max(_BLOCK, 2 * self._reach)
        self._fd = job.open_file(MASKS[stream], os.O_RDWR | os.O_CREAT)
        header = os.pread(self._fd, HEADER.size, 0)
        self._searched, known = HEADER.unpack(header) if len(header) == HEADER.size else (0, 0)
        self._longest = max(longest, known)  # places that touch were recorded as one, longer than a value
        self._count = max(0, os.fstat(self._fd).st_size - HEADER.size) // PAIR.size
        last = os.pread(self._fd, PAIR.size, HEADER.size + (self._count - 1) * PAIR.size) if self._count else b""
        self._last = PAIR.unpack(last)[0] if len(last) == PAIR.size else -1  # start of the last place
        # A value may have begun before, and a sequence before that
        self._from = max(0, self._searched - self._reach - forms.AROUND_BYTES)
        os.pwrite(self._fd, HEADER.pack(self._searched, self._longest), 0)

    def look(self, size: int, *, final: bool) -> None:
        if self._searched >= size:
            return
        # A full disk, or the log was deleted: nothing behind `_searched` is shown, and the next look tries again
        with suppress(OSError), Closing(self._job.open_file(LOGS[self._stream])) as log:
            while self._searched < size:
                data = os.pread(log, min(self._block, size - self._from), self._from)
                at_end = self._from + len(data) >= size
                if not data or not self._take(data, final=final and at_end) or at_end:
                    return

    def shown(self, offset: int, data: bytes) -> bytes:
        return Mask(self._fd).applied(offset, data)[: max(0, self._searched - offset)]

    def _take(self, data: bytes, *, final: bool) -> bool:
        """Record the places in `data`, which begins at `_from`. Return whether the search moved on.

        What may be the beginning of a value is searched again, with what follows it.
        """
        end = len(data)
        looks = [_Look(data, self._values, self._reach, view) for view in (None, *forms.views(data))]
        held = end if final else min(look.held() for look in looks)
        places = sorted(place for look in looks for place in look.places() if place[0] < held)
        self._record([(self._from + at, self._from + stop) for at, stop in places if self._from + at > self._last])
        searched = self._from + max([held, *(stop for _, stop in places)])
        moved = searched > self._searched
        if moved:  # after the places: a reader that sees this sees them
            os.pwrite(self._fd, HEADER.pack(searched, self._longest), 0)
            self._searched = searched
        self._from += held
        return moved or held > 0

    def _record(self, places: list[tuple[int, int]]) -> None:
        """Write the places, those that touch each other as one. Errors: OSError."""
        if not places:
            return
        touching = joined(places)
        self._longest = max(self._longest, *(stop - first for first, stop in touching))
        os.pwrite(self._fd, HEADER.pack(self._searched, self._longest), 0)
        os.pwrite(self._fd, b"".join(PAIR.pack(*place) for place in touching), HEADER.size + self._count * PAIR.size)
        self._count += len(touching)
        self._last = places[-1][0]

    def close(self) -> None:
        os.close(self._fd)


class _Look:
    """Looks for values in bytes of a log: as they are, or as a view shows them."""

    def __init__(self, data: bytes, values: list[bytes], reach: int, view: forms.View | None) -> None:
        """`reach`: how many bytes of the log a value has at most."""
        self._end = len(data)
        self._reach = reach
        self._view = view
        self._data = data if view is None else view.plain
        self._values = values
        if view is not None:
            self._values = [plain for plain in set(map(view.without, values)) if len(plain) >= _LEAST_BYTES]

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield where values stand, overlapping ones too."""
        for value in self._values:
            at = -1
            while (at := self._data.find(value, at + 1)) >= 0:
                start, stop = self._place(at), self._place(at + len(value) - 1) + 1
                if stop - start <= self._reach:
                    yield start, stop

    def held(self) -> int:
        """Return where the first value may begin that what follows the data completes; its length if none may."""
        decided = self._end if self._view is None else self._view.decided
        return min([decided, *map(self._beginning, self._values)])

    def _beginning(self, value: bytes) -> int:
        """Return where the longest end of the data begins that is a beginning of the value, but not all of it."""
        length = min(len(value) - 1, len(self._data))
        while length and (length := value.rfind(self._data[-1:], 0, length) + 1):
            if self._data.endswith(value[:length]):
                start = self._place(len(self._data) - length)
                if self._end - start < self._reach:
                    return start
            length -= 1
        return self._end

    def _place(self, at: int) -> int:
        return at if self._view is None else self._view.place(at)
