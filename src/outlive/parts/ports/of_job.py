"""What is said of the ports of a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.answers import advice
from outlive.core.members import number_of, object_of, text_of
from outlive.core.records import State
from outlive.part import Inspection, Look, OfJob, Said
from outlive.parts.ports import PORTS, asked, checks
from outlive.parts.ports.answers import InList, Leased, Port


class OfPorts(OfJob):
    def check(self) -> None:
        checks.require(self.definition)

    def facts(self) -> Iterable[tuple[str, str]]:
        return (("Ports", ", ".join(self.ports(None))),)

    def ports(self, state: State | None) -> dict[str, int | None]:
        try:
            wanted = asked.of_job(self.definition)
        except ValueError:  # a start of it is refused
            return {}
        numbers = {} if state is None else asked.leased(state)
        return {} if wanted is None else {name: numbers.get(name) for name in wanted.names}

    def described(self, look: Look) -> Said | None:
        found = _in_use(look.inspection)
        shown = {name: Port(port=port, url=url(port)) for name, port in found.items()}
        sandbox = self.definition.sandbox
        is_apart = sandbox is not None and sandbox.network != "open"
        why = "The job has a network of its own: nothing outside of it reaches its ports." if is_apart else None
        return Said(Leased(ports=shown), advice.told(advice.SANDBOX, why)) if found else None

    def entry_of(self, inspection: Inspection) -> InList | None:
        found = _in_use(inspection)
        return InList(ports=found) if found else None


def _in_use(inspection: Inspection) -> dict[str, int]:
    state = inspection.state
    return {} if state.finished or state.state == "created" else asked.leased(state)


def url(port: int) -> str:
    return f"http://localhost:{port}"


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return a line with the name, the number and the URL of each port."""
    named = object_of(answer, PORTS)
    each = [(name, object_of(named, name)) for name in named]
    return [f"port {name}: {number_of(one, 'port')}, {text_of(one, 'url')}" for name, one in each]
