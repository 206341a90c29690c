"""What is said of the run before a job, in a line."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.answers import other_run
from outlive.core.ids import short_id
from outlive.core.members import object_of, text_of


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """`process`: as in the declaration of a part (part.py)."""
    said = other_run.previous(answer)
    if process is None:
        return [] if said is None else [said]
    if not process or answer.get("exit_code") == 0 or other_run.is_same(object_of(answer, "previous")):
        return [f"{said}."]
    return [f"{said}; process action=log job_id={short_id(text_of(answer, 'job_id'))} compare=true shows what is new."]
