"""JSON from a file that a job wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

from outlive.parts.reports.tally import Broken, Tally

_MOST_VALUES = 1_000_000  # of one document: an empty list takes 3 bytes of it, and 64 of memory
_SHORT_BYTES = 65_536  # that may have any number of values


def loads(data: bytes) -> object:
    """Return the value of a document. Errors: Broken."""
    if len(data) > _SHORT_BYTES and sum(map(data.count, (b",", b":", b"[", b"{"))) > _MOST_VALUES:
        raise Broken(f"it has more than {_MOST_VALUES:,} values.")
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        raise Broken(f"line {error.lineno}: {error.msg}.") from None
    except ValueError:  # a number of thousands of digits
        raise Broken("it has a number that cannot be read.") from None
    except RecursionError:
        raise Broken("its values are nested too deep.") from None


def objects(data: bytes, tally: Tally) -> Iterator[dict[str, object]]:
    """Yield the objects of a report that has one in each line. Other lines are passed over: compilers and build tools
    write theirs between them, and the last one of a command that was killed may be cut. Errors: Broken."""
    for line in io.BytesIO(data):
        tally.count_entry()
        if line.lstrip().startswith(b"{"):
            try:
                value = loads(line)
            except Broken:
                continue
            if isinstance(value, dict):
                yield value
