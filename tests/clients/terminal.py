"""A client in a terminal, as a person has it: a screen of 140 by 40 that is kept, keys, and answers to what programs ask."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

COLUMNS, ROWS = 140, 40
# What a client asks its terminal: where the cursor is, what it can do, its colours. Without an answer some wait, or give up
_ASKED = {
    rb"\x1b\[6n": b"\x1b[1;1R",
    rb"\x1b\[0?c": b"\x1b[?62;22c",
    rb"\x1b\]10;\?(?:\x07|\x1b\\)": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    rb"\x1b\]11;\?(?:\x07|\x1b\\)": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
_QUESTIONS = re.compile(b"|".join(b"(%s)" % pattern for pattern in _ASKED))
_ANSWERS = tuple(_ASKED.values())


class Terminal:
    """A program in a terminal of its own, from `with` on; at the end it is ended with all that it started. What it draws
    goes to `kept`."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path, kept: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        own = ["setsid", "--ctty", *command]
        self._program = subprocess.Popen(own, env=env, cwd=cwd, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self._kept = kept
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Terminal:
        self._reader.start()
        return self

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def ended(self) -> bool:
        return self._program.poll() is not None

    def __exit__(self, *_: object) -> None:
        for number, seconds in ((signal.SIGTERM, 3.0), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._program.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._program.wait(seconds)
        self._over.set()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        with self._kept.open("wb") as kept, contextlib.suppress(OSError):
            while not self._over.is_set():
                if select.select([self._master], [], [], 0.2)[0]:
                    drawn = os.read(self._master, 1 << 16)
                    kept.write(drawn)
                    kept.flush()
                    for question in _QUESTIONS.finditer(drawn):
                        os.write(self._master, _ANSWERS[(question.lastindex or 1) - 1])


def ran_in_terminal(
    command: list[str], env: dict[str, str], work: Path, folder: Path, most_s: float, over: Callable[[], bool]
) -> None:
    """Run a client in a terminal until `over`, or until it ends by itself, at most `most_s` seconds."""
    last = time.monotonic() + most_s
    with Terminal(command, env, work, folder / "screen") as terminal:
        while time.monotonic() < last and not over() and not terminal.ended():
            time.sleep(0.5)
