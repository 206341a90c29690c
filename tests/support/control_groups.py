"""Control groups with a limit of memory, which a test makes below the group that it runs in, and removes again."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outlive.system import cgroup
from support.wait import until

LIMIT = 96 * 1024**2


class MemoryGroups:
    """Groups of at most LIMIT bytes each, below a group of the test's own."""

    def __init__(self, base: Path, version: int) -> None:
        self._base = base
        self._limit = "memory.limit_in_bytes" if version == 1 else "memory.max"

    def enter(self, name: str) -> str:
        """Return the words of a shell that make a group and go into it."""
        place = f"{self._base}/{name}"
        swap = "" if "limit" in self._limit else f'echo 0 2>/dev/null > "{place}/memory.swap.max";'
        limit = f'echo {LIMIT} > "{place}/{self._limit}"'
        return f'mkdir -p "{place}" && {limit} && {{ {swap} echo $$ > "{place}/cgroup.procs"; }} || exit 1'

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command in the group of this name."""
        script = f'{self.enter(name)}; exec "$@"'
        return subprocess.run(
            ["sh", "-c", script, "sh", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )


@contextmanager
def memory_groups() -> Iterator[MemoryGroups]:
    """Make a control group in which memory can be limited; the test is skipped, with the reason, where none can be made."""
    own = cgroup.memory()
    if own is None:
        pytest.skip("no control groups that account for memory here")
    reasons = []
    for parent in _parents(own):
        base = parent / f"outlive-test-{os.getpid()}"
        try:
            base.mkdir()
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
            continue
        try:
            groups = MemoryGroups(base, own.version)
            reason = _wrong(groups, base, own.version)
            if not reason:
                yield groups
                return
            reasons.append(f"{parent}: {reason}")
        finally:
            _remove(base)
    pytest.skip(f"no control group with a limit of memory can be made: {'; '.join(reasons)}")


def _parents(own: cgroup.Group) -> list[Path]:
    """Where a group may be made. A group of version 2 that has processes passes no controller on (cgroups(7), "no internal
    processes"), so that there the groups above it are tried too, up to the first that another user owns."""
    directory = Path(own.directory)
    if own.version == 1:
        return [directory]
    above = [directory, *list(directory.parents)[: own.path.rstrip("/").count("/")]]
    return [path for path in above if "memory" in (path / "cgroup.subtree_control").read_text().split()]


def _wrong(groups: MemoryGroups, base: Path, version: int) -> str:
    """Return why a process cannot go into a group with a limit here; "" if it can."""
    try:
        if version == 2:
            (base / "cgroup.subtree_control").write_text("+memory")
    except OSError as error:
        return f"its memory cannot be limited: {error.strerror}"
    tried = groups.run("tried", "true")
    return tried.stderr.decode().strip() if tried.returncode else ""


def _remove(base: Path) -> None:
    """Remove the groups, and end what a failed test left in them: no later test could find it by its place."""
    for path in [*(path for path in base.iterdir() if path.is_dir()), base]:
        try:
            until(lambda path=path: not _pids(path), what=f"the end of what is in {path}")
        finally:
            for pid in _pids(path):
                os.kill(pid, signal.SIGKILL)
            until(lambda path=path: not _pids(path), what=f"the end of what was killed in {path}")
            path.rmdir()


def _pids(path: Path) -> list[int]:
    return [int(word) for word in (path / "cgroup.procs").read_text().split()]
