"""The fields that parts of outlive add to what answers say of a job (part.py)."""

from __future__ import annotations

from outlive import parts
from outlive.answers import Fields, inline
from outlive.core.object_reference import resolve_name


def _made(name: str, doc: str, records: dict[str, type[Fields]]) -> type[Fields]:
    """Return a record with those of the parts, each under the name of its part."""
    content = {
        "__doc__": doc,
        "__annotations__": {of_part: record | None for of_part, record in records.items()},
        **{of_part: inline(record) for of_part, record in records.items()},
    }
    return type(name, (Fields,), content)


OfParts = _made(
    "OfParts", "What parts say of a job.", {one.name: resolve_name(one.fields) for one in parts.every() if one.fields}
)
InList = _made(
    "InList",
    "What parts say of a job in a list.",
    {one.name: resolve_name(one.listed) for one in parts.every() if one.listed},
)
Given = _made(
    "Given", "What a job was given by parts.", {one.name: resolve_name(one.given) for one in parts.every() if one.given}
)
