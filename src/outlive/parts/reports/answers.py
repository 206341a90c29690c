"""What answers say of the test report that a job wrote."""

from __future__ import annotations

from outlive.answers import HIDDEN, Fields, field, optional
from outlive.parts.reports import bounds


class FailedTest(Fields):
    """One test."""

    name: str = field("Its name, with that of its class or package.")
    place: str | None = optional("The file and the line where it failed, as far as the report has them.")
    message: str | None = optional("The first lines of what it reported.")


class Tests(Fields):
    """What the tests came to."""

    passed: int = field("Tests that passed.")
    failed: int = field("Tests that failed, errors included.")
    skipped: int = field("Tests that were skipped, or were expected to fail.")
    failures: list[FailedTest] = field(
        f"The first {bounds.FAILURES} tests that failed; `failed` says how many did.", entry=FailedTest
    )


class Reported(Fields):
    """What the report says, and what of it could not be read."""

    IN_SENTENCES = frozenset({"tests", "report_problem"})

    tests: Tests | None = optional("What the test report of the job says; absent if none was read.", human=HIDDEN)
    report_problem: str | None = optional(
        "What of the report is not in tests, and why: it is not there, older than the job, broken or too large.",
        human=HIDDEN,
    )
