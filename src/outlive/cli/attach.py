"""`outlive attach JOB`: join a person's terminal to the job's.

Others can use it at the same time.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty

from outlive import config
from outlive.cli import stdio
from outlive.core.ids import short_id
from outlive.core.records import FINISHED
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup, waiting
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction import stdin
from outlive.launch.from_cli import Launcher
from outlive.render.emulator import RESET
from outlive.render.for_terminals import ForTerminals
from outlive.render.screen import render
from outlive.store.output.merged import Output
from outlive.store.root import Store
from outlive.system import fds, pty, signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from outlive.store.job_dir import JobDir

PREFIX, DETACH = b"\x1d", b"d"  # Ctrl-] as in telnet(1)
CHORD = "Ctrl-] d"
_NOTE_S = 3.0  # how long a note about the chord covers the last row
_INSPECT_S = 1.0  # the job is inspected at least this often, in case a hint is lost
_WRITE_S = 30.0  # input that the job does not read within this is dropped


def main(values: dict[str, Any], options: dict[str, Any]) -> int:
    """Return 0 when the person has detached or the job has ended.

    `values` are the arguments of the verb, `options` the global ones. Errors: not_a_pty,
    stdin_closed, invalid_state, invalid_argument.
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise OutliveError(
            "invalid_argument",
            "attach joins a terminal to a job, and stdin or stdout is none",
            hint="In a script use write, send-keys and screen.",
        )
    env = dict(os.environ)
    settings = config.load(env, options["config"])
    store = Store.open(options["root"], env)
    owner = env.get("OUTLIVE_OWNER") or "cli"
    wrapper = ("sh", "-lc")
    ctx = Context(
        store, settings, face="cli", owner=owner, client=None, cwd=None, env=env, launcher=Launcher(), shell=wrapper
    )
    with contextlib.closing(store), lookup.open_job(ctx, values["job"]) as job:
        found = adoption.inspect_and_adopt(ctx, job)
        if found.definition.approval is not None:
            from outlive.cli import ask  # late: few jobs are asked about

            if ask.is_pending(job, found):
                found = ask.about(ctx, job, read_only=values["read_only"])
                if not found.definition.pty or found.state.state in ("created", *FINISHED):
                    return 0
        stdin.require_pty(found)
        if not values["read_only"]:
            ctx.note("attach", job.job_id)
        session = Session(ctx, job, read_only=values["read_only"])
        with _raw(0):
            session.run()
        stdio.note(session.epitaph() + "\n")
    return 0


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
        self._size_before: tuple[int, int] | None = None
        self._size = (0, 0)

    def run(self) -> None:
        wakeup = signals.wakeup_pipe((signal.SIGWINCH,))
        try:
            self._follow_size()
            self._paint(note=True)
            while not self._detached:
                # Inspect first: what was printed before the end is then shown below
                found = adoption.inspect_and_adopt(self._ctx, self._job)
                self._show()
                if found.state.finished:
                    return
                self._wait(wakeup)
        finally:
            self._give_back_size()
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
        for pause in self._control.pause(min(deadline, self._note_until or deadline)):
            left = max(0.0, (pause.deadline or deadline) - time.monotonic())
            ready, _, _ = select.select([*pause.fds, 0, wakeup], [], [], left)
            if wakeup in ready:
                os.read(wakeup, 64)
                self._follow_size()
            if 0 in ready:
                self._type(os.read(0, 4096))
        self._control.forget_answers()
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

    def _paint(self, *, note: bool = False) -> None:
        """Draw the job's screen; with `note`, also a note about the chord on the last row."""
        state = adoption.inspect_and_adopt(self._ctx, self._job).state
        sizes = [(seq, cols, rows) for seq, cols, rows in (state.terminal or {}).get("sizes", [])]
        with Output(self._job) as out:
            sizes = sizes or [(0, *self._size)]
            screen = out.steady(lambda: render(out.read, out.end, sizes, out.gap.merged.stop))
            self._shown = out.end
        stdio.write(ForTerminals().feed(screen.paint()))
        self._note_until = time.monotonic() + _NOTE_S if note else None
        if note:
            how = "watching" if self._read_only else "attached to"
            text = f" {how} job {short_id(self._job.job_id)}; {CHORD} detaches "
            stdio.write(f"\x1b7\x1b[{pty.size(1)[1]};1H\x1b[7m{text}\x1b[0m\x1b8".encode())

    # --- what goes ---

    def _type(self, keys: bytes) -> None:
        if not keys:  # the terminal is gone
            self._detached = True
            return
        sent = b""
        for key in (keys[at : at + 1] for at in range(len(keys))):
            if self._prefixed:
                self._prefixed = False
                if key == DETACH:
                    self._detached = True
                    break
                sent += key if key == PREFIX else PREFIX + key
            elif key == PREFIX:
                self._prefixed = True
            else:
                sent += key
        if self._note_until is not None:
            self._paint()
        if sent and not self._read_only:
            self._send(sent)

    def _send(self, data: bytes) -> None:
        memory = fds.memory_file("keys", data)
        try:
            while not self._control.request({"op": "write", "wait_s": _WRITE_S}, (memory,)):
                time.sleep(0.02)  # its supervisor was just killed; the next one listens within milliseconds
                if adoption.inspect_and_adopt(self._ctx, self._job).state.finished:
                    return
        finally:
            os.close(memory)

    # --- size ---

    def _follow_size(self) -> None:
        cols, rows = pty.size(1)
        if self._read_only or not cols or not rows:
            return
        if self._size_before is None:
            known = (adoption.inspect_and_adopt(self._ctx, self._job).state.terminal or {}) or {
                "cols": cols,
                "rows": rows,
            }
            self._size_before = (known["cols"], known["rows"])
        self._resize((cols, rows))
        self._size = (cols, rows)

    def _give_back_size(self) -> None:
        """Set the size from before, unless it was changed by another terminal since."""
        found = adoption.inspect_and_adopt(self._ctx, self._job)
        known = found.state.terminal or {}
        if self._size_before and not found.state.finished and (known.get("cols"), known.get("rows")) == self._size:
            self._resize(self._size_before)

    def _resize(self, size: tuple[int, int]) -> None:
        with contextlib.suppress(OutliveError):  # it is ending
            waiting.drive(stdin.ask(self._job, {"op": "resize", "cols": size[0], "rows": size[1]}))
