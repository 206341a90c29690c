"""The surroundings of a benchmark: a scratch directory with a home and a job root, and the ways to
call outlive.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.client import Client

# A benchmark belongs to no client: neither variables of outlive nor those that identify a client
# are passed on. Bytecode is written, as for an installed package: without it a call takes twice as
# long.
_OUTER = tuple("OUTLIVE_ XDG_ CLAUDE CODEX CURSOR OPENCLAW VSCODE MCP_ PYTHONDONTWRITEBYTECODE".split())
# ioctl_iflags(2), on 64 bits
_GET_FLAGS, _SET_FLAGS, _TOP_DIRECTORY = 0x80086601, 0x40086602, 0x20000
TRUE = ["sh", "-c", "true"]
BARE = [sys.executable, "-I", "-c", "pass"]


class NoRoom(Exception):
    """This machine cannot measure a row."""


class Bench:
    """One run. Use as a context manager: at its end no job and no file of it is left."""

    def __init__(
        self,
        *,
        quick: bool,
        rounds: int | None = None,
        peers: Path | None = None,
        command: list[str] | None = None,
    ) -> None:
        """`command`: the words that call outlive; None: that of this environment."""
        self.quick = quick
        self.command = command or installed()
        self.peers = peers
        self._rounds = rounds
        self.beside: Path | None = None  # where the scratch directory is made; None: in a part of the disk of its own

    def __enter__(self) -> Bench:
        self.place = Path(tempfile.mkdtemp(prefix="outlive-benchmarks-", dir=self.beside))
        if self.beside is None:
            spread(self.place)
        self.work = self.place / "work"
        self.work.mkdir()
        self.root = self.place / "jobs"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUTER)}
        self.env = kept | {"HOME": str(self.place), "OUTLIVE_ROOT": str(self.root)}
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.clear()
        finally:
            shutil.rmtree(self.place, ignore_errors=True)

    def clear(self) -> None:
        """Delete the jobs that are not over."""
        for job in os.listdir(self.root / ".live") if (self.root / ".live").is_dir() else []:
            self.outlive("remove", job)

    def rounds(self, full: int, quick: int = 2) -> int:
        """Return how often a work is measured; `--rounds` may say fewer."""
        if self._rounds is not None:
            return max(1, min(full, self._rounds))
        return quick if self.quick else full

    def size(self, full: int, quick: int) -> int:
        """Return how many bytes, jobs or clients there are."""
        return quick if self.quick else full

    def need(self, megabytes: int, files: int = 0) -> None:
        """Check for free disk before anything is written. Errors: NoRoom."""
        found = os.statvfs(self.place)
        free = found.f_bavail * found.f_frsize // 1_000_000
        # twice: no other program on this machine is to run into a full disk
        if free < megabytes * 2:
            raise NoRoom(f"needs {megabytes} MB in {self.place.parent}, and twice that is not free ({free} MB)")
        if found.f_files and found.f_favail < files * 2:
            raise NoRoom(f"needs {files} files in {self.place.parent}, and twice that is not free ({found.f_favail})")

    # --- calls ---

    def outlive(self, *words: str, root: Path | None = None) -> dict[str, Any]:
        """Return the answer of one call of the command line."""
        done = self.run([*self.command, *words], root=root)
        found: dict[str, Any] = json.loads(done.stdout)
        if not found["ok"]:
            raise RuntimeError(f"outlive {' '.join(words)}: {found['error']}")
        return found

    def run(self, words: list[str], root: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run any program in this benchmark's surroundings, and keep its stdout."""
        env = self.env | ({"OUTLIVE_ROOT": str(root)} if root else {})
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env, cwd=self.work, check=True
        )

    def background(self, *words: str) -> str:
        """Start a job from the command line. Return its id."""
        return str(self.outlive("run", "--snapshot-after", "0", *words)["job_id"])

    @contextlib.contextmanager
    def server(self, *flags: str, root: Path | None = None) -> Iterator[Client]:
        """Start `outlive mcp`, and warm it up with one command."""
        env = self.env | ({"OUTLIVE_ROOT": str(root)} if root else {})
        with Client([*self.command, "mcp", *flags], env=env, cwd=self.work) as client:
            client.shake_hands()
            client.structured("exec", command="true")
            yield client

    def state(self, job: str, root: Path | None = None) -> dict[str, Any]:
        """Return `state.json` of a job, read from the disk."""
        found: dict[str, Any] = json.loads(((root or self.root) / job / "state.json").read_bytes())
        return found

    def ended(self, job: str, timeout: float = 120) -> dict[str, Any]:
        """Wait until the job has ended and its supervisor is done with it. Return its state."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):
                found = self.state(job)
                if found["phase"] == "finished" and not (self.root / job / ".io").exists():
                    return found
            time.sleep(0.002)
        raise TimeoutError(f"job {job} did not end in {timeout} s")


def warm(size: int) -> None:
    """Take so much of the free memory, and give it back.

    A virtual machine may return free memory to its host after two seconds (free page reporting).
    The next use of it then waits for the host: 512 MiB into a new file took 0.71 s of CPU instead
    of 0.12. The work that needs more memory, or comes later, would pay for that.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, min(size, free // 2), flags=flags).close()


def spread(place: Path) -> None:
    """Let what is made in here lie in parts of the disk of its own (chattr +T).

    An ext4 without journal passes over every inode that was deleted in the last five minutes when
    it looks for a free one, so the traces of an earlier benchmark would be measured.
    """
    fd = os.open(place, os.O_RDONLY)
    try:
        flags = array.array("l", [0])
        fcntl.ioctl(fd, _GET_FLAGS, flags)
        flags[0] |= _TOP_DIRECTORY
        fcntl.ioctl(fd, _SET_FLAGS, flags)
    except OSError:  # another file system, which has no such thing
        return
    finally:
        os.close(fd)


def installed(python: str = sys.executable) -> list[str]:
    """Return what the console script of an environment does. Scripts of older pips also import
    `re`, 4 ms that are none of ours."""
    return [python, "-c", "import sys; from outlive.__main__ import main; sys.exit(main())"]
