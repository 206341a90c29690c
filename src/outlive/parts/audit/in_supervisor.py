"""What a supervisor adds to the audit record: the end of its job, and what automatic gc deletes. Where it cannot, readers
find the outcome in the job."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from outlive.core.records import State
from outlive.parts.audit import record
from outlive.parts.audit.record import AuditTarget
from outlive.supervisor.added import Notes


class Audited(Notes):
    """The lines about one job."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._target = AuditTarget.of(given)

    def ended(self, job_id: str, state: State) -> None:
        facts = {"state": state.state, "exit_code": state.exit_code, "signal": state.signal, "reason": state.reason}
        facts |= {"finished_at": state.finished_at, "duration_ms": state.duration_ms}
        if state.ending and state.reason == state.ending.cause:
            facts["ended_by"] = state.ending.by
        outcome = {name: value for name, value in facts.items() if value is not None}
        with suppress(OSError):
            record.append(self._target, record.END, job_id=job_id, **outcome)

    def deleted(self, root: str, job_id: str, bound: str) -> None:
        with suppress(OSError):
            record.append(self._target, "gc", job_id=job_id, root=root, rule=f"[gc] {bound}")


NOTES = Audited
