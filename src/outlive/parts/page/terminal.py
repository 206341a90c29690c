"""The terminal of a job for an emulator in the page: its screen first, then the bytes as they
come."""

from __future__ import annotations

import base64
import time
from contextlib import closing

from outlive import limits
from outlive.core.records import Terminal
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction import stdin
from outlive.parts.terminal import drawing
from outlive.parts.terminal import keyboard as of_job
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import pause

_MOST_BYTES = 1 << 18  # of one answer; a page that is further behind gets the screen anew
_KEYBOARD_S = 1.0  # between two looks at who holds the keyboard
_TOGETHER_S = 0.03  # what is printed within this comes in one answer: an echo must not lag


def terminal(
    ctx: Context,
    *,
    job_id: str,
    seq: int | None = None,
    size: list[int] | None = None,
    keyboard: str | None = None,
    wait_ms: int = 0,
) -> dict[str, object]:
    """Return what was printed on the terminal after `seq`, waiting for something if nothing was.

    Without `seq`, or where more was printed than is worth sending, `reset` is true, and the data
    draws the screen as it is. `size`: the columns and rows that the page knows; `keyboard`: since
    when a person has held the keyboard, as far as the page knows. Another size or another holder is
    a change too. Errors: job_not_found, not_a_pty.
    """
    with lookup.open_job(ctx, job_id) as job:
        stdin.require_pty(adoption.inspect_and_adopt(ctx, job), running=False)
        deadline = time.monotonic() + wait_ms / 1000
        late = False
        with closing(ControlClient(job, output=True)) as control:
            while True:
                adoption.require_in_place(job)
                inspection = adoption.inspect_and_adopt(ctx, job)
                with Output(job) as output:
                    news = seq is None or output.end != seq or size not in (None, _size(inspection))
                    news = news or keyboard not in (None, _held_since(job))
                    over = inspection.state.finished and not inspection.supervised
                    if over or time.monotonic() >= deadline or (news and (late or seq is None)):
                        return _answer(inspection, output, job.job_id, seq, over=over)
                if news:
                    late = True
                    pause((), time.monotonic() + _TOGETHER_S)
                else:
                    # No hint tells of the keyboard
                    control.pause(min(deadline, time.monotonic() + _KEYBOARD_S))


def _answer(inspection: Inspection, output: Output, job_id: str, seq: int | None, *, over: bool) -> dict[str, object]:
    end = output.end
    hole = output.gap.merged
    if seq is None or seq > end or end - seq > _MOST_BYTES or hole.crossed_by(seq, end):
        data, reset = drawing.of_job(inspection, output).paint(), True
    else:
        data, reset = output.read(seq, end), False
    return {
        "job_id": job_id,
        "state": inspection.state.state,
        **(ended.to_dict() if (ended := job_answer.how_ended(inspection, output.job)) else {}),
        "data": base64.b64encode(data).decode("ascii"),
        "reset": reset,
        "next_seq": end,
        "size": _size(inspection),
        "over": over,
        **job_answer.waiting(inspection, output).to_dict(),
    }


def _held_since(job: JobDir) -> str:
    held = of_job.holder(job)
    return "" if held is None else held.since


def _size(inspection: Inspection) -> list[int]:
    known = inspection.state.terminal or Terminal()
    return [known.cols or limits.TERMINAL_COLS, known.rows or limits.TERMINAL_ROWS]
