"""`log` with `times`: when each line was printed."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.commands import python
from support.face import Face

# Each piece is printed when the clock is 150 ms further: what comes within a tenth of a second shares a time
PROGRAM = """
import os, time
def at(stream, text):
    began = time.monotonic()
    while time.monotonic() < began + 0.15: pass
    os.write(stream, text.encode())
"""


def ran(face: Face, *pieces: tuple[int, str], **given: Any) -> str:
    body = PROGRAM + "".join(f"at({stream}, {text!r})\n" for stream, text in pieces)
    job: str = face.ok("run", command=python(body)[1:], until=["exit"], yield_ms=20_000, **given)["job_id"]
    return job


def lines(face: Face, job: str, **given: Any) -> list[tuple[str, str | None]]:
    answer = face.ok("log", job, times=True, **given)
    return list(zip(answer["output"].splitlines(), answer["times"], strict=True))


def rising(pairs: list[tuple[str, str | None]]) -> list[str]:
    """Return the lines, whose times rise."""
    times = [at or "" for _, at in pairs]
    assert times == sorted(set(times))
    assert "" not in times
    for at in times:
        assert at.endswith("Z")
        assert abs(datetime.fromisoformat(at).timestamp() - time.time()) < 600
    return [line for line, _ in pairs]


def test_lines_have_the_times_at_which_they_were_printed(face: Face) -> None:
    job = ran(face, (1, "a\n"), (1, "b\n"), (2, "c\n"), (2, "d\n"), (1, "half"))
    every = lines(face, job)
    assert rising(every) == ["a", "b", "c", "d", "half"]
    assert lines(face, job, offset=1, limit=2) == every[1:3]
    assert lines(face, job, limit=2) == lines(face, job, offset=-2) == every[3:]
    assert lines(face, job, since_seq=4) == every[2:]
    assert lines(face, job, stream="stderr") == every[2:4]
    assert lines(face, job, stream="stdout") == [*every[:2], every[4]]
    found = lines(face, job, search="[bd]", context=0)
    assert found == [("2:b", every[1][1]), ("--", None), ("4:d", every[3][1])] or found == [
        ("2:b", every[1][1]),
        ("4:d", every[3][1]),
    ]
    assert "times" not in face.ok("log", job)


def test_a_line_has_the_time_of_its_beginning(face: Face) -> None:
    job = ran(face, (1, "begun "), (1, "ended\nnext "), (1, "too\n"))
    (first, at), (second, later) = lines(face, job)
    assert (first, second) == ("begun ended", "next too")
    assert str(at) < str(later)
    assert lines(face, job, stream="stdout") == lines(face, job)


def test_lines_of_ours_have_no_time(face: Face) -> None:
    job = ran(face, (1, "x" * 400 + "\n"), (1, "y\n" * 200), (1, "z\n"))
    shown = lines(face, job, max_bytes=200)
    assert [at is None for line, at in shown] == [line.startswith("[...") for line, _ in shown]
    assert shown[-1] == ("z", lines(face, job, limit=1)[0][1])


@pytest.mark.parametrize("raw", [False, True])
def test_a_terminal_has_times_too(face: Face, raw: bool) -> None:
    job = ran(face, (1, "10 %\r"), (1, "\x1b[31m100 %\x1b[0m\n"), (1, "done\n"), pty=True)
    shown = face.ok("log", job, times=True, raw=raw)
    assert len(shown["times"]) == 2
    assert shown["times"][0] < shown["times"][1]
    assert ("\x1b[31m" in shown["output"]) == raw


def test_without_the_file_of_the_order_that_is_said(face: Face, root: Path) -> None:
    job = ran(face, (1, "a\n"), (2, "b\n"))
    (root / job / "order").unlink()
    answer = face.ok("log", job, times=True)
    assert (answer["output"], answer["times"]) == ("a\nb\n", [None, None])
    assert "When these lines were printed is not known" in answer["hint"]


def test_output_that_is_compared_has_no_times(face: Face) -> None:
    job = ran(face, (1, "a\n"))
    face.error("log", job, times=True, compare="previous", code="invalid_argument")


def test_each_line_has_its_time_where_a_secret_of_several_lines_is_masked(face: Face) -> None:
    key = (
        "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\nS3cretS3cret==\\n-----END PRIVATE KEY-----\\n"
    )
    job = face.ok("run", command=f"echo before; printf -- '{key}'; echo behind")["job_id"]
    found = lines(face, job)
    assert (len(found), found[0][0], found[5][0]) == (6, "before", "behind")
    assert all(at for _, at in found)
