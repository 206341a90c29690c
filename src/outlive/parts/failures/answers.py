"""What answers about a job that ended say besides."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.answers import HIDDEN, Fields, optional, other_run
from outlive.answers.other_run import OtherRun
from outlive.core.ids import short_id
from outlive.core.members import object_of, text_of


class Before(Fields):
    """The run before."""

    IN_SENTENCES = frozenset({"previous"})

    previous: OtherRun | None = optional(
        "Of a job that failed: the last run before it of the same command in the same directory, or of a command that ends with the same step "
        "(`sed ... && pytest` for `pytest`). gone and new count kinds of failures, where either reports any. Of tests that passed: that run, if it failed and all its failures are gone.",
        human=HIDDEN,
    )  # fmt: skip


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return the line about the run before. `process`: as in the declaration of a part (part.py)."""
    said = other_run.previous(answer)
    if process is None:
        return [] if said is None else [said]
    if not process or answer.get("exit_code") == 0 or other_run.is_same(object_of(answer, "previous")):
        return [f"{said}."]
    return [f"{said}; process action=log job_id={short_id(text_of(answer, 'job_id'))} compare=true shows what is new."]
