"""What a supervisor opens of its job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from outlive.supervisor import job_fds
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
