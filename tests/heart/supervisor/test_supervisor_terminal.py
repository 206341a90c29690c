"""What a program asks its terminal is answered, in whatever pieces the question comes."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.store.job_dir import LOGS, JobDir
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.input.terminal import _BLOCK, Terminal
from outlive.system import pty


class Program:
    """A job that prints, and reads what its terminal says to it."""

    def __init__(self, place: Path) -> None:
        self.log = place / LOGS[0]
        self.log.touch()
        self._master, self._slave = pty.open_pair(80, 24)
        tty.setraw(self._slave)
        os.set_blocking(self._slave, False)
        self._job = JobDir(str(place.parent), place.name, os.open(place, os.O_RDONLY | os.O_DIRECTORY))
        self._loop = EventLoop()
        self.console = Terminal(self._job, self._loop, self._master, None, lambda: None)

    def prints(self, data: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(data)
        self.console.look()

    def hears(self) -> bytes:
        try:
            return os.read(self._slave, 4096)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        os.close(self.console._log)
        self._loop._poll.close()
        self._job.close()
        os.close(self._master)
        os.close(self._slave)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "job").mkdir()
    found = Program(tmp_path / "job")
    yield found
    found.close()


QUESTIONS = {
    b"\x1b[5n": b"\x1b[0n",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1bZ": b"\x1b[?62;22c",
    b"\x1b[?2004$p": b"\x1b[?2004;2$y",
    b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1bP+q544e\x1b\\": b"\x1bP0+r\x1b\\",
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("before", [b"", b"text "])
def test_a_question_cut_anywhere_is_answered_once(program: Program, before: bytes, question: bytes) -> None:
    for cut in range(1, len(question)):
        program.prints(before + question[:cut])
        assert program.hears() == b""
        program.prints(question[cut:])
        assert program.hears() == QUESTIONS[question], f"cut behind {question[:cut]!r}"


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_comes_byte_by_byte_is_answered_once(program: Program, question: bytes) -> None:
    for _ in range(2):
        for at in range(len(question)):
            assert program.hears() == b""
            program.prints(question[at : at + 1])
        assert program.hears() == QUESTIONS[question]


def test_a_question_at_the_end_of_much_output_is_answered_though_two_reads_share_it(program: Program) -> None:
    program.prints(b"x" * (_BLOCK - 2) + b"\x1b[5n")
    assert program.hears() == b"\x1b[0n"


def test_a_mode_that_is_switched_byte_by_byte_is_known(program: Program) -> None:
    for at in b"\x1b[?2004h":
        program.prints(bytes([at]))
    assert program.console.modes["bracketed_paste"]


def test_what_never_becomes_a_sequence_is_passed_over(program: Program) -> None:
    program.prints(b"\x1b[" + b"1;" * 400)
    program.prints(b"\x1b[5n")
    assert program.hears() == b"\x1b[0n"
