"""A terminal as its supervisor sees it: what the program asks of it, which modes it set, how large
it is.

There is no emulator here: only sequences that ask or switch are looked for in what was stored.
Readers render the screen. (One question takes an emulator: where the cursor is. A fork answers it
and ends.)
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

from outlive import parts
from outlive.core import records
from outlive.core.record import Value
from outlive.store import fault_report
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import GapFile
from outlive.supervisor.event_loop import EventLoop
from outlive.system import daemonize, pty, tree

_SIZES = 64  # resizes that are remembered
_ANSWERS_A_SECOND = 100  # to device queries: a file full of them, shown by cat, is no program that asks
_CURSOR_QUERIES = 8  # that wait for an answer at a time
_CURSOR_ANSWER_S = 2.0  # finding the cursor may take this long before a guess is answered
_MODES_EVERY_S = 1.0  # how often changed modes of a terminal are written down

_BLOCK = 1 << 20
_LONGEST = 128  # a sequence of ours that is not complete after so many bytes is none
# ECMA-48 and xterm's ctlseqs: CSI with its prefix, parameters, intermediate and final; OSC colour
# questions; DCS $q (a setting) and +q (a capability); ESC c = > Z. Compiled at the first use: most jobs have no terminal.
_SEQUENCE = (
    rb"\x1b(?:\[([?>=]?)([0-9;]*)([$!]?)([@-~])|\](1[012]);\?(?:\x07|\x1b\\)|P([$+])q[^\x1b\x07]{0,96}\x1b\\|([c=>Z]))"
)
_UNFINISHED = rb"\x1b(?:\[[?>=]?[0-9;]*[$!]?|\][0-9;?]*\x1b?|P[$+]?q?[^\x1b\x07]{0,96}\x1b?|)\Z"
_MODES = {b"1": "application_cursor", b"66": "application_keypad", b"2004": "bracketed_paste"}
_ALTERNATE = (b"47", b"1047", b"1049")
_NAMES = (*_MODES.values(), "alternate_screen")
# A VT220 with colours, as xterm says; and a version so old that no program asks for more
_ATTRIBUTES, _SECOND_ATTRIBUTES = b"\x1b[?62;22c", b"\x1b[>0;10;1c"
_COLOURS = {b"10": b"ffff/ffff/ffff", b"11": b"0000/0000/0000", b"12": b"ffff/ffff/ffff"}


class _Cursor(Value):
    """The question where the cursor is, asked at output position `at`. `prefix`: of the answer, as in the question."""

    at: int
    prefix: bytes

    def guess(self) -> bytes:
        return b"\x1b[%s1;1R" % self.prefix


def new_record(master: int) -> records.Terminal:
    """Return the record of a terminal that no program has used yet."""
    cols, rows = pty.size(master)
    return records.Terminal(cols=cols, rows=rows, sizes=[[0, cols, rows]], modes=dict.fromkeys(_NAMES, False))


class Terminal:
    """The terminal of one job. `record` is what state.json keeps of it, for a takeover and for readers."""

    def __init__(
        self, job: JobDir, loop: EventLoop, master: int, record: records.Terminal | None, on_change: Callable[[], None]
    ) -> None:
        """`on_change` is called when modes or size differ from the record."""
        self._job = job
        self._loop = loop
        self._master = master
        self._change = loop.timer(on_change)
        self._guess = loop.timer(self._cursor_found)
        self._on_change = on_change
        self._log = job.open_file(LOGS[0])
        known = record or new_record(master)
        self.modes = {**dict.fromkeys(_NAMES, False), **known.modes}
        self._sizes, self._scanned = known.sizes or new_record(master).sizes, known.scanned
        self._answers: list[bytes | _Cursor] = []
        self._allowed, self._since = _ANSWERS_A_SECOND, 0.0
        self._finder: int | None = None  # read end of the fork that looks for the cursor
        if record is not None:
            self._resume()

    def _resume(self) -> None:
        """Go on after a takeover. What was asked before may have been answered, so nothing of it is answered."""
        gaps = GapFile(self._job)
        hole = gaps.newest().streams[0]
        gaps.close()
        if hole.holds(self._scanned):
            self._scanned = hole.stop
        self.look(answer=False)

    def record(self) -> records.Terminal:
        cols, rows = self.size
        return records.Terminal(cols=cols, rows=rows, sizes=self._sizes, modes=dict(self.modes), scanned=self._scanned)

    def facts(self) -> dict[str, object]:
        """Return what a client that types has to know now."""
        discipline = pty.modes(self._master)
        cols, rows = self.size
        return {"cols": cols, "rows": rows, "echo": discipline.echo, "canonical": discipline.canonical, **self.modes}

    @property
    def size(self) -> tuple[int, int]:
        return self._sizes[-1][1], self._sizes[-1][2]

    def resize(self, cols: int, rows: int, seq: int) -> None:
        """Set the size that the terminal has from output position `seq` on. Errors: OSError."""
        pty.set_size(self._master, cols, rows)
        if self.size == (cols, rows):
            return
        if self._sizes[-1][0] == seq:
            self._sizes.pop()
        self._sizes = [*self._sizes, [seq, cols, rows]][-_SIZES:]
        self._sizes[0][0] = 0
        self._on_change()

    # --- what the program prints ---

    def look(self, *, answer: bool = True) -> None:
        """Scan what has been stored since the last look."""
        before = dict(self.modes)
        size = os.fstat(self._log).st_size
        while self._scanned < size:
            data = os.pread(self._log, _BLOCK, self._scanned)
            if not data:
                break
            used = self._scan(data, answer=answer)
            self._scanned += used
            if used < len(data) and len(data) < _BLOCK:
                break  # an unfinished sequence: the rest of it comes
        self._flush()
        if self.modes != before and not self._change.is_set:
            self._change.after(_MODES_EVERY_S)

    def _scan(self, data: bytes, *, answer: bool) -> int:
        """Return how many bytes need not be scanned again."""
        if b"\x1b" not in data:
            return len(data)
        for match in re.finditer(_SEQUENCE, data):
            self._obey(match)
            if answer:
                self._answer(match, self._scanned + match.start())
        begun = re.compile(_UNFINISHED).search(data, max(0, len(data) - _LONGEST))
        return begun.start() if begun else len(data)

    def _obey(self, match: re.Match[bytes]) -> None:
        prefix, parameters, between, final, _, _, short = match.groups()
        if final in (b"h", b"l") and prefix == b"?":
            for number in parameters.split(b";"):
                name = "alternate_screen" if number in _ALTERNATE else _MODES.get(number)
                if name:
                    self.modes[name] = final == b"h"
        elif short in (b"=", b">"):
            self.modes["application_keypad"] = short == b"="
        elif short == b"c":
            self.modes = dict.fromkeys(_NAMES, False)
        elif final == b"p" and between == b"!":
            self.modes["application_cursor"] = self.modes["application_keypad"] = False

    # --- what it asks ---

    def _answer(self, match: re.Match[bytes], at: int) -> None:
        words = self._words(match)
        if words == b"":
            return
        now = time.monotonic()
        if now - self._since > 1:
            self._allowed, self._since = _ANSWERS_A_SECOND, now
        if self._allowed <= 0:
            return
        self._allowed -= 1
        if words is None:
            question = _Cursor(at, match[1])
            waiting = sum(isinstance(one, _Cursor) for one in self._answers)
            self._answers.append(question if waiting < _CURSOR_QUERIES else question.guess())
            self._find_cursor()
        else:
            self._answers.append(words)

    def _words(self, match: re.Match[bytes]) -> bytes | None:
        """Return the answer; empty if it was no question, None if an emulator has to be asked."""
        prefix, parameters, between, final, colour, setting, short = match.groups()
        if colour:
            return b"\x1b]%s;rgb:%s\x1b\\" % (colour, _COLOURS[colour])
        if setting:  # "not known", which ends the waiting
            return b"\x1bP0%sr\x1b\\" % setting
        if short == b"Z":
            return _ATTRIBUTES
        if final == b"n" and not between:
            if parameters == b"6" and prefix in (b"", b"?"):
                return None
            return b"\x1b[0n" if (prefix, parameters) == (b"", b"5") else b""
        if final == b"c" and parameters in (b"", b"0"):
            return {b"": _ATTRIBUTES, b">": _SECOND_ATTRIBUTES}.get(prefix, b"")
        if final == b"p" and between == b"$":
            return self._mode_report(prefix, parameters)
        if (final, prefix, parameters) == (b"t", b"", b"18"):
            return b"\x1b[8;%d;%dt" % (self.size[1], self.size[0])
        return b""

    def _mode_report(self, prefix: bytes, number: bytes) -> bytes:
        """Answer DECRQM: 1 set, 2 reset, 0 not known."""
        name = "alternate_screen" if number in _ALTERNATE else _MODES.get(number)
        known = prefix == b"?" and name is not None
        value = (1 if self.modes[name] else 2) if known and name else 0
        return b"\x1b[%s%s;%d$y" % (prefix, number, value)

    def _flush(self) -> None:
        """Send answers in the order of the questions: programs use an easy one as a fence behind a hard one."""
        while self._answers:
            first = self._answers[0]
            if isinstance(first, _Cursor):
                self._find_cursor()
                return
            self._answers.pop(0)
            try:
                os.write(self._master, first)
            except OSError:  # full: the program does not read; hung up: no process has it open
                return

    # --- where is the cursor? ---

    def _find_cursor(self) -> None:
        """Ask an emulator, in a fork: it takes 40 ms and megabytes, which no supervisor should keep."""
        first = self._answers[0]
        if self._finder is not None or not isinstance(first, _Cursor):
            return
        read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        sizes = [(seq, cols, rows) for seq, cols, rows in self._sizes]
        log, question = self._log, first

        def look() -> None:
            emulator = parts.loaded(parts.EMULATOR)
            if emulator is None:  # end of file, and a guess
                return
            screen = emulator.render(lambda start, stop: os.pread(log, stop - start, start), question.at, sizes)
            os.write(write_end, b"\x1b[%s%d;%dR" % (question.prefix, screen.row + 1, screen.column + 1))

        def body() -> int:
            try:
                look()
            except Exception as error:
                fault_report.write(self._job, "cursor", error)
                raise
            return 0

        try:
            daemonize.fork_into(body, {log, write_end, self._job.fd}, tree.SUPERVISOR)
        except OSError:  # no process left: end of file, and a guess
            pass
        finally:
            os.close(write_end)
        self._finder = read_end
        self._loop.read(read_end, self._cursor_found)
        self._guess.after(_CURSOR_ANSWER_S)

    def _cursor_found(self) -> None:
        """Take the answer of the fork, or a guess if the fork died or takes too long."""
        if self._finder is None:
            return
        try:
            words = os.read(self._finder, 64)
        except BlockingIOError:
            words = b""
        self._guess.cancel()
        self._loop.forget(self._finder)
        os.close(self._finder)
        self._finder = None
        first = self._answers[0]
        assert isinstance(first, _Cursor)
        self._answers[0] = words or first.guess()
        self._flush()
