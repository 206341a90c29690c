"""A link to a network namespace, which stands for another machine. Making it takes root. `cut` deletes
the interfaces, and the namespace ends with its last process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from benchmarks.bench import NoRoom

RATE, RATE_TEXT = "1gbit", "1 Gbit/s"
# 198.18.0.0/15 is there for benchmarks (RFC 2544); each run takes four addresses of it
_NET = divmod(os.getpid() % (1 << 14) * 4, 256)
HERE, THERE = (f"198.18.{_NET[0]}.{_NET[1] + one}" for one in (1, 2))
APART = ["unshare", "--net"]  # in front of the words of the process there
_PROGRAMS = ("unshare", "nsenter", "ip", "tc")
_NAME = f"olb{os.getpid()}"
# A network card takes up to 64 KiB at once, and a switch holds what comes within 5 ms
_SHAPE = ("root", "tbf", "rate", RATE, "burst", "128kb", "latency", "5ms")


def need() -> None:
    """Check for what a link needs. Errors: NoRoom."""
    if os.geteuid() != 0:
        raise NoRoom("a link needs root")
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if lacking:
        raise NoRoom(f"needs {', '.join(lacking)} (apt install iproute2 util-linux)")
    if subprocess.run([*APART, "true"], capture_output=True, check=False).returncode:
        raise NoRoom("needs a network namespace, which the kernel refuses here")


def lay(pid: int) -> None:
    """Lay the link to the process that was started with `APART`. Errors: NoRoom."""
    space, deadline = f"/proc/{pid}/ns/net", time.monotonic() + 20
    while os.readlink(space) == os.readlink("/proc/self/ns/net"):
        if time.monotonic() > deadline:
            raise NoRoom("needs a network namespace, and none came about")
        time.sleep(0.01)
    there = ("nsenter", f"--net={space}")
    _do("ip", "link", "add", _NAME, "type", "veth", "peer", "name", "olb", "netns", str(pid))
    for before, name, address in (((), _NAME, HERE), (there, "olb", THERE)):
        _do(*before, "ip", "addr", "add", f"{address}/30", "dev", name)
        _do(*before, "ip", "link", "set", name, "up")
        _do(*before, "tc", "qdisc", "add", "dev", name, *_SHAPE)


def cut() -> None:
    """Take the link away. It is no error if there is none."""
    subprocess.run(["ip", "link", "del", _NAME], capture_output=True, check=False)


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoRoom(f"{' '.join(words)}: {done.stderr.strip()}")
