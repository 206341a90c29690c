"""What the page says of a job: one that never ran has no start."""

from __future__ import annotations

from typing import Any

from outlive.parts.page.views.beside_output import facts

MADE, AT = "2026-01-02T03:04:05.600Z", "2026-01-02T03:04:05.678Z"
# state, reason → whether it ran
ENDS = (
    ("failed", "launch", False),
    ("failed", "denied", False),
    ("failed", "kill", False),  # withdrawn before it was approved
    ("failed", "dependency", False),
    ("failed", "reboot", True),
    ("killed", "kill", True),
    ("failed", "lost", True),
    ("exited", "exit", True),
)


def test_a_job_that_never_ran_has_no_start() -> None:
    for state, reason, ran in ENDS:
        job: dict[str, Any] = {
            "state": state,
            "reason": reason,
            "started_at": AT,
            "finished_at": AT,
            "created_at": MADE,
        }
        said = {str(name) for name, _, _ in facts(job)}
        assert ("started" in said, "ended" in said, "given up" in said) == (ran, ran, not ran), (state, reason)


def test_a_job_that_waited_when_the_machine_went_down_has_no_start() -> None:
    job = {"state": "failed", "reason": "reboot", "created_at": AT, "started_at": AT, "finished_at": AT}
    assert {str(name) for name, _, _ in facts(job)} == {"reason", "given up"}
