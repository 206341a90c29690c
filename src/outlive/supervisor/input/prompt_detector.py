"""Whether the job waits for input: decided by which thread is blocked in which system call, not by
a time of silence.

(a) A process of the job is blocked reading its stdin or terminal: yes.
(b) One is blocked in poll, select or epoll on it while no thread works: yes if the last line of the
    output is unfinished, as a prompt is, or if it has switched the line discipline off (an editor,
    a menu) and listens to nothing else. A server that also takes keys on its stdin is not waiting
    for them. A program that has switched it off and does not stand at a prompt has to be still for
    a second: `top` draws, and listens in between.
(c) One may not be looked at (su, sudo): yes if the terminal reads a line, shows nothing of it, and
    the last line is unfinished: a password.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable

from outlive import limits
from outlive.core.records import InputWait
from outlive.core.units import timestamp
from outlive.store.output.patterns import seen
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.output.pump import Pump
from outlive.system import blocked_reads
from outlive.system.pty import Modes

_QUIET_S = 0.3  # silence before it is determined which threads are blocked, ...
_INSPECT_EVERY_S = (0.3, 2.0)  # ... then again at growing intervals
_STILL_S = 1.2  # silence of a program that switched the line discipline off and stands at no prompt: it may draw
_PROMPT_QUIET_S = 3.0  # silence before it, where the kernel does not tell which threads are blocked

# A program that polls its input and goes on by itself was not waiting: it draws (top, a spinner, a clock). The next time it
# has to stand still so many times as long, at most this long, until it gets input
_LONGER, _LONGEST_S = 4, 60.0

_PROMPT = (
    rb"(?:[?:>$#%\])]|\xe2\x9d\xaf|\xc2\xbb)\s*\Z"  # also ❯ and »
    rb"|\A(?:\.\.\.|[|+*])\Z"  # alone on its line: a statement goes on (Python, Node, R, irb)
)


class PromptDetector:
    """Keeps `waiting` up to date and calls `on_change(waiting, prompt)` when it becomes true or
    false.

    `pids` returns the processes of the job, `modes` those of its terminal, None if it has none.
    """

    def __init__(
        self,
        loop: EventLoop,
        target: blocked_reads.Target,
        pump: Pump,
        *,
        pids: Callable[[], Iterable[int]],
        modes: Callable[[], Modes | None],
        on_change: Callable[[InputWait | None, str], None],
    ) -> None:
        self._next_look = loop.timer(self._look)
        self._target = target
        self._pump = pump
        self._pids = pids
        self._modes = modes
        self._on_change = on_change
        self._waiting: InputWait | None = None
        self._input_at = 0.0
        self._typed_at = 0  # where the output ended at the last input
        self._answered: int | None = None  # ... that output has followed, of a job without a terminal
        self._wait_s = _INSPECT_EVERY_S[0]
        self._enough_s = _QUIET_S if blocked_reads.supported() else _PROMPT_QUIET_S
        self._still_s = 0.0  # silence of a program that polls before it counts as waiting
        self.pollers: tuple[int, ...] = ()  # processes that polled the input at the last look
        self._is_polling = False  # whether the job counts as waiting because it polls
        self._left_s = 0.0  # how long a program that polls has to stand still yet until it can be judged
        self._judged: float | None = None  # the last input or output before the silence that was judged

    def start(self) -> None:
        self._next_look.after(self._enough_s)

    def input(self) -> None:
        """Take note of input: what was asked is being answered."""
        self._input_at = time.monotonic()
        self._typed_at = self._pump.end
        self._still_s = 0.0
        self._set(None)
        self._wait_s = _INSPECT_EVERY_S[0]
        if self._next_look.is_set:
            self._next_look.after(self._enough_s)

    def output(self) -> None:
        """Take note of output."""
        if self._modes() is None:
            self._answered = self._typed_at
        if self._waiting is not None and self._is_polling:
            self._still_s = min(max(self._still_s, self._enough_s) * _LONGER, _LONGEST_S)
        if self._waiting is not None or self._wait_s > _INSPECT_EVERY_S[0]:
            self._set(None)
            self._wait_s = _INSPECT_EVERY_S[0]
            self._next_look.after(self._enough_s)

    def stop(self) -> None:
        self._next_look.cancel()
        self._waiting = None

    @property
    def is_decided(self) -> bool:
        """Whether the present silence was looked at for long enough to say if the job waits."""
        return self._judged == self._last_sign()

    def _look(self) -> None:
        left = self._enough_s - self._silent_s()
        if left > 0:
            self._next_look.after(left)
            return
        sign = self._last_sign()
        self._set(self._found())
        self._next_look.after(self._wait_s)
        self._wait_s = min(self._wait_s * 1.5, _INSPECT_EVERY_S[1])
        # A program that may be drawing is judged when it has stood still, not at the look after that
        if self._left_s > 0:
            self._next_look.after(min(self._wait_s, self._left_s))
        else:
            self._judged = sign

    def _set(self, waiting: InputWait | None) -> None:
        if _facts(waiting) != _facts(self._waiting):
            self._waiting = waiting
            self._on_change(waiting, self._last_line().decode("utf-8", "replace")[-limits.PROMPT_CHARS :])

    def _last_sign(self) -> float:
        return max(self._pump.last_output, self._input_at)

    def _silent_s(self) -> float:
        return time.monotonic() - self._last_sign()

    def _found(self) -> InputWait | None:
        modes = self._modes()
        if not self._is_waiting(modes):
            return None
        echo, canonical = (modes.echo, modes.canonical) if modes else (None, None)
        answered = self._answered
        return InputWait(seq=self._pump.end, at=timestamp(), echo=echo, canonical=canonical, answered=answered)

    def _is_waiting(self, modes: Modes | None) -> bool:
        if not blocked_reads.supported():
            return bool(re.search(_PROMPT, self._last_line()))
        states = blocked_reads.inspect_threads(self._pids(), self._target)
        self._is_polling, self.pollers = not states.reading, states.pollers
        self._left_s = 0.0
        if states.reading:
            return True
        if states.polling and not states.busy:
            line = self._last_line()
            draws = modes is not None and not modes.canonical
            still_s = _STILL_S if draws and not re.search(_PROMPT, line) else 0.0
            self._left_s = still_s - self._silent_s()
            if self._silent_s() < max(still_s, self._still_s):
                return False
            return bool(line) or (draws and not states.others)
        if states.unreadable and modes is not None:
            return modes.canonical and not modes.echo and bool(self._last_line())
        return False

    def _last_line(self) -> bytes:
        """Return the visible text of an unfinished last line, empty if the output ends with a whole line."""
        new = self._pump.end - (self._answered or 0)
        text = seen(self._pump.last_bytes(min(new, limits.PROMPT_BYTES)))
        return text.rpartition(b"\n")[2].strip()


def _facts(waiting: InputWait | None) -> object:
    """Return what makes one wait another one than the last."""
    return waiting and (waiting.seq, waiting.echo, waiting.canonical)
