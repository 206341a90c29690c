"""`outlive list --follow`: keep the list of jobs up to date."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time

from outlive.cli import human, stdio
from outlive.cli.main import ANSWERED, INTERRUPTED
from outlive.cli.text import Style, cut
from outlive.core.members import entries_of
from outlive.jobs.context import Context
from outlive.system import signals, waiting
from outlive.verbs import envelope
from outlive.verbs.spec import FULL, GlobalOptions, Verb

_EVERY_S = 1.0
# The alternate screen, without a cursor and without wrapped lines; and what was there before
_ENTER, _LEAVE = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
# Terminals that know synchronized updates show a frame at once; the others ignore these
_BEGIN, _END = "\x1b[?2026h\x1b[H", "\x1b[J\x1b[?2026l"


def follow(ctx: Context, verb: Verb, options: GlobalOptions, **args: object) -> int:
    """Show the list whenever it has changed, until ^C or until stdout has no reader. Return the exit status."""
    on_screen = options.human and os.isatty(1) and ctx.env.get("TERM") != "dumb"
    shown = _Screen(ctx, options) if on_screen else _Lines(ctx, options)
    wakeup = signals.wakeup_pipe((signal.SIGWINCH,))
    try:
        while True:
            shown.show(envelope.sized(envelope.full(verb.type, verb.run(ctx, **args)), FULL))
            if not _wait(wakeup):
                return ANSWERED
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        shown.close()


def _wait(wakeup: int) -> bool:
    """Wait until it is time to look again. Return False if stdout has no reader any more."""
    poller = select.poll()
    poller.register(wakeup, select.POLLIN)
    poller.register(1, 0)  # POLLERR and POLLHUP alone
    ready = waiting.poll(poller, int(_EVERY_S * 1000))
    if any(fd == wakeup for fd, _ in ready):
        os.read(wakeup, 64)
    return all(fd != 1 for fd, _ in ready)


class _Lines:
    """Prints each list that is another one than before: one object a line, or tables."""

    def __init__(self, ctx: Context, options: GlobalOptions) -> None:
        self._env = ctx.env
        self._human = options.human
        self._verbose = options.verbose > 0
        self._last: dict[str, object] | None = None

    def show(self, answer: dict[str, object]) -> None:
        if self._last is not None and _without_usage(answer) == _without_usage(self._last):
            return
        if self._human:
            between = "\n" if self._last else ""
            stdio.text(between + human.answer(answer, Style.of_stdout(self._env), verbose=self._verbose))
        else:
            stdio.json_line(envelope.encoded(answer))
        self._last = answer

    def close(self) -> None:
        return


def _without_usage(answer: dict[str, object]) -> dict[str, object]:
    """Return a list without what changes all the time while a job runs."""
    return {**answer, "jobs": [{**job, "usage": None} for job in entries_of(answer, "jobs")]}


class _Screen:
    """Draws the table over itself, on a screen of its own; when it ends, the last table stays."""

    def __init__(self, ctx: Context, options: GlobalOptions) -> None:
        self._env = ctx.env
        self._verbose = options.verbose > 0
        self._answer: dict[str, object] | None = None
        self._modes = termios.tcgetattr(1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        signal.signal(signal.SIGTSTP, self._stop)
        self._enter()

    def show(self, answer: dict[str, object]) -> None:
        self._answer = answer
        size = os.get_terminal_size(1)
        style = Style.of_stdout(self._env)
        style.width = size.columns
        rows = human.answer(answer, style, verbose=self._verbose).splitlines()
        head = style.paint(cut(f"{time.strftime('%H:%M:%S')}  ^C ends", style.width), "2")
        room = max(1, size.lines - 1)
        if len(rows) > room:
            rows = [*rows[: room - 1], cut(f"… and {len(rows) - room + 1} more rows", style.width)]
        drawn = "\r\n".join(f"{row}\x1b[K" for row in (head, *rows))
        stdio.text(f"{_BEGIN}{drawn}{_END}")

    def _enter(self) -> None:
        stdio.write(_ENTER)
        modes = termios.tcgetattr(1)
        modes[3] &= ~termios.ECHO  # else what is typed would stand between the rows
        termios.tcsetattr(1, termios.TCSADRAIN, modes)

    def _leave(self) -> None:
        stdio.write(_LEAVE)
        termios.tcsetattr(1, termios.TCSADRAIN, self._modes)

    def _stop(self, *_: object) -> None:
        """Give the terminal back while this call is stopped (^Z)."""
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._enter()

    def close(self) -> None:
        self._leave()
        if self._answer is not None:
            stdio.text(human.answer(self._answer, Style.of_stdout(self._env), verbose=self._verbose))
