"""The one list of parts: what outlive can do besides keeping jobs. A part whose folder is missing is not there, and
neither are those that need it; everything else works."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from outlive.part import Part

NAMES = ("hosts", "http", "failures", "page", "clients", "doctor", "reports")  # the order in which they are asked
# Member of `meta.json` → the part that keeps it there
KEEPERS = {"report": "reports"}


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


def lines(answer: Mapping[str, object]) -> list[str]:
    """Return the lines in which a person reads the fields of parts in an answer."""
    return [line for part in every() for line in part.lines(answer)]


def lines_for_model(answer: Mapping[str, object], *, process: bool) -> list[str]:
    """Return the lines in which a model reads them. `process`: the tool of this name is offered."""
    return [line for part in every() for line in part.lines_for_model(answer, process=process)]


def missing(kept: Mapping[str, object]) -> list[str]:
    """Return the names of the parts that are not there, and kept one of these members of `meta.json`."""
    there = {part.name for part in every()}
    return sorted({KEEPERS[name] for name, value in kept.items() if name in KEEPERS and value is not None} - there)


def arguments(verb: str) -> list[Any]:
    """Return the arguments that parts add to a verb, or to those that make a job (part.MAKES)."""
    places = (part.arguments[verb] for part in every() if verb in part.arguments)
    return [argument for place in places for argument in resolve_name(place)]


@cache
def verbs() -> dict[str, str]:
    """Return "module:NAME" of each verb that a part adds, by the verb as typed."""
    return {verb: place for part in every() for verb, place in {**part.actions, **part.verbs}.items()}
