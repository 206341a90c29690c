"""When a call that waits looks again."""

from __future__ import annotations

import time

import pytest

from outlive.system.waiting import Looks


def test_what_no_event_tells_of_is_looked_at_often_at_first_and_four_times_a_second_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    looks = Looks()
    times = []
    while now < 1012:
        times.append(now)
        now = looks.next()
    assert times[1] - times[0] == pytest.approx(0.02)
    assert len([at for at in times if at < 1001]) == pytest.approx(9, abs=1)
    assert len([at for at in times if at >= 1002]) == pytest.approx(40, abs=1)
