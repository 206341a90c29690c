"""Another run of the same command, as an answer has it, and as text for a reader."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.answers import Fields, field, optional
from outlive.core.members import number_of, object_of, texts_of
from outlive.core.units import duration


class OtherRun(Fields):
    """Another run, and what differs from it."""

    job_id: str = field("Its job.")
    exit_code: int | None = field(
        "Its exit code; null: it was ended by a signal, or its end is not known.", minimum=None
    )
    ago_ms: int | None = field("How long ago it ended; null: it has not, or its end is not known.")
    gone: int | None = optional("How many kinds of what it printed are not printed here.")
    new: int | None = optional("How many kinds of what is printed here it did not print.")
    names: list[str] | None = optional("The failures that are gone, if they are few.")
    different: bool | None = optional("True: this run failed otherwise, and may not have come to what failed before.")


def previous(answer: Mapping[str, object]) -> str | None:
    """Return one sentence, without its full stop, about the run before the job of an answer; None if there is none."""
    run = object_of(answer, "previous")
    if not run:
        return None
    if answer.get("exit_code") == 0:  # it is there if its failures are gone
        gone = number_of(run, "gone")
        failures, are = ("failure", "is") if gone == 1 else (f"{gone:,} failures", "are")
        return f"The {failures} of the run before, {_when(run)}, {are} gone{_names(run)}"
    code, now = run["exit_code"], answer.get("exit_code")
    same = " too" if code is not None and code == now else ""
    if run.get("different") and not same and now is not None:
        same = f", now {now}" if code is not None else f", this one exited {now}"
    return f"The run before, {how(run)}{same}{_changes(run)}"


def how(run: dict[str, object]) -> str:
    """Return when a run ended and how."""
    if run["ago_ms"] is None:
        return "still running"
    ended = "did not exit by itself" if run["exit_code"] is None else f"exited {run['exit_code']}"
    return f"{_when(run)}, {ended}"


def _when(run: dict[str, object]) -> str:
    ago_ms = max(1_000, number_of(run, "ago_ms"))
    step = 60_000 if ago_ms >= 60_000 else 1_000
    return f"{duration(ago_ms // step * step)} ago"


def _names(run: dict[str, object]) -> str:
    names = ", ".join(texts_of(run, "names"))
    return f" ({names})" if names else ""


def is_same(run: Mapping[str, object]) -> bool:
    """Return whether both runs failed and report the same failures."""
    return run.get("gone") == run.get("new") == 0 and run["exit_code"] != 0


def _changes(run: dict[str, object]) -> str:
    if run.get("different"):
        return ": a different failure; the earlier one may not have run"
    gone, new = run.get("gone"), run.get("new")
    if gone is None or new is None:
        return ""
    if not gone and not new:  # a run that ended with 0 may report failures, but none that made it fail
        return ": the same failures" if is_same(run) else ""
    failures = "failure" if (gone or new) == 1 else "failures"
    if not gone:
        return f": {new:,} new {failures}"
    return f": {gone:,} {failures} gone{_names(run)}" + (f", {new:,} new" if new else "")
