"""Signals: their names, default dispositions, and a pipe by which they wake a loop."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress

_UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}
_LETS_LIVE = ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGCHLD", "SIGURG", "SIGWINCH")
_resettable: list[int] = []


def all_resettable() -> list[int]:
    """Return every signal whose disposition may be set (signal(7)), without the two of glibc."""
    if not _resettable:
        _resettable.extend(sorted(map(int, set(signal.valid_signals()) - _UNCATCHABLE)))
    return _resettable


def clean_slate() -> None:
    """Set default dispositions and an empty mask.

    A process started by an agent may inherit ignored signals and a blocked mask: with SIGCHLD
    ignored the kernel throws exit codes away (26 of 40 were lost), with SIGTERM blocked nothing
    ends politely.
    """
    for number in all_resettable():
        with suppress(OSError, ValueError):
            if signal.getsignal(number) is not signal.SIG_DFL:
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


# When each signal that this process survived came last (time.monotonic seconds)
received: dict[int, float] = {}


def _ignore(number: int, _frame: object) -> None:
    """Only note it. It is a handler, because an ignored signal (SIG_IGN) stays ignored in every
    program that this process starts (execve(2))."""
    received[number] = time.monotonic()


def survive(numbers: Iterable[int]) -> None:
    """Let these signals not end this process, and keep their dispositions in its children."""
    for number in numbers:
        signal.signal(number, _ignore)


def wakeup_pipe(numbers: Iterable[int]) -> int:
    """Return a non-blocking fd that gets one byte, the number, for each of these signals."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    survive(numbers)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def forget_wakeup() -> None:
    """Undo `wakeup_pipe` for SIGCHLD, in a child that was forked since."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def is_valid(number: int) -> bool:
    """Return whether there is a signal with this number here (signal(7))."""
    return number in signal.valid_signals()


def number_of(text: str) -> int | None:
    """Return the signal that TERM, SIGTERM, sigterm, 15, RTMIN+1 or RTMAX-1 names; None if there is none."""
    word = text.strip().upper()
    if word.isdigit():
        try:
            return int(word) if is_valid(int(word)) else None
        except ValueError:  # a digit of no number, as ², or more of them than int() takes
            return None
    word = word if word.startswith("SIG") else "SIG" + word
    for base, sign, first in (("SIGRTMIN+", 1, signal.SIGRTMIN), ("SIGRTMAX-", -1, signal.SIGRTMAX)):
        count = word.removeprefix(base)
        if count != word:
            number = int(first) + sign * int(count) if count.isascii() and count.isdigit() and len(count) < 3 else 0
            return number if signal.SIGRTMIN <= number <= signal.SIGRTMAX else None
    named = signal.Signals.__members__.get(word)
    return None if named is None else int(named)


def ends(number: int) -> bool:
    """Return whether a process that does not handle this signal is ended by it (signal(7))."""
    return number != 0 and name_of(number) not in _LETS_LIVE


def name_of(number: int) -> str:
    """Return SIGTERM for 15, SIGRTMIN+n for a signal without a name of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"SIG{number}"


def names() -> list[str]:
    return sorted(one.name for one in signal.Signals if is_valid(one))
