"""Networks of namespaces: each test that makes links of its own has a number, and with it names and addresses, alone."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
from typing import Self

COUNT = 250  # as many as the third byte of an address has


class Network:
    """A number that no other process of this machine has until `close`.

    `link` is the beginning of the names of its links, `addresses` that of its addresses, whose second byte is FIRST or
    above. A number is free if no process holds it (an abstract name goes with its process, unix(7)) and if there are
    neither links nor addresses with it: those of a test that was killed stay.
    """

    def __init__(self, name: str, first: int) -> None:
        """`name`: how the names of its links begin, without digits."""
        there = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True, timeout=60).stdout
        links = os.listdir("/sys/class/net")
        begin = os.getpid() % COUNT
        for number in itertools.chain(range(begin, COUNT), range(begin)):
            self.number = number
            self.link = f"{name}{number}"
            self.addresses = f"10.{first + number % 50}.{number}"
            if f" {self.addresses}." in there or any(one.partition("x")[0] == self.link for one in links):
                continue
            self._held = socket.socket(socket.AF_UNIX)
            try:
                self._held.bind(f"\0outlive-tests-{name}{number}")
            except OSError:
                self._held.close()
                continue
            return
        raise AssertionError(f"all {COUNT} networks {name} are in use: see `ip addr`")

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
