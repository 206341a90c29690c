"""Which processes belong to a test, and how to end exactly those.

Every test has a directory of its own that holds its HOME and its OUTLIVE_ROOT. What a test starts inherits both in its
environment; a supervisor wipes its environment but holds files of the job directory open. So a process is the test's
if an environment entry of it names the place, or a file, a directory or its executable in use lies below it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from support import preloaded
from support.wait import POLL_S

_COOKIES = (b"OUTLIVE_ROOT=", b"HOME=")


def of(place: Path, but: Collection[int] = ()) -> dict[int, str]:
    """pid → what it is and why it was taken for one of `place`; never this process, never a zombie, and none of `but`."""
    found: dict[int, str] = {}
    for pid in all_pids():
        if pid == os.getpid() or pid in but or _state(pid) in ("Z", "X", ""):
            continue
        why = _tie(pid, str(place))
        if why:
            found[pid] = f"pid {pid} ({_command(pid)}): {why}"
    for pid in tuple(found):  # a guardian holds nothing of its job while its supervisor lives
        above = _parent(pid)
        if above not in found and above not in but and name(above) == "holdfast":
            found[above] = f"pid {above} ({_command(above)}): the guardian of {pid}"
    return found


def all_pids() -> list[int]:
    """Every process of this machine that can be seen."""
    return [int(name) for name in _names("/proc") if name.isdigit()]


def children() -> dict[int, str]:
    """pid → state letter of this process's own children, zombies (`Z`) among them."""
    pids: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            pids.update(int(word) for word in Path(f"/proc/self/task/{thread}/children").read_bytes().split())
        except FileNotFoundError:  # the thread has ended
            continue
    return {pid: _state(pid) for pid in pids - preloaded.pids()}


def is_alive(pid: int) -> bool:
    """Is there such a process, and is it more than a zombie?"""
    return _state(pid) not in ("Z", "X", "")


def state(pid: int) -> str:
    """The letter of its state (proc_pid_stat(5)); empty if it is gone."""
    return _state(pid)


def parent(pid: int) -> int:
    """The parent's pid; 0 if the process is gone."""
    return _parent(pid)


def name(pid: int) -> str:
    """What the kernel calls it (proc_pid_comm(5)); empty if it is gone."""
    return _read(pid, "comm").decode(errors="replace").strip()


def command_line(pid: int) -> list[str]:
    """argv of a process; empty if it is gone."""
    return [os.fsdecode(word) for word in _read(pid, "cmdline").rstrip(b"\0").split(b"\0") if word]


def descendants(pid: int) -> set[int]:
    """Everything below `pid` in the process tree, as a client sees it that kills a whole tree."""
    above = {one: _parent(one) for one in all_pids()}
    found: set[int] = set()
    newest = {pid}
    while newest:
        newest = {one for one, up in above.items() if up in newest} - found
        found |= newest
    return found


def wait_gone(place: Path, timeout: float, but: Collection[int] = ()) -> dict[int, str]:
    """What is still there when nothing is, or `timeout` seconds are over."""
    deadline = time.monotonic() + timeout
    while True:
        left, settled = _look(place, but)
        if (settled and not left) or time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)


def _look(place: Path, but: Collection[int]) -> tuple[dict[int, str], bool]:
    """What belongs to `place`; and whether no process was about to follow it meanwhile. A guardian whose supervisor has ended
    ends too, or takes the job over; until then it holds nothing by which it is found to be a test's, and while the others
    are read it may have gone from the first to the second."""
    before = _guardians(but)
    left = of(place, but)
    after = _guardians(but)
    has_followed = any(pid not in after and is_alive(pid) for pid in before)  # it has the name of a supervisor by now
    is_watched = all(before.values()) and all(after.values())
    return left, is_watched and not has_followed and all(before.get(pid, after[pid]) == after[pid] for pid in after)


def _guardians(but: Collection[int]) -> dict[int, set[int]]:
    """Every guardian, with its living children: its supervisor, if that has not ended."""
    found: dict[int, set[int]] = {}
    for pid in all_pids():
        if pid not in but and name(pid) == "holdfast" and is_alive(pid) and _state(pid) != "T":
            below = {int(child) for child in _read(pid, f"task/{pid}/children").split()}
            living = {child for child in below if is_alive(child)}
            if is_alive(pid):
                found[pid] = living
    return found


def end_all(place: Path, timeout: float = 20, but: Collection[int] = ()) -> dict[int, str]:
    """SIGKILL what belongs to `place`, again and again (a guardian takes over from its supervisor). Names them."""
    ended: dict[int, str] = {}
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        left, settled = _look(place, but)
        if settled and not left:
            break
        for pid, what in left.items():
            ended[pid] = what
            _kill(pid, place)
        time.sleep(POLL_S)
    return ended


def kill(*pids: int) -> None:
    """SIGKILL. A process that has ended since it was looked for is no mistake of the caller's."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _kill(pid: int, place: Path) -> None:
    """Another process may have the pid by now: hold the process, look again, then signal what is held."""
    try:
        held = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return
    try:
        if _tie(pid, str(place)):
            signal.pidfd_send_signal(held, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(held)


def _tie(pid: int, place: str) -> str:
    environ = _read(pid, "environ")
    # What a supervisor has wiped is thousands of empty entries
    for entry in environ.split(b"\0") if os.fsencode(place) in environ else ():
        if entry.startswith(_COOKIES) and _below(os.fsdecode(entry.partition(b"=")[2]), place):
            return os.fsdecode(entry)
    for name in ("cwd", "exe"):
        target = _link(f"/proc/{pid}/{name}")
        if _below(target, place):
            return f"{name} {target}"
    for number, target in open_files(pid).items():
        if _below(target, place):
            return f"fd {number} {target}"
    return ""


def open_files(pid: int) -> dict[str, str]:
    """Return fd → what it leads to, of those that can be seen."""
    return {number: _link(f"/proc/{pid}/fd/{number}") for number in _names(f"/proc/{pid}/fd")}


def _below(path: str, place: str) -> bool:
    # A removed file reads "PATH (deleted)", which still begins with its directory.
    return path.removesuffix(" (deleted)") == place or path.startswith(place + "/")


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:  # gone, or not ours to look into
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on: the name before it may hold anything, also `)` and spaces."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0].decode() if fields else ""


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _command(pid: int) -> str:
    words = " ".join(command_line(pid))
    return f"{name(pid)}: {words[:200]}" if words else name(pid)
