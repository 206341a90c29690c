"""What answers about a job that ended say besides."""

from __future__ import annotations

from outlive.answers import HIDDEN, Fields, optional
from outlive.answers.other_run import OtherRun


class Before(Fields):
    """The run before."""

    IN_SENTENCES = frozenset({"previous"})

    previous: OtherRun | None = optional(
        "Of a job that failed: the last run before it of the same command in the same directory, or of a command that ends with the same step "
        "(`sed ... && pytest` for `pytest`). gone and new count kinds of failures, where either reports any. Of tests that passed: that run, if it failed and all its failures are gone.",
        human=HIDDEN,
    )  # fmt: skip
