"""Test reports that jobs write, read into one form.

A report is written by what a job runs, so nothing in it is trusted: how much is read, how deep and how long it may be
has bounds, a report that cannot be read is told in a sentence, and its texts are rendered plain."""

from __future__ import annotations

from outlive.part import Part

REPORT = "report"  # the argument, and the member of `meta.json`


class Reports(Part):
    name = "reports"
    arguments = {"watch_file": "outlive.parts.reports.arguments:ARGUMENTS"}
    kept = {REPORT: "outlive.parts.reports.checks:kept"}
    of_job = "outlive.parts.reports.of_job:OfReport"
    fields = "outlive.parts.reports.answers:Reported"
    lines_of = dict.fromkeys(("tests", "report_problem"), "outlive.parts.reports.wording:lines")


PART = Reports()
