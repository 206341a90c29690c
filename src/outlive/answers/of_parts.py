"""The fields that parts of outlive add to what answers say of a job (part.py)."""

from __future__ import annotations

from pkgutil import resolve_name

from outlive import parts
from outlive.answers import Part, part

_RECORDS: dict[str, type[Part]] = {one.name: resolve_name(one.fields) for one in parts.every() if one.fields}
OfParts: type[Part] = type(
    "OfParts",
    (Part,),
    {
        "__doc__": "What parts say of a job, each under its name.",
        "__annotations__": {name: record | None for name, record in _RECORDS.items()},
        "IN_SENTENCES": frozenset().union(*(record.IN_SENTENCES for record in _RECORDS.values())),
        **{name: part(record) for name, record in _RECORDS.items()},
    },
)
