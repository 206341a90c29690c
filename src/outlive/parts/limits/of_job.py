"""What is said of the limits of a job: to a caller, and to a person who is asked about it."""

from __future__ import annotations

from collections.abc import Iterator

from outlive.answers import advice
from outlive.core.quoted import quoted
from outlive.core.records import Definition
from outlive.errors import invalid
from outlive.part import Inspection, OfJob, Said
from outlive.parts import resources
from outlive.parts.limits import applied
from outlive.parts.limits.answers import Given
from outlive.parts.limits.names import NOT_SUPPORTED
from outlive.parts.resources import RESOURCES


class Limited(OfJob):
    def check(self) -> None:
        try:
            resources.of_job(self.definition)
        except ValueError as error:
            raise invalid(RESOURCES, str(error)) from error

    def facts(self) -> Iterator[tuple[str, str]]:
        for name, value in _asked(self.definition).items():
            yield f"Resource {name}", quoted(str(value))

    def given_to(self, inspection: Inspection) -> Said:
        """Return what a job was to have, and how each of it is applied once it was started."""
        limits = applied.of_job(inspection.state)
        left = [f"{name} ({one.why})" for name, one in limits.items() if one.applied == NOT_SUPPORTED]
        text = f"Not limited: {'; '.join(left)}." if left else None
        shown: dict[str, object] = {name: one.to_dict() for name, one in limits.items()}
        shown = shown or {name: {"value": value} for name, value in _asked(inspection.definition).items()}
        return Said(Given(resources=shown), advice.told(advice.RESOURCES, text))


def _asked(definition: Definition) -> dict[str, object]:
    try:
        asked = resources.of_job(definition)
    except ValueError:  # a start of it is refused
        return {}
    return {} if asked is None else asked.to_dict()
