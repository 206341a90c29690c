"""Tell how a job reacts to what is written to it."""

from __future__ import annotations

import time

from outlive import limits
from outlive.jobs import adoption, job_answer, read_cursor
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction.reading import read
from outlive.render.plain_text import readable
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_AROUND_BYTES = 64  # of escape sequences around an echo


class Reaction:
    """What a job says to what is written to it. Make it before the write: nothing that comes after
    that is missed.

    The output that it shows begins where the client's last answer about the job ended; without a
    client, at the moment of the write.
    """

    def __init__(self, ctx: Context, job: JobDir, wait_ms: int, max_bytes: int) -> None:
        self._ctx = ctx
        self._job = job
        self._wait_s = wait_ms / 1000
        self._max_bytes = max_bytes
        self._began = time.monotonic()
        with Output(job) as output:
            self._before = output.end
        self._asks = False
        self._since = self._before if ctx.client is None else read_cursor.seen(ctx, job)

    def settled(self) -> Waiting[None]:
        """Wait until the job asks for input, ends, or has been silent for `wait_ms`."""
        now = time.monotonic()
        latest = max(self._began + max(self._wait_s, limits.REACTION_S), now + min(self._wait_s, limits.REACTION_S))
        end, changed = self._before, now
        control = ControlClient(self._job, output=True)
        try:
            while True:
                adoption.require_in_place(self._job)
                found = adoption.inspect_and_adopt(self._ctx, self._job)
                with Output(self._job) as output:
                    self._asks = _asks(job_answer.waiting(found, output), found, output)
                    if output.end != end:
                        end, changed = output.end, time.monotonic()
                deadline = min(changed + self._wait_s, latest)
                if self._asks or found.state.state != "running" or time.monotonic() >= deadline:
                    return
                yield from control.pause(deadline)
        finally:
            control.close()

    def answer(self, sent: bytes) -> Waiting[dict[str, Any]]:
        """Return the new output and the job's state, and move the client's read position."""
        answer = yield from read(self._ctx, self._job, self._since, self._max_bytes, raw=False)
        read_cursor.mark_seen(self._ctx, self._job, answer["next_seq"])
        for name in ("retry_after_ms", "snippet"):
            answer.pop(name, None)
        known = answer["waiting_for_input"] and answer.get("echo") is not False
        if known and not answer.keys() & {"supervisor", "dropped_bytes", "missing_bytes"}:
            answer.pop("hint", None)  # how to answer a prompt, which the caller has just done
            if _half_a_line(sent, answer):
                answer["hint"] = "It reads on: what was written has no newline at its end, which a line needs."
        if "hint" not in answer and not self._asks and answer["state"] == "running":
            hint = self._silence(sent)
            answer |= {"hint": hint} if hint else {}
        return answer | {"waited_ms": round((time.monotonic() - self._began) * 1000)}

    def _silence(self, sent: bytes) -> str | None:
        """Return what to do if the job said nothing, or its terminal only repeated what was
        typed."""
        with Output(self._job) as output:
            if output.end - self._before > 2 * len(sent) + _AROUND_BYTES:
                return None
            said = output.read(self._before, output.end)
        if not said:
            return "It said nothing yet: wait until output, input or exit."
        if _visible(said) == _visible(echo_of(sent)):
            return "So far its terminal only echoed what was typed: wait until output, input or exit."
        return None


def _half_a_line(sent: bytes, answer: dict[str, Any]) -> bool:
    """Return whether a job without a terminal still waits for the rest of a line."""
    return bool(sent) and not sent.endswith(b"\n") and not answer["output"] and "echo" not in answer


def _asks(waiting: dict[str, Any], found: Inspection, output: Output) -> bool:
    """Return whether the job has reacted and asks for more.

    A program that takes keys one by one, such as an interpreter, also seems to wait while a timer
    or a request of its own runs: without a prompt or a screen it has not reacted yet.
    """
    record = found.state.waiting or {}
    if not waiting["waiting_for_input"] or waiting.get("prompt") or record.get("canonical") is not False:
        return bool(waiting["waiting_for_input"])
    from outlive.jobs.interaction import screen  # late: a poll of a job without a terminal does without

    return screen.alternate_since(found, output, output.end) is not None


def _visible(printed: bytes) -> str:
    """Return the text without the escape sequences that a line editor puts around it."""
    return readable(printed.decode("utf-8", "replace")).strip()


def echo_of(typed: bytes) -> bytes:
    """Return what a terminal in canonical mode prints when this is typed (termios(3): ICRNL, ONLCR,
    ECHOCTL)."""
    shown = bytearray()
    for byte in typed:
        if byte in b"\r\n":
            shown += b"\r\n"
        elif byte == 0x7F or (byte < 0x20 and byte != 0x09):
            shown += b"^" + bytes([byte ^ 0x40])
        else:
            shown.append(byte)
    return bytes(shown)
