"""The names of signals are those of the standard library."""

from __future__ import annotations

import signal

from outlive.system import signals


def test_names_of_signals_are_those_of_the_library() -> None:
    assert signals.names() == sorted(one.name for one in signal.valid_signals() if isinstance(one, signal.Signals))
    for one in signal.Signals:
        assert signals.name_of(int(one)) == one.name
        assert signals.number_of(one.name.lower()) == one
    assert signals.number_of("SIGCLD") == signal.SIGCHLD
    assert signals.number_of("_BLOCK") is None
    assert [signals.number_of(text) for text in ("65", "²", "9" * 5_000)] == [None] * 3
    assert signals.name_of(int(signal.SIGRTMIN) + 3) == "SIGRTMIN+3"
    assert [signals.number_of(text) for text in ("RTMIN+1", "sigrtmin+0", "SIGRTMAX-2")] == [
        signal.SIGRTMIN + 1,
        signal.SIGRTMIN,
        signal.SIGRTMAX - 2,
    ]
    for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
        assert signals.number_of(signals.name_of(number)) == number
    assert [
        signals.number_of(text) for text in ("RTMIN+99", "RTMIN-1", "RTMAX+1", "RTMIN+", "RTMIN+x", "RTMAX-40")
    ] == [None] * 6
