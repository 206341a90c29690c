"""Why a job failed or stands still: whose exit code it has, what its last words mean, what its processes wait for, and
what differs from the run before."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.answers import Part as Fields
from outlive.core.ids import short_id
from outlive.core.members import object_of, text_of
from outlive.part import Config, LogCall, Output, Part, Source, View

MATCHERS = "output.problem_matcher"


class Failures(Part):
    name = "failures"
    arguments = {"context": "outlive.parts.failures.arguments:OF_LOG"}
    tables = {MATCHERS: "outlive.parts.failures.lines.problem_matchers:checked"}
    of_job = "outlive.parts.failures.why:Why"
    fields = "outlive.parts.failures.answers:Before"
    after_waits = (
        "outlive.parts.failures.of_job",
        "outlive.parts.failures.runs.compare",
        "outlive.parts.failures.lines.looked",
        "outlive.parts.failures.lines.telling",
        "outlive.parts.failures.silence",
        "outlive.answers.other_run",
    )

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
