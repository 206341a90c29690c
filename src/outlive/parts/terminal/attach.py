"""`outlive attach JOB`: join a person's terminal to the job's.

Several people can watch at the same time; one of them holds the keyboard."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from typing import Any

from outlive.cli import stdio
from outlive.core.ids import short_id
from outlive.core.records import FINISHED, Terminal
from outlive.core.units import seconds_of
from outlive.errors import OutliveError
from outlive.jobs import acts, adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient, ask
from outlive.jobs.diagnosis import other_machine
from outlive.jobs.interaction import stdin
from outlive.jobs.starting import gate
from outlive.parts.terminal import keyboard
from outlive.parts.terminal.drawing import render
from outlive.parts.terminal.emulator import RESET
from outlive.parts.terminal.for_terminals import ForTerminals
from outlive.parts.user import person
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import fds, pty, signals
from outlive.verbs.spec import GlobalOptions, Verb

PREFIX, DETACH, TAKE = b"\x1d", b"d", b"k"  # Ctrl-] as in telnet(1)
CHORD, TAKES = "Ctrl-] d", "Ctrl-] k"
_NOTE_S = 3.0  # how long a note covers the last row
_INSPECT_S = 1.0  # the job is inspected at least this often, in case a hint is lost
_WRITE_S = 30.0  # input that the job does not read within this is dropped


def main(ctx: Context, _verb: Verb, _options: GlobalOptions, **args: Any) -> int:
    """Return 0 when the person has detached or the job has ended. Errors: not_a_pty, stdin_closed, invalid_state,
    invalid_argument."""
    if not (os.isatty(0) and os.isatty(1)):
        raise OutliveError(
            "invalid_argument",
            "attach joins a terminal to a job, and stdin or stdout is none",
            hint="In a script use write, send-keys and screen.",
        )
    join(ctx, args["job"], read_only=args["read_only"])
    return 0


def join(ctx: Context, named: str, *, read_only: bool) -> None:
    """Join this terminal to a job, until the person detaches or the job ends. Errors: as `main`."""
    with lookup.open_job(ctx, named) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        held = gate.of(inspection.definition) if inspection.state.state == "created" else None
        if held is not None:
            before, inspection = inspection, held.answer_here(ctx, job, inspection, read_only=read_only)
            is_asked = inspection is not before
            if is_asked and (not inspection.definition.pty or inspection.state.state in ("created", *FINISHED)):
                return
        _require_joinable(inspection, short_id(job.job_id), ctx.env)
        if not read_only:
            acts.about_to(ctx, "attach", job.job_id)
        session = Session(ctx, job, read_only=read_only)
        with _raw(0):
            session.run()
        stdio.note(session.epitaph() + "\n")


def _require_joinable(inspection: Inspection, name: str, env: Mapping[str, str]) -> None:
    """Raise, in the words of a person at a terminal, unless the job has a terminal and this one can show it. Errors: as
    `main`."""
    state = inspection.state
    if state.finished:
        shows = f"`outlive log {name}` shows what it printed"
        if inspection.definition.pty:
            shows += f", `outlive screen --human {name}` how its terminal looked at last"
        raise OutliveError("stdin_closed", f"job {name} has ended, so there is nothing to join", hint=f"{shows}.")
    if state.state == "created":
        raise OutliveError(
            "invalid_state", f"job {name} has not started yet", hint=stdin.before_start(inspection, name)
        )
    if not inspection.definition.pty:
        hint = f"`outlive log -f {name}` shows what it prints. A job gets a terminal with `outlive run --pty`."
        if inspection.definition.stdin == "open":
            hint = f"`outlive write {name} --data TEXT` writes to its stdin. {hint}"
        raise OutliveError("not_a_pty", f"job {name} runs without a terminal", hint=hint)
    if env.get("TERM") == "dumb":
        raise OutliveError(
            "invalid_argument",
            "attach draws on your terminal, which cannot be drawn on: TERM is dumb",
            hint=f"`outlive log -f {name}` shows what it prints, `outlive screen --human {name}` its screen, and `outlive submit "
            f"{name} --text LINE` types a line.",
        )


@contextlib.contextmanager
def _raw(fd: int) -> Iterator[None]:
    """Put the terminal into raw mode, and back into its old mode however the block ends."""
    before = termios.tcgetattr(fd)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        tty.setraw(fd)
        yield
    finally:
        with contextlib.suppress(OSError):
            stdio.write(RESET + b"\r\n")
        with contextlib.suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSADRAIN, before)


class Session:
    """One terminal attached to one job."""

    def __init__(self, ctx: Context, job: JobDir, *, read_only: bool) -> None:
        self._ctx = ctx
        self._job = job
        self._read_only = read_only
        self._control = ControlClient(job, output=True)
        self._shown_part = ForTerminals()
        self._shown = 0  # output position
        self._prefixed = False
        self._detached = False
        self._note_until: float | None = None
        self._keyboard: keyboard.Keyboard | None = None
        self._size = (0, 0)
        self._is_hosted = False  # on another host
        self._away: str | None = None  # since when the job's host is out of reach
        self._sent = 0  # requests whose answer did not come yet

    def run(self) -> None:
        wakeup = signals.wakeup_pipe((signal.SIGWINCH,))
        try:
            inspection = adoption.inspect_and_adopt(self._ctx, self._job)
            self._is_hosted = inspection.definition.host is not None
            self._away = self._away_since(inspection)
            held = self._take()
            self._paint(self._greeting(held=held))
            while not self._detached:
                # Inspect first: what was printed before the end is then shown below
                inspection = adoption.inspect_and_adopt(self._ctx, self._job)
                self._show()
                self._look_at_host(inspection)
                if inspection.state.finished:
                    return
                self._wait(wakeup)
        finally:
            self._give_back()
            self._control.close()

    def epitaph(self) -> str:
        name = short_id(self._job.job_id)
        if self._detached:
            return f"[detached; job {name} goes on]"
        state = adoption.inspect_and_adopt(self._ctx, self._job).state
        how = f"with code {state.exit_code}" if state.exit_code is not None else f"by {state.signal or state.reason}"
        return f"[job {name} {state.state} {how}]"

    def _wait(self, wakeup: int) -> None:
        deadline = time.monotonic() + _INSPECT_S
        awaited = self._control.awaited(min(deadline, self._note_until or deadline))
        if awaited is not None:
            ready, _, _ = select.select([*awaited.fds, 0, wakeup], [], [], awaited.left_s())
            self._control.drain()
            if wakeup in ready:
                os.read(wakeup, 64)
            if 0 in ready:
                self._type(os.read(0, 4096))
        self._hear()
        self._look_at_keyboard()
        if pty.size(1) != self._size:
            self._follow_size()
        if self._note_until is not None and time.monotonic() >= self._note_until:
            self._paint()

    # --- what comes ---

    def _show(self) -> None:
        with Output(self._job) as out:
            while self._shown < out.end:
                begin, data = out.take(self._shown, 1 << 16)
                if not data:  # the log was cut short
                    break
                self._shown = begin + len(data)
                stdio.write(self._shown_part.feed(data))

    def _paint(self, note: str = "") -> None:
        """Draw the job's screen, and a `note` on the last row."""
        state = adoption.inspect_and_adopt(self._ctx, self._job).state
        sizes = [(seq, cols, rows) for seq, cols, rows in (state.terminal or Terminal()).sizes]
        with Output(self._job) as out:
            sizes = sizes or [(0, *pty.size(1))]
            screen = out.steady(lambda: render(out.read, out.end, sizes, out.gap.merged.stop))
            self._shown = out.end
        stdio.write(ForTerminals().feed(screen.paint()))
        self._note_until = time.monotonic() + _NOTE_S if note else None
        if note := note or self._standing_note():
            cols, rows = pty.size(1)
            stdio.write(f"\x1b7\x1b[{rows};1H\x1b[7m {note[: max(1, cols - 2)]} \x1b[0m\x1b8".encode())

    def _greeting(self, *, held: bool) -> str:
        if self._away is not None:
            return ""
        if not held and not self._read_only:
            return f"{self._whose()}, {CHORD} detaches"
        return f"{'attached to' if held else 'watching'} job {short_id(self._job.job_id)}; {CHORD} detaches"

    # --- a job on another host ---

    def _away_since(self, inspection: Inspection) -> str | None:
        is_here = inspection.definition.host is None
        return None if is_here else other_machine.elsewhere(inspection, self._job).unreachable_since

    def _look_at_host(self, inspection: Inspection) -> None:
        before, self._away = self._away, self._away_since(inspection)
        if (before is None) == (self._away is None):
            return
        if self._away is None:
            self._follow_size()
        self._paint("" if self._away else f"host {inspection.definition.host} is reached again")

    def _standing_note(self) -> str:
        if self._away is None:
            return ""
        clock = time.strftime("%H:%M:%S", time.localtime(seconds_of(self._away)))
        return f"out of reach since {clock}, the job goes on there; {CHORD} detaches"

    def _hear(self) -> None:
        """Tell the person what did not reach the job."""
        answers = self._control.take_answers()
        self._sent = max(0, self._sent - len(answers))
        lost = [answer["message"] for answer in answers if not answer["ok"]]
        if self._sent and not self._control.connected:
            self._sent = 0
            if not adoption.inspect_and_adopt(self._ctx, self._job).state.finished:
                lost.append("the connection to the job broke; what was typed last may be lost")
        if lost:
            self._paint(lost[-1])

    # --- the keyboard ---

    def _take(self, *, force: bool = False) -> bool:
        """Take the keyboard, and let the job's terminal have the size of this one. Return False if another person holds
        it."""
        if self._read_only:
            return False
        size, before = self._size_of_job(), self._keyboard
        self._keyboard = keyboard.take(self._job, person("outlive attach"), size, force=force)
        if before is not None:
            before.release()
        if self._keyboard is not None:
            self._follow_size()
        return self._keyboard is not None

    def _look_at_keyboard(self) -> None:
        """Tell the person that another one has taken the keyboard."""
        if self._keyboard is not None and not self._keyboard.is_held:
            self._keyboard.release()
            self._keyboard = None
            self._paint(self._whose())

    def _whose(self) -> str:
        person = keyboard.holder(self._job)
        who = "no person types" if person is None else f"{person.held_by} types"
        return f"{who}; {TAKES} takes the keyboard"

    def _give_back(self) -> None:
        """Let go of the keyboard, and set the size from before."""
        held, self._keyboard = self._keyboard, None
        if held is None:
            return
        if self._away is None and held.is_held and held.free_size and self._size_of_job() == [*self._size]:
            self._resize((held.free_size[0], held.free_size[1]))
        held.release()

    # --- what goes ---

    def _type(self, keys: bytes) -> None:
        if not keys:  # the terminal is gone
            self._detached = True
            return
        sent, taken = b"", False
        for key in (keys[at : at + 1] for at in range(len(keys))):
            if self._prefixed:
                self._prefixed = False
                if key == DETACH:
                    self._detached = True
                    break
                if key == TAKE:
                    if self._keyboard is None:
                        sent = b""  # it was typed while another person held the keyboard
                    taken = self._take(force=True)
                    continue
                sent += key if key == PREFIX else PREFIX + key
            elif key == PREFIX:
                self._prefixed = True
            else:
                sent += key
        if self._note_until is not None or taken:
            self._paint("the keyboard is yours" if taken else "")
        if not sent or self._read_only:
            return
        self._look_at_keyboard()
        if self._keyboard is not None or self._take():
            self._send(sent)
        else:
            self._paint(self._whose())

    def _send(self, data: bytes) -> None:
        memory = fds.memory_file("keys", data)
        try:
            while not self._control.request({"op": "write", "wait_s": _WRITE_S}, (memory,)):
                time.sleep(0.02)  # its supervisor was just killed; the next one listens within milliseconds
                if adoption.inspect_and_adopt(self._ctx, self._job).state.finished:
                    return
            self._sent += 1
        except OutliveError as error:  # nothing leads to the host of the job now
            self._paint(error.message)
        finally:
            os.close(memory)

    # --- size ---

    def _follow_size(self) -> None:
        cols, rows = pty.size(1)
        if self._keyboard is None or self._away is not None or not cols or not rows:
            return
        if self._resize((cols, rows)):
            self._size = (cols, rows)

    def _size_of_job(self) -> list[int] | None:
        """Return columns and rows of the job's terminal; None if it has ended."""
        inspection = adoption.inspect_and_adopt(self._ctx, self._job)
        known = inspection.state.terminal or Terminal()
        if inspection.state.finished or not known.cols or not known.rows:
            return None
        return [known.cols, known.rows]

    def _resize(self, size: tuple[int, int]) -> bool:
        """Return False if no supervisor heard of it and the next one has to be told: the job is ending, or its supervisor
        was just killed. One that is stopped takes the size when it goes on. A host is asked once: that can take 30 s."""
        try:
            ask(self._job, {"op": "resize", "cols": size[0], "rows": size[1]})
        except OutliveError:
            self._control.drain()
            return self._is_hosted or self._control.connected
        return True
