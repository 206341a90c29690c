"""The file that a job reads is opened before the job is made, and closed if nothing comes of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.core.records import Definition
from outlive.errors import OutliveError, invalid
from outlive.jobs.definition import Plan, open_stdin
from support.leaks import open_files


def test_what_is_not_read_is_not_kept_open(tmp_path: Path) -> None:
    def refuse(fd: int, path: str, field: str) -> None:
        raise invalid(field, "it lies in a place that the sandbox hides")

    (tmp_path / "input").write_text("x")
    before = open_files()
    for path, check in ((tmp_path, None), (tmp_path / "input", refuse)):
        with pytest.raises(OutliveError):
            open_stdin(str(path), check)
    plan = Plan(Definition(), {}, stdin_fd=open_stdin(str(tmp_path / "input"), None))
    assert open_files() != before
    del plan
    assert open_files() == before
