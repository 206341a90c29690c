"""What the test report of an ended job says, and what to make of it beside the exit code, which it never changes."""

from __future__ import annotations

from outlive.answers import advice, sentences
from outlive.core.started import never_ran
from outlive.core.units import seconds_or
from outlive.part import Look, OfJob, Said
from outlive.parts.reports import REPORT, checks, read
from outlive.parts.reports.answers import Reported, Tests
from outlive.parts.reports.find import Where
from outlive.store.inspection.inspection import Inspection
from outlive.system.waiting import checkpoint

_MASKED = "Which tests failed is not shown: the job has masked variables, whose values are not known here."


class OfReport(OfJob):
    def check(self) -> None:
        checks.require(self.definition)

    def described(self, look: Look) -> Said | None:
        return _said(look.inspection) if look.inspection.state.finished else None


def _said(inspection: Inspection) -> Said | None:
    """Return what the report says; nothing of a command that never ran."""
    definition, state = inspection.definition, inspection.state
    if state.started_at is None or never_ran(state.state, state.reason):
        return None
    if inspection.elsewhere:
        return Said(Reported(report_problem="The report is on the machine that ran the job: ask there."))
    checkpoint()
    pattern = str(definition.kept[REPORT])
    ended = _ns(state.finished_at) or None
    report = read.read(pattern, Where(definition.cwd, definition.sandbox, _ns(state.started_at), ended))
    problems = report.problems
    if definition.mask:
        problems = _without_words(report, pattern)
    hint = _hint(report.tests, state.exit_code, complete=not report.problems)
    return Said(Reported(tests=report.tests, report_problem=sentences(*problems)), advice.told(advice.REPORT, hint))


def _without_words(report: read.Read, given: str) -> list[str]:
    """Take out of what a report says all that the job wrote but the counts: names of tests may hold a masked value as well
    as messages do. Return the problems that remain. `given`: the report as the call named it."""
    problems = [one for one in report.problems if "broken: " not in one and (given in one or one.startswith("The job"))]
    if len(problems) < len(report.problems) or (report.tests is not None and report.tests.failures):
        problems.append(_MASKED)
    if report.tests is not None:
        report.tests.failures = []
    return problems


def _ns(stamp: str | None) -> int:
    return round(seconds_or(stamp, 0) * 1_000) * 1_000_000


def _hint(tests: Tests | None, exit_code: int | None, *, complete: bool) -> str | None:
    """Return what a caller should know who looks at the exit code alone."""
    if tests is None:
        return None
    if not tests.passed + tests.failed + tests.skipped:
        return "Its report says that no test ran."
    if tests.failed and exit_code == 0:
        number = "1 failed test" if tests.failed == 1 else f"{tests.failed:,} failed tests"
        return f"It exited with code 0, but its report has {number}."
    if exit_code and not tests.failed and complete:
        return "No test failed in its report: the exit code has another cause."
    return None
