"""What a supervisor opens of its job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from outlive.supervisor import control_server, job_fds
from support import leaks


def test_the_fifo_that_could_be_opened_is_closed_again_if_the_other_one_is_missing(tmp_path: Path) -> None:
    """A power cut may leave one of them, and a server looks at that job again and again."""
    store = Store.open(str(tmp_path / "jobs"), {})
    made = NewJob(store, new_id())
    os.unlink(".io/stderr", dir_fd=made.dir.fd)
    before = leaks.open_files()
    with pytest.raises(FileNotFoundError):
        job_fds.open_readers(made.dir)
    assert leaks.open_files() == before
    made.close()
    store.close()


def test_a_socket_takes_the_place_of_a_dead_supervisors_and_of_nothing_behind_a_link(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "jobs"), {})
    made = NewJob(store, new_id())
    for _ in range(2):  # the second finds the name of the first
        control_server.listen(made.dir).close()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "control").write_text("kept")
    os.rename(".io", ".io-before", src_dir_fd=made.dir.fd, dst_dir_fd=made.dir.fd)
    os.symlink(theirs, ".io", dir_fd=made.dir.fd)
    before, mask = leaks.open_files(), os.umask(0o077)
    try:
        with pytest.raises(OSError, match=r"Not a directory|symbolic"):
            control_server.listen(made.dir)
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(mask)
    assert (theirs / "control").read_text() == "kept"
    assert leaks.open_files() == before
    made.close()
    store.close()
