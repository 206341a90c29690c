"""When a call that waits looks again."""

from __future__ import annotations

import time

import pytest

from outlive.system.waiting import Looks


def test_a_file_is_looked_at_often_for_ten_seconds_and_less_often_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    looks = Looks()
    times = []
    while now < 1012:
        times.append(now)
        now = looks.next()
    assert len([at for at in times if at < 1010]) == pytest.approx(200, abs=1)
    assert len([at for at in times if at >= 1010]) == pytest.approx(8, abs=1)
