"""The lines that tell what the report of a job says, for a model and for a person."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lines(answer: dict[str, Any]) -> list[str]:
    """Return a line of counts, a line for each failed test that the answer lists, and what could not be read; nothing for
    an answer without a report."""
    told = []
    tests = answer.get("tests")
    if tests:
        told.append(f"tests: {tests['passed']:,} passed, {tests['failed']:,} failed, {tests['skipped']:,} skipped")
        told += [_failure(one) for one in tests["failures"]]
        left = tests["failed"] - len(tests["failures"])
        told += [f"{left:,} more failed"] if left > 0 and tests["failures"] else []
    if answer.get("report_problem"):
        told.append(answer["report_problem"])
    return told


def _failure(test: dict[str, Any]) -> str:
    place = f" ({test['place']})" if test.get("place") else ""
    said = "; ".join((test.get("message") or "").splitlines())
    return f"failed: {test['name']}{place}{': ' if said else ''}{said}"
