"""The ports that a job asked for, as `meta.json` keeps them, and those that it leases, as `state.json` does."""

from outlive.core.labels import is_port_name
from outlive.core.record import Record
from outlive.core.records import Definition, State
from outlive.parts.ports import PORTS


class Asked(Record):
    """What a job asked for, with what its caller's configuration says: a job that is started again goes by it too."""

    names: list[str] = []
    first: int = 0  # of the range that the ports are of
    last: int = 0
    table: str = ""  # path of the file with the leases


def of_job(definition: Definition) -> Asked | None:
    """Return what a job asked for; None if that is nothing.

    Errors: ValueError, with a sentence, if another program has spoilt it.
    """
    kept = definition.kept.get(PORTS)
    if kept is None:
        return None
    is_sound = type(kept) is dict and Asked.misfit(kept) is None
    asked = Asked.of(kept) if is_sound else Asked()
    if not (asked.names and all(map(is_port_name, asked.names)) and 0 < asked.first <= asked.last < 65_536):
        raise ValueError(f"meta.json was changed by another program: {PORTS} makes no sense")
    return asked


def leased(state: State) -> dict[str, int]:
    """Return the number of each port, by its name; none before the start. What another program has spoilt has no effect."""
    kept = state.kept.get(PORTS)
    there = kept.items() if type(kept) is dict else ()
    return {name: port for name, port in there if type(port) is int and 0 < port < 65_536}


def variable(name: str) -> str:
    """Return the variable that has the number of this port."""
    return f"PORT_{name.upper().replace('-', '_')}"


def mark(name: str) -> str:
    """Return what stands for the number of this port in the words of a command."""
    return f"{{port:{name}}}"
