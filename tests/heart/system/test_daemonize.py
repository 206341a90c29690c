"""A process that detaches where its user may have no more processes."""

from __future__ import annotations

import errno
import os
import resource
import signal

import pytest

from outlive.system import daemonize

NOBODY = 54_321  # a user without any other process


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without processes")
def test_a_fork_that_the_limit_of_processes_forbids_has_its_own_errno() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))  # this one, and the one between
            os.setresuid(NOBODY, NOBODY, NOBODY)
            daemonize.fork_away(lambda: 0, set(), "test")
        except OSError as error:
            os.write(writing, str(error.errno).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as said:
        assert int(said.read()) == errno.EAGAIN
    os.waitpid(child, 0)


def test_a_process_between_that_is_killed_is_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemonize, "fork_into", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(OSError, match="could not be forked") as raised:
        daemonize.fork_away(lambda: 0, set(), "test")
    assert raised.value.errno == errno.EAGAIN
