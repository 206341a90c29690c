"""Queries that a program sends to its terminal. The job's supervisor answers them; a person's
terminal that is shown the same bytes must not answer them a second time."""

from __future__ import annotations

import re

# Device status and cursor position, device attributes, modes, window size, colours, settings and
# capabilities (ctlseqs)
_QUERY = re.compile(
    rb"\x1b(?:\[\??[56]n|\[[>=]?0?c|Z|\[\??[0-9;]*\$p|\[1[1348]t|\[>0?q|\[\?u|\]1[0-9];\?(?:\x07|\x1b\\)|P[$+]q[^\x07\x1b]{0,96}\x1b\\)"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[?>=]?[0-9;]*\$?|\][0-9;?]*\x1b?|P[$+]?q?[^\x1b\x07]{0,96}\x1b?)?\Z")
_LONGEST = 128


class WithoutQueries:
    """Removes the queries from a stream of output. A query that is cut is held back until its rest
    comes."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        data = self._rest + data
        begun = _UNFINISHED.search(data, max(0, len(data) - _LONGEST))
        self._rest = data[begun.start() :] if begun else b""
        return _QUERY.sub(b"", data[: begun.start()] if begun else data)
