"""A job goes on printing while its output is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlive.store.output import damage
from outlive.store.output.merged import Output
from support.kept import made


def test_what_is_printed_during_a_look_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there for the next look, or for this one; no answer says that it was cut away."""
    real = damage.read
    with made(tmp_path, 0) as job:
        job.put(0, b"before\n")

        def read(*words: Any) -> object:
            job.put(0, b"meanwhile\n")
            return real(*words)

        monkeypatch.setattr(damage, "read", read)
        with Output(job.dir) as output:
            assert output.missing_bytes == 0
            assert b"".join(data for _, data in output.pieces(0, output.end)) in (b"before\n", b"before\nmeanwhile\n")
