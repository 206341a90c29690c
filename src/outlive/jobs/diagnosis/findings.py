"""Find what to say about a job that waits for input or for approval, or is out of reach."""

from __future__ import annotations

from outlive import parts
from outlive.answers import advice
from outlive.answers.advice import Advice
from outlive.answers.job import Prompt, Stopped
from outlive.jobs.diagnosis import other_machine
from outlive.jobs.interaction import prompt
from outlive.jobs.starting import gate
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


def of(
    inspection: Inspection,
    job: JobDir,
    asks: Prompt,
    supervisor: Stopped | None,
) -> list[Advice]:
    """Return what to do about a job that waits for input or for approval, or is out of reach; nothing for others.

    `asks` and `supervisor` are what `waiting` and `stopped` of job_answer say.
    """
    if supervisor is not None:
        pid = supervisor.supervisor_pid
        return advice.told(advice.SUPERVISOR, _stopped(pid), supervisor_pid=pid)
    if asks.keyboard:
        hold = parts.keyboard(job)
        return advice.told(advice.KEYBOARD, hold and hold.hint)
    if asks.waiting_for_input:
        return advice.told(advice.INPUT, prompt.hint(inspection, asks))
    found: list[Advice] = []
    held = gate.of(inspection.definition)
    if held is not None:
        found += advice.told(advice.APPROVAL, held.hint(job, inspection))
    if inspection.elsewhere:
        found += advice.told(advice.ELSEWHERE, other_machine.hint(inspection, job))
    return found


def _stopped(pid: int) -> str:
    return (
        f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write is not "
        f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it; kill ends the job all the same."
    )
