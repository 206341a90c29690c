"""Who has the port that a program wanted that failed with "Address already in use"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from outlive.jobs.conditions.condition import held_by
from outlive.jobs.context import Context
from outlive.parts import last_words, port_owner, tcp
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_TAKEN = re.compile(
    r"address (?:is )?already in use|\bEADDRINUSE\b|port\b[^\n]{0,40}\b(?:in use|taken|allocated|occupied)\b|only one usage of each socket",
    re.IGNORECASE,
)
_IN_ERROR = re.compile(r"(?:[:\]]|\bport\D{0,5})(\d{1,5})(?![\d.])", re.IGNORECASE)
_IN_COMMAND = re.compile(r"(?<![\w.])(\d{2,5})(?![\w.])|(?<=[:=])(\d{2,5})(?![\w.])")
_MOST_PORTS = 20
_OF_HTTP_SERVER = 8000  # python -m http.server without a word about it


def hint(ctx: Context, inspection: Inspection, job: JobDir, output: Output) -> str | None:
    """Return who holds the port that a failed job named or was given; None if that is not its failure, or not known."""
    text = last_words.of(inspection.definition, output).text
    if not last_words.last(_TAKEN, text) or port_owner.has_own_network(inspection):
        return None
    command = " ".join(inspection.definition.command)
    for port in _ports(text, command):
        try:
            listening = tcp.listeners(port)
        except OSError:  # the kernel does not say
            return None
        if listening:
            holder = port_owner.PortOwner(ctx, job, port).of(inspection, listening).holder
            return None if holder is None else held_by(holder, is_condition=False)
    return None


def _ports(text: str, command: str) -> list[int]:
    """Return the ports that may be meant, the likeliest first."""

    def named() -> Iterator[int]:
        lines = [line for line in text.splitlines() if _TAKEN.search(line)]
        for part in (*reversed(lines), text):
            yield from (int(match[1]) for match in _IN_ERROR.finditer(part))
        yield from (int(match[1] or match[2]) for match in _IN_COMMAND.finditer(command))
        if "http.server" in command:
            yield _OF_HTTP_SERVER

    return [port for port in dict.fromkeys(named()) if 0 < port < 65_536][:_MOST_PORTS]
