"""The one list of parts: what outlive can do besides keeping jobs. A part whose folder is missing is not there, and
neither are those that need it; everything else works."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from outlive.part import Part

NAMES = ("http", "page", "clients", "doctor")  # the order in which they are asked


@cache
def every() -> tuple[Part, ...]:
    """Return the parts that are there."""
    found: dict[str, Part] = {}
    for name in NAMES:
        try:
            part: Part = import_module(f"outlive.parts.{name}").PART
        except ModuleNotFoundError as error:
            if error.name != f"outlive.parts.{name}":
                raise
            continue
        if all(needed in found for needed in part.needs):
            found[name] = part
    return tuple(found.values())


@cache
def verbs() -> dict[str, str]:
    """Return "module:NAME" of each verb that a part adds, by the verb as typed."""
    return {verb: place for part in every() for verb, place in part.verbs.items()}
