"""A job goes on printing while its output is looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from outlive.store.job_dir import LOGS
from outlive.store.output import order
from outlive.store.output.merged import Output
from support.kept import made


def test_what_is_printed_during_a_look_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there for the next look, or for this one; no answer says that it was cut away."""
    real = order.opened
    with made(tmp_path, 0) as job:
        job.put(0, b"before\n")

        def read(*words: Any) -> object:
            job.put(0, b"meanwhile\n")
            return real(*words)

        monkeypatch.setattr(order, "opened", read)
        with Output(job.dir) as output:
            assert output.missing_bytes == 0
            assert b"".join(data for _, data in output.pieces(0, output.end)) in (b"before\n", b"before\nmeanwhile\n")


def test_the_time_of_the_newest_output_is_that_of_the_log_that_grew_last(tmp_path: Path) -> None:
    """How long a job has been quiet is counted from it."""
    with made(tmp_path, 0) as job:
        with Output(job.dir) as output:
            assert output.last_time() is None
        job.put(1, b"a word\n")
        for name, seconds in zip(LOGS, (2_000, 3_000), strict=True):
            os.utime(job.path / name, (seconds, seconds))
        with Output(job.dir) as output:
            assert output.last_time() == 3_000
