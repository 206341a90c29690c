"""Jobs that count, for tests that kill what looks after them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from support.cli import Cli
from support.wait import until

CODE = 7  # what a counter ends with
# Counts on both streams until the file NAME.stop is there; then NAME.count tells how far it got.
COUNTER = f"""
import os, sys, time
name, n = sys.argv[1], 0
while not os.path.exists(name + ".stop"):
    n += 1
    os.write(1, b"out %d\\n" % n)
    os.write(2, b"err %d\\n" % n)
    time.sleep(0.001)
with open(name + ".count", "w") as file:
    file.write(str(n))
os._exit({CODE})
"""


def counter(name: str) -> list[str]:
    """The words of such a command."""
    return [sys.executable, "-c", COUNTER, name]


class Counting:
    """A job that counts, and the proof that nothing of it is missing."""

    def __init__(self, cli: Cli, work: Path, job: str, name: str) -> None:
        self.cli, self.work, self.job, self.name = cli, work, job, name
        self.stdout = cli.root / job / "stdout.log"

    @classmethod
    def start(cls, cli: Cli, work: Path, name: str = "c", *flags: str) -> Counting:
        job = cli.ok("run", "--snapshot-after", "0", *flags, "--", *counter(name))["job_id"]
        found = cls(cli, work, job, name)
        found.grows()
        return found

    def grows(self) -> None:
        """The log takes in more than it holds now."""
        size = self._size()
        until(lambda: self._size() > size + 100, what="more output")

    def _size(self) -> int:
        return self.stdout.stat().st_size if self.stdout.exists() else 0  # it is made after the job is listed

    def stop(self) -> None:
        (self.work / f"{self.name}.stop").touch()

    def count(self) -> int:
        path = self.work / f"{self.name}.count"
        until(lambda: path.exists() and path.read_text(encoding="utf-8"), what="the counter's own count")
        return int(path.read_text(encoding="utf-8"))

    def end(self) -> dict[str, Any]:
        self.stop()
        return self.cli.ok("wait", self.job, "--timeout-ms", "50s")

    def check_whole(self) -> None:
        count = self.count()
        out, err = (b"".join(b"%s %d\n" % (word, n) for n in range(1, count + 1)) for word in (b"out", b"err"))
        assert self.stdout.read_bytes() == out
        assert (self.stdout.parent / "stderr.log").read_bytes() == err
        merged = merged_output(self.cli, self.job).splitlines(keepends=True)
        assert len(merged) == 2 * count
        assert "".join(line for line in merged if line.startswith("out")).encode() == out
        assert "".join(line for line in merged if line.startswith("err")).encode() == err


def check_known_or_lost(ended: dict[str, Any]) -> None:
    """Of a command that has no parent of ours any more the kernel tells the code from 6.15 on, else it is lost, and said so."""
    told = (ended["state"], ended["reason"], ended["exit_code"])
    assert told in (("exited", "exit", CODE), ("failed", "lost", None)), told
    if tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 15):
        assert told[0] == "exited", f"this kernel ({os.uname().release}) keeps the code"


def merged_output(cli: Cli, job: str) -> str:
    """The whole merged stream, read page by page along the cursor."""
    pieces: list[str] = []
    seq = 0
    while True:
        page = cli.ok("poll", job, "--since-seq", str(seq), "--max-bytes", "1048576", "--raw")
        assert page["truncated"] is False, "this helper is for jobs whose pages are not cut"
        if page["next_seq"] == seq:
            return "".join(pieces)
        pieces.append(page["output"])
        seq = page["next_seq"]
