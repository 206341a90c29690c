"""No permission: the error names the path, and the advice fits what was being done."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.errors import OutliveError
from outlive.jobs.starting import making
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from support.cli import Cli
from support.preloaded import OUTLIVE

# PR_CAPBSET_DROP (prctl(2)) of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (capabilities(7)): root, too, is refused then
_DROP, _OVERRIDE, _READ_SEARCH = 24, 1, 2


def refused(cli: Cli, *words: str) -> dict[str, Any]:
    """The error object of a call by a process that is refused what the modes of files refuse."""
    libc = ctypes.CDLL(None, use_errno=True)

    def drop() -> None:
        if os.geteuid() == 0:
            assert libc.prctl(_DROP, _OVERRIDE, 0, 0, 0) == libc.prctl(_DROP, _READ_SEARCH, 0, 0, 0) == 0

    done = subprocess.run(
        [*OUTLIVE, "--root", str(cli.root), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=drop,
    )
    found = json.loads(done.stdout)
    assert not found["ok"], found
    error: dict[str, Any] = found["error"]
    return error


@pytest.fixture
def closed(place: Path) -> Iterator[Path]:
    """A directory that may not be entered, with a file and a directory in it."""
    folder = place / "closed"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").write_text("x", encoding="utf-8")
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.parametrize("flags", [["--stdin", "@{}/file"], ["--env-file", "{}/file"]])
def test_a_file_that_may_not_be_read_is_named_and_no_other_root_advised(
    cli: Cli, closed: Path, flags: list[str]
) -> None:
    error = refused(cli, "run", flags[0], flags[1].format(closed), "true")
    assert error["details"] == {"errno": "EACCES"}
    assert f"{closed}/file" in str(error["message"])
    assert "root" not in str(error.get("hint"))


def test_the_directory_that_may_not_be_entered_is_named(cli: Cli, closed: Path) -> None:
    error = refused(cli, "run", "--cwd", f"{closed}/inner", "true")
    assert error["code"] == "invalid_argument"
    assert f"{closed}/inner" in str(error["message"]) and f"{closed} may not be entered" in str(error["message"])


def test_a_root_that_may_not_be_made_is_named_with_what_refused_it(cli: Cli, closed: Path) -> None:
    error = refused(cli, "list", "--root", f"{closed}/inner/jobs")
    assert f"{closed}/inner/jobs" in error["message"] and error["details"] == {"errno": "EACCES"}
    assert "another with --root" in error["hint"].replace("job root ", "")


def test_what_a_supervisor_could_not_enter_is_named(root: Path) -> None:
    store = Store.open(str(root), {})
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    new = NewJob(store, new_id())
    try:
        there.send(json.dumps({"failed": "Permission denied", "errno": errno.EACCES, "path": "/a/b"}).encode())
        assert new.locks
        with pytest.raises(OutliveError) as caught:
            making.await_start(new.dir, here, new.locks)
    finally:
        new.discard()
        store.close()
        here.close()
        there.close()
    assert caught.value.code == "launch_failed"
    assert "/a/b" in caught.value.message
    assert "root" not in str(caught.value.hint)
