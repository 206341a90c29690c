"""A real machine behind sshd as a test uses it: with a configuration that names it `box`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import processes, sshd
from support.wait import until

SOON_S = 240.0  # a mirror may pause for a minute, and other slow tests load the machine
CONFIG = """
[hosts.box]
kind = "ssh"
target = "box"
options = ["-F", "{config}"]
python = "{python}"
"""


def used(place: Path) -> Iterator[sshd.Machine]:
    """The body of a fixture: the machine for one test. Skips the test where none can be."""
    why = sshd.missing()
    if why is not None:
        pytest.skip(why)
    machine = sshd.Machine(place)
    path = place / "home/.config/outlive/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG.format(config=machine.config, python=sys.executable), encoding="utf-8")
    try:
        yield machine
        # A mirror whose machine is gone would try to reach it for ever
        until(lambda: not mirrors_below(place), what="every mirror is done", timeout=SOON_S)
    finally:
        machine.close()


def mirrors_below(place: Path) -> list[int]:
    return [pid for pid in processes.of(place) if processes.name(pid) == "outmirror"]
