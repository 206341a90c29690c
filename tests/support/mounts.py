"""Small file systems of a test's own: what happens on a full or read-only disk is seen on one, not played."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from support import processes

KINDS = ("tmpfs", "ext4")


class Mounts:
    """Mounts below the directory of a test; a test is skipped where that is not permitted."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._stack = contextlib.ExitStack()

    def __call__(self, name: str, options: str) -> Path:
        """A tmpfs with these options."""
        path = self._place / name
        path.mkdir(mode=0o700, exist_ok=True)
        self._mount(path, "-t", "tmpfs", "-o", options, "outlive-test")
        return path

    def ext4(self, name: str, mib: int, *options: str) -> Path:
        """An ext4 in an image of so many MiB: blocks that are allocated late, and a journal that has its own. `options` of
        mkfs.ext4(8)."""
        path, image = self._place / name, self._place / f"{name}.img"
        path.mkdir(mode=0o700, exist_ok=True)
        with image.open("wb") as file:
            file.truncate(mib << 20)
        self._run(["mkfs.ext4", "-q", "-F", "-m", "0", *options, str(image)])
        self._mount(path, "-o", "loop", str(image))
        path.chmod(0o700)
        return path

    def bind(self, name: str, source: Path) -> Path:
        """A directory at another place too."""
        path = self._place / name
        path.mkdir(parents=True, exist_ok=True)
        self._mount(path, "--bind", str(source))
        return path

    def small(self, kind: str, mib: int) -> Path:
        """One of KINDS, of so many MiB."""
        return self.ext4("small", mib) if kind == "ext4" else self("small", f"size={mib}m,mode=700")

    def _mount(self, path: Path, *words: str) -> None:
        self._run(["mount", *words, str(path)])
        self._stack.callback(subprocess.run, ["umount", "-l", str(path)], check=True)

    def _run(self, words: list[str]) -> None:
        try:
            done = subprocess.run(words, capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip(f"no {words[0]} here")
        if done.returncode:
            pytest.skip(f"{words[0]} is not permitted: {done.stderr.decode().strip()}")

    def close(self) -> None:
        processes.wait_gone(self._place, 10)
        self._stack.close()


def fill(path: Path) -> Path:
    """A file that takes what is left of its file system."""
    for size in (1 << 16, 4096, 1):
        with contextlib.suppress(OSError), open(path / "filler", "ab", buffering=0) as file:
            while True:
                file.write(bytes(size))
    return path / "filler"
