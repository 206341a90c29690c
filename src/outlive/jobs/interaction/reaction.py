"""Tell how a job reacts to what is written to it."""

from __future__ import annotations

import time
from contextlib import closing

from outlive import limits
from outlive.answers import advice
from outlive.answers.advice import Advised
from outlive.answers.job import Prompt
from outlive.answers.reading import Polled
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient, ask
from outlive.jobs.interaction import screen, typist
from outlive.jobs.interaction.reading import read
from outlive.jobs.told import known_to_session
from outlive.render import sources
from outlive.render.plain_text import readable
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_DECIDED_EVERY_S = 0.1  # how often the supervisor is asked whether it has decided
_HALF = "It reads on: what was written has no newline at its end, which a line needs."
_HELD = "After Enter the text still stands in the input line: look at the screen, and press Enter again with send-keys."
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
        self._view = sources.view_of(ctx.config, max_bytes)
        self._called = time.monotonic()
        self.begin_again(wait_ms)
        self.asks = False  # once it is settled: whether the job asks for more
        self.waits = False  # ... or waits for input, without a sign that it has reacted
        self._since = self.before if ctx.caller.client is None else known_to_session.seen(ctx, job)

    def begin_again(self, wait_ms: int) -> None:
        """Make ready for another write, whose output is shown with that of those before."""
        self._wait_s, self._began = wait_ms / 1000, time.monotonic()
        with Output(self._job) as output:
            self.before = output.end  # where the reaction to the last write begins

    def settled(self, *, typed: bool = True) -> None:
        """Wait until the job asks for input, ends, or has been silent for `wait_ms`; if that is a second or longer, also
        until its supervisor has judged that silence. `typed`: something was written since `begin_again`."""
        now = time.monotonic()
        latest = max(self._began + max(self._wait_s, limits.REACTION_S), now + min(self._wait_s, limits.REACTION_S))
        end, changed = self.before, now
        deadline = latest
        with closing(ControlClient(self._job, output=True)) as control:
            while True:
                adoption.require_in_place(self._job)
                # Asked before the state is read, which then says what was decided
                is_over = time.monotonic() >= deadline and (time.monotonic() >= latest or self._is_decided())
                inspection = adoption.inspect_and_adopt(self._ctx, self._job)
                with Output(self._job) as output:
                    waiting = job_answer.waiting(inspection, output)
                    self.waits, self.asks = waiting.waiting_for_input, _asks(waiting, inspection, output)
                    if output.end != end:
                        end, changed = output.end, time.monotonic()
                deadline = min(changed + self._wait_s, latest)
                done = self.asks or (self.waits and not typed)
                if done or inspection.state.state != "running" or (is_over and time.monotonic() >= deadline):
                    return
                control.pause(max(deadline, min(latest, time.monotonic() + _DECIDED_EVERY_S)))

    def _is_decided(self) -> bool:
        """Return whether the supervisor has decided if the job waits for input in the present silence."""
        if self._wait_s < limits.REACTION_MS / 1000:
            return True
        try:
            return bool(ask(self._job, {"op": "terminal"}).get("decided", True))
        except OutliveError:  # it has no terminal, or has ended, or its supervisor is not reached now
            return True

    def answer(self, sent: bytes, text: bytes = b"", typed: typist.Typed | None = None) -> Polled:
        """Return the new output and the job's state, and move the client's read position. `text` of what was sent had Enter
        behind it as a key of its own, if `typed`."""
        answer = read(self._ctx, self._job, self._since, self._view)
        reading, since = answer.reading, answer.since
        asks = reading.asks.waiting_for_input
        known_to_session.mark_seen(self._ctx, self._job, reading.shown.next_seq, asks=asks)
        known = reading.asks.waiting_for_input and reading.asks.echo is not False
        if known and not (reading.stopped or since.losses.dropped_bytes or since.losses.missing_bytes):
            since.advised = Advised.made_of(())  # how to answer a prompt, which the caller has just done
            is_half = not sent.endswith(b"\n") and not reading.shown.output
            if sent and is_half and reading.asks.echo is None:  # a job without a terminal
                since.advised = since.advised.with_more(advice.WRITTEN, _HALF)
        if not since.advised.advice and not self.asks and reading.job.state == "running":
            since.advised = since.advised.with_more(advice.WRITTEN, self._silence(sent))
        if typed is not None and reading.job.state == "running" and self.holds(text, typed):
            since.advised = since.advised.with_more(advice.WRITTEN, _HELD)
        answer.waited_ms = round((time.monotonic() - self._called) * 1000)
        return answer

    def holds(self, text: bytes, typed: typist.Typed) -> bool:
        """Return whether the screen still holds a text where it stood before Enter."""
        inspection = adoption.inspect_and_adopt(self._ctx, self._job)
        with Output(self._job) as output:
            return typist.still_stands(inspection, output, text.decode("utf-8", "replace"), typed)

    def _silence(self, sent: bytes) -> str | None:
        """Return what to do if the job said nothing, or its terminal only repeated what was
        typed."""
        with Output(self._job) as output:
            if output.end - self.before > 2 * len(sent) + _AROUND_BYTES:
                return None
            said = output.read(self.before, output.end)
        if not said:
            return "It said nothing yet: wait until output, input or exit."
        if _visible(said) == _visible(echo_of(sent)):
            return "So far its terminal only echoed what was typed: wait until output, input or exit."
        return None


def _asks(waiting: Prompt, inspection: Inspection, output: Output) -> bool:
    """Return whether the job has reacted and asks for more.

    A program that takes keys one by one, such as an interpreter, also seems to wait while a timer
    or a request of its own runs: without a prompt or a screen it has not reacted yet.
    """
    record = inspection.state.waiting
    if not waiting.waiting_for_input or waiting.prompt or record is None or record.canonical is not False:
        return waiting.waiting_for_input
    return screen.alternate_since(inspection, output, output.end) is not None


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
