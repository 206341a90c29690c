"""Read JSON that another program, a person or a full disk may have written, and members of it, each as what its reader
needs.

An object of another program, of a file, or of any answer may hold anything. What is not there, or is of another type, reads
as nothing: no text, 0, no members, no entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Members = dict[str, object]


def parse_json(text: str | bytes, number: Callable[[str], object] | None = None) -> Any:
    """Return what json.loads returns. `number` reads each number in its place. Errors: ValueError, also for what is nested
    too deeply."""
    try:
        return json.loads(text, parse_int=number, parse_float=number, parse_constant=number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def text_of(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def number_of(members: Mapping[str, object], name: str) -> int:
    value = members.get(name)
    return value if isinstance(value, int) else 0


def object_of(members: Mapping[str, object], name: str) -> Members:
    """Return the object that a member is."""
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def entries_of(members: Mapping[str, object], name: str) -> list[Members]:
    """Return the objects in the list that a member is."""
    value = members.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts_of(members: Mapping[str, object], name: str) -> list[str]:
    value = members.get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
