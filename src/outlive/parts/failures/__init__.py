"""Why a job failed or stands still: whose exit code it has, what its last words mean, what its processes wait for, and
what differs from the run before."""

from __future__ import annotations

from outlive.part import Part


class Failures(Part):
    name = "failures"
    arguments = {"context": "outlive.parts.failures.arguments:OF_LOG"}
    tables = {"output.problem_matcher": "outlive.parts.failures.lines.problem_matchers:checked"}
    of_job = "outlive.parts.failures.why:Why"
    fields = "outlive.parts.failures.answers:Before"
    lines_of = {
        "previous": "outlive.parts.failures.answers:lines",
        "compared": "outlive.parts.failures.answers:lines_of_compared",
    }
    log_lines = {"compare": "outlive.parts.failures.runs.compare:lines"}
    chosen = "outlive.parts.failures.lines.looked:chosen"
    telling = "outlive.parts.failures.lines.telling:telling"
    after_waits = ("outlive.parts.failures.of_job", "outlive.parts.failures.silence")


PART = Failures()
