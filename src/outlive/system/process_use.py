"""What living processes use, as /proc tells it (proc_pid_stat(5)). Nothing here waits or wakes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.system.fds import content
from outlive.system.process import stat_fields

_UTIME, _STIME, _CUTIME, _CSTIME, _RSS = 11, 12, 13, 14, 21  # places in `stat_fields`
_TICK_US = 1_000_000 // (os.sysconf("SC_CLK_TCK") or 100)
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Use:
    """The sums of a tree of processes, and their ended children; of `peak_bytes` the largest of one."""

    user_us: int = 0
    system_us: int = 0
    memory_bytes: int = 0
    peak_bytes: int = 0
    processes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


def of(pids: Iterable[int], *, whole: bool = True) -> Use:
    """Return what these processes use; not `whole`: times and memory, which cost one file of each."""
    use = Use()
    for pid in pids:
        fields = stat_fields(pid)
        if fields is None:
            continue
        use.processes += 1
        use.user_us += (int(fields[_UTIME]) + int(fields[_CUTIME])) * _TICK_US
        use.system_us += (int(fields[_STIME]) + int(fields[_CSTIME])) * _TICK_US
        use.memory_bytes += int(fields[_RSS]) * _PAGE
        if whole:
            use.peak_bytes = max(use.peak_bytes, _value(pid, "status", b"VmHWM:") * 1024)
            use.read_bytes += _value(pid, "io", b"read_bytes:")
            use.written_bytes += _value(pid, "io", b"write_bytes:")
    return use


def shared_fairly_bytes(pids: Iterable[int]) -> int:
    """Return the memory of these processes together, in which a page that several share counts
    once (proc_pid_smaps(5), Pss). The kernel walks all pages for it; ask seldom."""
    return sum(_value(pid, "smaps_rollup", b"Pss:") for pid in pids) * 1024


def _value(pid: int, name: str, label: bytes) -> int:
    """Return the number behind `label` in a file of /proc/PID; 0 where it may not be read."""
    words = content(f"/proc/{pid}/{name}").partition(label)[2].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else 0
