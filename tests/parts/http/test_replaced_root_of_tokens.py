"""A job root that is deleted and made anew under a server that reads its tokens there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from heart.mcp import test_replaced_root
from outlive.parts.http.tokens import Tokens
from outlive.store.root import Store

replace = test_replaced_root.replace


def test_a_request_that_is_at_work_keeps_the_old_tokens_open(root: Path, replace: Callable[[], None]) -> None:
    root.mkdir(mode=0o700)
    first = Store.existing(str(root))
    tokens = Tokens(first)
    replace()
    secret = tokens.add("one")[1]
    at_work = tokens._store
    fd, inode = at_work.fd, os.fstat(at_work.fd).st_ino
    replace()
    assert tokens.match(secret) is None
    assert os.fstat(fd).st_ino == inode
    del at_work
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert os.fstat(first.fd), "the caller's own store stays the caller's"
    tokens._store.close()
    first.close()
