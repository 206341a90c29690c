"""The lines that tell what the report of a job says, for a model and for a person."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import entries_of, number_of, object_of, text_of


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return a line of counts, a line for each failed test that the answer lists, and what could not be read; nothing for
    an answer without a report."""
    told = []
    tests = object_of(answer, "tests")
    if tests:
        told.append(f"tests: {tests['passed']:,} passed, {tests['failed']:,} failed, {tests['skipped']:,} skipped")
        failures = entries_of(tests, "failures")
        told += [_failure(one) for one in failures]
        left = number_of(tests, "failed") - len(failures)
        told += [f"{left:,} more failed"] if left > 0 and failures else []
    if answer.get("report_problem"):
        told.append(text_of(answer, "report_problem"))
    return told


def _failure(test: dict[str, object]) -> str:
    place = f" ({test['place']})" if test.get("place") else ""
    said = "; ".join(text_of(test, "message").splitlines())
    return f"failed: {test['name']}{place}{': ' if said else ''}{said}"
