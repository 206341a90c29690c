"""When a job counts as waiting for input, on a clock of the test's own: what draws does not, what stands still does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from outlive.supervisor.input.prompt_detector import PromptDetector
from outlive.system.blocked_reads import Target, ThreadStates
from outlive.system.pty import Modes

PLACE = PromptDetector.__module__


class _Job:
    """A job whose threads do what `states` says, with a clock that `run` moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.states = 0.0, ThreadStates()
        self.due: float | None = None
        self.last_output, self.end = 0.0, 0
        self.is_set = False
        self.changes: list[bool] = []
        monkeypatch.setattr(f"{PLACE}.time.monotonic", lambda: self.now)
        monkeypatch.setattr(f"{PLACE}.blocked_reads.supported", lambda: True)
        monkeypatch.setattr(f"{PLACE}.blocked_reads.inspect_threads", lambda pids, target: self.states)
        loop: Any = self
        self._look: Callable[[], None] = lambda: None
        self.detector = PromptDetector(
            loop, Target(), loop, pids=lambda: (), modes=lambda: Modes(echo=False, canonical=False, eof=b"\x04"),
            on_change=lambda waiting, prompt: self.changes.append(waiting is not None),
        )  # fmt: skip
        self.detector.start()

    def timer(self, look: Callable[[], None]) -> _Job:
        self._look = look
        return self

    def after(self, seconds: float) -> None:
        self.due, self.is_set = self.now + max(seconds, 0.001), True

    def cancel(self) -> None:
        self.due, self.is_set = None, False

    def last_bytes(self, count: int) -> bytes:
        return b"\x1b[Htop"

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.due is not None and self.due <= until:
            self.now = self.due
            self._look()
        self.now = until

    def prints(self) -> None:
        self.last_output, self.end = self.now, self.end + 1
        self.detector.output()

    def draws(self, every: float, seconds: float) -> None:
        for _ in range(round(seconds / every)):
            self.run(every)
            self.prints()

    @property
    def questions(self) -> int:
        return sum(self.changes)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> _Job:
    made = _Job(monkeypatch)
    made.states.polling = True
    return made


@pytest.mark.parametrize(("every", "most"), [(0.2, 0), (1.0, 1), (3.0, 2), (10.0, 3)])
def test_what_polls_and_draws_again_and_again_is_no_question(job: _Job, every: float, most: int) -> None:
    job.draws(every, 325)
    assert job.questions <= most


def test_a_prompt_behind_what_was_drawn_is_a_question(job: _Job) -> None:
    job.draws(1.0, 20)
    before = job.questions
    job.run(10)
    assert job.questions == before + 1 and job.changes[-1]


def test_after_an_answer_the_next_prompt_counts_as_soon_as_the_first(job: _Job) -> None:
    job.draws(10.0, 100)
    job.detector.input()
    job.prints()
    before = job.questions
    job.run(2.0)
    assert job.questions == before + 1


def test_what_blocks_in_a_read_waits_whatever_it_has_drawn(job: _Job) -> None:
    job.draws(1.0, 20)
    job.states = ThreadStates()
    job.states.reading = True
    before = job.questions
    job.prints()
    job.run(0.7)
    assert job.questions == before + 1
