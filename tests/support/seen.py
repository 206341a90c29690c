"""Watches of files, and what they told."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from pathlib import Path

from outlive.system import inotify

BOUND_MS = 20_000


class Seen:
    """A watch, and what it told since it was last asked."""

    def __init__(self, path: Path | str) -> None:
        self.watch = inotify.Watch(str(path))

    def told(self) -> bool:
        """Something was, which concerns the file. Events are queued before the system call that causes them returns."""
        ours = False
        while self._readable(0):
            ours |= self.watch.drain()
        return ours

    def woken(self) -> bool:
        return self._readable(0)

    def wait(self) -> None:
        assert self._readable(BOUND_MS), "nothing was told"

    def _readable(self, timeout_ms: int) -> bool:
        poll = select.poll()
        poll.register(self.watch, select.POLLIN)
        return bool(poll.poll(timeout_ms))


def seen_by_tests() -> Iterator[Callable[[Path | str], Seen]]:
    """For a fixture: makes them, and closes them again."""
    made: list[Seen] = []

    def on(path: Path | str) -> Seen:
        made.append(Seen(path))
        assert not made[-1].told(), "told before anything happened"
        return made[-1]

    yield on
    for one in made:
        one.watch.close()


See = Callable[[Path | str], Seen]


def watched(seen: Seen) -> dict[str, int]:
    """inode → mask of what the kernel watches for it. (proc_pid_fdinfo(5))"""
    lines = Path(f"/proc/self/fdinfo/{seen.watch.fileno()}").read_text().splitlines()
    fields = [dict(word.split(":", 1) for word in line.split()[1:]) for line in lines if line.startswith("inotify ")]
    return {str(int(field["ino"], 16)): int(field["mask"], 16) for field in fields}


def inode(path: Path) -> str:
    return str(path.stat().st_ino)


def made(file: Path) -> Path:
    file.write_text("first")
    return file
