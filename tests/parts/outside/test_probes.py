"""The probes of a wait, which ask in threads of their own."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

from outlive.jobs.conditions.condition import Fired
from outlive.parts.outside.probes import _Asked
from outlive.system.waiting import pause
from support.wait import BOUND_S


class Asked(_Asked):
    def check(self, inspection: Any = None) -> Fired:
        answer: Fired = self._ask()
        return answer

    def _question(self) -> object:
        return {"condition": "http"}


class Held(list[object]):
    """Holds up who has put something in."""

    def __init__(self) -> None:
        self.put, self.let_go = threading.Event(), threading.Event()

    def append(self, one: object) -> None:
        super().append(one)
        self.put.set()
        assert self.let_go.wait(BOUND_S)


def test_an_answer_that_is_looked_at_before_it_is_told_of_is_no_error() -> None:
    with closing(Asked()) as probe:
        probe._answers = held = Held()
        assert probe.check() is None
        assert held.put.wait(BOUND_S)
        assert probe.check() == {"condition": "http"}, "another event has woken the wait"
        held.let_go.set()


def test_the_loop_of_a_wait_is_woken_by_each_answer() -> None:
    with closing(Asked()) as probe:
        for _ in range(3):
            probe.again = None
            while probe.check() is None:
                assert probe.fds
                pause(probe.fds, None)
            assert not probe.fds, "nothing is awaited until it asks again"
