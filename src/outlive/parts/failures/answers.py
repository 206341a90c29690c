"""What answers say of another run of the same command."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.answers import HIDDEN, Fields, optional
from outlive.answers.other_run import OtherRun
from outlive.core.ids import short_id
from outlive.core.members import number_of, object_of, text_of, texts_of
from outlive.core.units import counted, duration


class Before(Fields):
    """The run before."""

    IN_SENTENCES = frozenset({"previous"})

    previous: OtherRun | None = optional(
        "Of a job that failed: the last run before it of the same command in the same directory, or of a command that ends with the same step "
        "(`sed ... && pytest` for `pytest`). gone and new count kinds of failures, where either reports any. Of tests that passed: that run, if it failed and all its failures are gone.",
        human=HIDDEN,
    )  # fmt: skip


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return the line about the run before. `process`: as in the declaration of a part (part.py)."""
    said = previous(answer)
    if process is None:
        return [] if said is None else [said]
    if not process or answer.get("exit_code") == 0 or _is_same(object_of(answer, "previous")):
        return [f"{said}."]
    return [f"{said}; process action=log job_id={short_id(text_of(answer, 'job_id'))} compare=true shows what is new."]


def lines_of_compared(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return the line about the run with which a log is compared, and how much differs. `process`: as for `lines`."""
    run = object_of(answer, "compared")
    kinds = f"{counted(number_of(run, 'new'), 'kind')} of lines new, {run['gone']:,} gone"
    return [f"Compared with job {short_id(text_of(run, 'job_id'))} ({_how(run)}): {kinds}."]


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
    return f"The run before, {_how(run)}{same}{_changes(run)}"


def _how(run: dict[str, object]) -> str:
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


def _is_same(run: Mapping[str, object]) -> bool:
    """Return whether both runs failed and report the same failures."""
    return run.get("gone") == run.get("new") == 0 and run["exit_code"] != 0


def _changes(run: dict[str, object]) -> str:
    if run.get("different"):
        return ": a different failure; the earlier one may not have run"
    gone, new = run.get("gone"), run.get("new")
    if gone is None or new is None:
        return ""
    if not gone and not new:  # a run that ended with 0 may report failures, but none that made it fail
        return ": the same failures" if _is_same(run) else ""
    failures = "failure" if (gone or new) == 1 else "failures"
    if not gone:
        return f": {new:,} new {failures}"
    return f": {gone:,} {failures} gone{_names(run)}" + (f", {new:,} new" if new else "")
