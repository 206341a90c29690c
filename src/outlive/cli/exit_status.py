"""The exit status of a call that ends like its job: --propagate."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from outlive.system.signals import number_of

_NOTHING_RAN = 1  # as of every call that failed


def of_job(result: Mapping[str, object]) -> int:
    """Return the exit status that a shell would have for the same command."""
    code, signal = result.get("exit_code"), result.get("signal")
    if isinstance(code, int):
        return code & 0xFF
    if isinstance(signal, str) and signal:
        return 128 + _signal_number(signal)
    if result.get("reason") == "launch":  # sh(1): 127 not found, 126 found but not executable
        return 127 if result.get("errno") in ("ENOENT", errno.ENOENT) else 126
    return _NOTHING_RAN


def _signal_number(name: str) -> int:
    base, _, above = name.partition("+")  # SIGRTMIN+3
    if not above and base[3:].isdigit():  # SIG42: a signal without a name
        return int(base[3:])
    return (number_of(base) or 0) + int(above or 0)
