"""Why a job failed or stands still: whose exit code it has, what its last words mean, what its processes wait for, and
what differs from the run before."""

from __future__ import annotations

from collections.abc import Mapping

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.members import object_of, text_of
from outlive.part import Inspection, JobDir, Look, Part, Said

_JOINING = "|;&\n"  # without one of these a string is one command


class Failures(Part):
    name = "failures"
    fields = "outlive.parts.failures.answers:Before"
    after_waits = (
        "outlive.parts.failures.of_job",
        "outlive.parts.failures.silence",
        "outlive.render.failures.other_run",
    )

    def described(self, look: Look) -> Said | None:
        definition, state = look.inspection.definition, look.inspection.state
        text = " ".join(definition.command)
        # It may find its own words where it looks for processes (causes/own_words.py)
        looks = "pgrep" in text or "pkill" in text or ("grep" in text and "ps " in text)
        joined = definition.shell is not None and any(sign in text for sign in _JOINING)
        ended = state.finished and (state.ended_badly or state.errno or joined or definition.sandbox is not None)
        silent = look.silent_ms is not None and look.silent_ms >= limits.SILENT_MS
        if not (looks or ended or silent):
            return None
        from outlive.parts.failures import of_job

        return of_job.said(look)

    def wants_person(self, inspection: Inspection, job: JobDir) -> str | None:
        from outlive.parts.failures import silence

        return silence.of_person(inspection, job)

    def lines(self, answer: Mapping[str, object]) -> list[str]:
        if not answer.get("previous"):
            return []
        from outlive.render.failures import other_run

        said = other_run.previous(answer)
        return [] if said is None else [said]

    def lines_for_model(self, answer: Mapping[str, object], *, process: bool) -> list[str]:
        if not answer.get("previous"):
            return []
        from outlive.render.failures import other_run

        said = other_run.previous(answer)
        if not process or other_run.is_same(object_of(answer, "previous")):
            return [f"{said}."]
        return [
            f"{said}; process action=log job_id={short_id(text_of(answer, 'job_id'))} compare=true shows what is new."
        ]


PART = Failures()
