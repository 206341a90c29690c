"""A job root that is deleted and made anew under a server whose calls are at work in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls

CALLER = Caller("tests", "tests", "tests")


@pytest.fixture
def replace(root: Path, place: Path) -> Callable[[], None]:
    """`replace()` moves the root away and makes an empty one in its place."""
    count = iter(range(100))

    def run() -> None:
        root.rename(place / f"old-{next(count)}")
        root.mkdir(mode=0o700)

    return run


def test_a_call_that_is_at_work_keeps_the_old_root_open(calls: Calls, replace: Callable[[], None]) -> None:
    at_work = calls.context(CALLER, "read", "this test")
    fd, inode = at_work.store.fd, os.fstat(at_work.store.fd).st_ino
    replace()
    next_call = calls.context(CALLER, "read", "this test")
    assert next_call.store.fd != fd
    assert os.fstat(at_work.store.fd).st_ino == inode
    assert at_work.store.ids() == []
    del at_work
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert next_call.store.is_in_place()
