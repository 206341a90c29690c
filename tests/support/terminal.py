"""A call of `outlive` by a person: it has a terminal, keys are typed, and the screen is read."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from typing import Self

import pyte

from support.cli import environment
from support.preloaded import OUTLIVE
from support.wait import until

CTRL_C = b"\x03"


class Terminal:
    """Runs outlive, or `program`, in the foreground of a terminal of its own. `seen` is all that was printed."""

    def __init__(
        self,
        *words: str,
        cols: int = 80,
        rows: int = 24,
        env: Mapping[str, str | None] | None = None,
        program: Sequence[str] = OUTLIVE,
    ) -> None:
        self._screen = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.seen = b""
        self._master, slave = os.openpty()
        self.resize(cols, rows)
        self._process = subprocess.Popen(
            [*program, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment({"TERM": "xterm-256color", "OUTLIVE_HUMAN": "0", "NO_COLOR": None, **(env or {})}),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - a test has no threads
        )
        self.modes = termios.tcgetattr(slave)
        self._slave = slave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        os.close(self._slave)
        os.close(self._master)

    def kill(self) -> None:
        """End the program at once."""
        self._process.kill()  # nothing, if it was waited for
        self._process.wait()

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self._screen.resize(rows, cols)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def text(self) -> str:
        """What was printed so far, with line ends as they were written."""
        while select.select([self._master], [], [], 0)[0]:
            piece = os.read(self._master, 65_536)
            self._stream.feed(piece)
            self.seen += piece
        return self.seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def rows(self) -> list[str]:
        """What the screen shows, without empty rows at its end."""
        self.text()
        rows = [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def until(self, *wanted: str) -> None:
        """Wait until all of these were shown, one behind the other."""
        shown = re.compile(".*?".join(map(re.escape, wanted)), re.DOTALL)
        until(lambda: shown.search(self.text()), what=f"{wanted!r} on the terminal, which shows {self.seen!r}")

    def until_row(self, wanted: str) -> None:
        until(lambda: any(wanted in row for row in self.rows()), what=f"{wanted!r} on the screen")

    def status(self) -> int:
        """Wait for the end. Return the exit status. The terminal must be as it was before."""
        until(lambda: (self.text(), self._process.poll() is not None)[1], what=f"the end; so far {self.seen!r}")
        self.text()
        assert termios.tcgetattr(self._slave) == self.modes
        return self._process.returncode
