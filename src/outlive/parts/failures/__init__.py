"""Why a job failed or stands still: whose exit code it has, what its last words mean, what its processes wait for, and
what differs from the run before."""

from __future__ import annotations

from collections.abc import Mapping

from outlive import limits
from outlive.answers import Part as Fields
from outlive.core.ids import short_id
from outlive.core.members import object_of, text_of
from outlive.part import (
    Config,
    Inspection,
    JobDir,
    LogCall,
    Look,
    Output,
    Part,
    Said,
    Source,
    View,
)

MATCHERS = "output.problem_matcher"
JOINING = "|;&\n"  # without one of these a string is one command
_PASSING = (b"pass", b"ok", b"success", b"succeeded")  # what runners of tests print at the end, in any case ...
_SUMMARY_BYTES = 1_024  # ... here


def tests_passed(inspection: Inspection, output: Output) -> bool:
    """Return whether a job ended well whose last words may be those of tests that passed."""
    if not inspection.state.finished or inspection.state.ended_badly:
        return False
    end = output.read(max(0, output.end - _SUMMARY_BYTES), output.end).lower()
    return any(word in end for word in _PASSING)


class Failures(Part):
    name = "failures"
    arguments = {"context": "outlive.parts.failures.arguments:OF_LOG"}
    tables = {MATCHERS: "outlive.parts.failures.lines.problem_matchers:checked"}
    fields = "outlive.parts.failures.answers:Before"
    after_waits = (
        "outlive.parts.failures.of_job",
        "outlive.parts.failures.runs.compare",
        "outlive.parts.failures.lines.looked",
        "outlive.parts.failures.lines.telling",
        "outlive.parts.failures.silence",
        "outlive.answers.other_run",
    )

    def described(self, look: Look) -> Said | None:
        definition, state = look.inspection.definition, look.inspection.state
        text = " ".join(definition.command)
        # It may find its own words where it looks for processes (causes/own_words.py)
        looks = "pgrep" in text or "pkill" in text or ("grep" in text and "ps " in text)
        joined = definition.shell is not None and any(sign in text for sign in JOINING)
        ended = state.finished and (state.ended_badly or state.errno or joined or definition.sandbox is not None)
        silent = look.silent_ms is not None and look.silent_ms >= limits.SILENT_MS
        if not (looks or ended or silent or tests_passed(look.inspection, look.output)):
            return None
        from outlive.parts.failures import of_job

        return of_job.said(look)

    def chosen(self, source: Source, since: int, stop: int, view: View, *, failed: bool) -> Fields | None:
        from outlive.parts.failures.lines import looked

        return looked.chosen(source, since, stop, view, failed=failed)

    def telling(self, output: Output, config: Config) -> str | None:
        from outlive.parts.failures.lines import telling

        return telling.reported(output, config.get(*MATCHERS.split(".")) or ())

    def log_lines(self, log: LogCall) -> Fields | None:
        if log.given.get("compare") is None:
            return None
        from outlive.parts.failures.runs import compare

        return compare.lines(log, log.given["compare"])

    def wants_person(self, inspection: Inspection, job: JobDir) -> str | None:
        from outlive.parts.failures import silence

        return silence.of_person(inspection, job)

    def lines(self, answer: Mapping[str, object]) -> list[str]:
        if not answer.get("previous"):
            return []
        from outlive.answers import other_run

        said = other_run.previous(answer)
        return [] if said is None else [said]

    def lines_for_model(self, answer: Mapping[str, object], *, process: bool) -> list[str]:
        if not answer.get("previous"):
            return []
        from outlive.answers import other_run

        said = other_run.previous(answer)
        if not process or answer.get("exit_code") == 0 or other_run.is_same(object_of(answer, "previous")):
            return [f"{said}."]
        return [
            f"{said}; process action=log job_id={short_id(text_of(answer, 'job_id'))} compare=true shows what is new."
        ]


PART = Failures()
