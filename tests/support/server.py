"""A server of outlive in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.mcp_client import BOUND_S


class Server:
    """Starts a command with a standard output that can be read and a log of what it says on standard error, and ends
    it. A subclass enters the context by `launch`, and waits there until the server is ready."""

    process: subprocess.Popen[bytes]

    def __init__(self, log: Path, words: list[str], env: Mapping[str, str]) -> None:
        self.log, self.words, self.env = log, words, env
        self._told = 0  # bytes of the log that were written before it started, or in tests before this one

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self._told = log.tell()
            self.process = subprocess.Popen(
                self.words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(BOUND_S)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def said(self) -> str:
        """Return what it wrote to standard error, in this test if several share it."""
        return self.log.read_bytes()[self._told :].decode() if self.log.exists() else ""

    def begin_test(self) -> None:
        """Forget what was said in the tests before."""
        self._told = self.log.stat().st_size
