"""How to answer what a job with a terminal asks."""

from __future__ import annotations

from outlive.core.ids import short_id
from outlive.part import Inspection


def how_to_answer(inspection: Inspection, *, hidden: bool) -> str:
    """`hidden`: what is typed is not shown, as of a password."""
    if hidden:
        return (
            "It asks for a password (what is typed is not shown). Have a person type it: "
            f"`outlive attach {short_id(inspection.definition.job_id)}` in a terminal; submit types one that you were given."
        )
    return "Answer with submit (types text and Enter) or send-keys (C-c, Up, q); screen shows the terminal."
