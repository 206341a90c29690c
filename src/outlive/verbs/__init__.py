"""The verbs by name.

Each is loaded when it is asked for: a call of the command line needs one of them. What a server offers too is declared
apart from its function (`declarations`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive import parts
from outlive.answers import Answer, Field
from outlive.core.object_reference import resolve_name
from outlive.verbs.spec import Verb

# Name as typed → the module of its declaration, which has the same name in capitals. The order is that of `--help`, of
# its groups too; the verbs of parts follow, and are declared there.
VERBS = {
    "run": "declarations.starting",
    "create": "declarations.starting",
    "start": "declarations.starting",
    "status": "declarations.job",
    "poll": "declarations.reading",
    "log": "declarations.reading",
    "tail": "declarations.reading",
    "wait": "declarations.reading",
    "events": "declarations.reading",
    "write": "declarations.writing",
    "submit": "declarations.writing",
    "kill": "declarations.ending",
    "list": "declarations.listing",
    "tag set": "declarations.listing",
    "notify set": "declarations.listing",
    "clear": "declarations.ending",
    "remove": "declarations.ending",
    "restart": "declarations.starting",
    "help": "declarations.listing",
    "notices": "programs",
    "mcp": "programs",
}
ALIASES = {"exec": "run", "spawn": "run"}


def names() -> list[str]:
    return [*VERBS, *parts.verbs()]  # not list(): loading `verbs.list` sets that name in this package


def offered() -> list[str]:
    """Return the verbs that a server offers too, without loading any."""
    of_parts = [name for part in parts.every() for name in part.actions]
    return [*(name for name, module in VERBS.items() if module.startswith("declarations.")), *of_parts]


def canonical(name: str) -> str | None:
    """Return the verb that `name` means, or None. Hyphens, underscores and one space are the same."""
    flat = ALIASES.get(name, name).replace("_", " ").replace("-", " ")

    def meant(known: Iterable[str]) -> str | None:
        return next((one for one in known if one.replace("-", " ") == flat), None)

    return meant(VERBS) or meant(parts.verbs())


def load(name: str) -> Verb:
    """Return the declaration of a verb, by its canonical name."""
    module = VERBS.get(name)
    code = (
        f"outlive.verbs.{module}:{name.upper().replace(' ', '_').replace('-', '_')}" if module else parts.verbs()[name]
    )
    verb: Verb = resolve_name(code)
    return verb


def fields_of(type_: str) -> Mapping[str, Field]:
    """Return the fields of the answers of a type, by name; none of a type that no verb has, as those of the page."""
    record = record_of(type_)
    return record.flat() if record else {}


def record_of(type_: str) -> type[Answer] | None:
    """Return the record of the answers of a type; None of a type that no verb has."""
    name = canonical(type_)
    verb = load(name) if name else next((verb for verb in map(load, offered()) if verb.type == type_), None)
    return verb.result if verb else None
