"""What is synced to disk when a job has ended, and in which order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.supervisor import supervisor
from support import pair
from support.calls import ask, calls_of
from support.wait import until

CALLER = Caller("tests", "tests", "tests")
Syncs = Callable[[str], list[tuple[str, str]]]


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with contextlib.closing(calls_of(root)) as made:
        yield made


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch, root: Path, place: Path) -> Syncs:
    """`syncs(job)` waits until nothing is left to do about a job, and returns what its supervisor, a fork of this
    process, has started to write and has synced: (call, name in the job's directory)."""
    monkeypatch.setattr(supervisor, "_SYNC_AFTER_S", 600)  # of the start, while the command runs
    noted = place / "noted"
    for name in ("fsync", "posix_fadvise"):
        real = getattr(os, name)

        def note(fd: int, *rest: int, name: str = name, real: Callable[..., None] = real) -> None:
            with noted.open("a") as file:
                file.write(f"{name} {os.readlink(f'/proc/self/fd/{fd}')}\n")
            real(fd, *rest)

        monkeypatch.setattr(os, name, note)

    def seen(job: str) -> list[tuple[str, str]]:
        until(lambda: not pair.is_supervised(root, job), what="the end of its supervisor")
        found = [line.split(" ", 1) for line in noted.read_text().splitlines()]
        return [(call, os.path.relpath(path, root / job)) for call, path in found if path.startswith(f"{root / job}")]

    return seen


def test_all_files_of_a_job_are_synced_once_and_after_each_began_to_be_written(calls: Calls, syncs: Syncs) -> None:
    """Then a journal is committed for all of them together."""
    job = ask(calls, CALLER, "exec", command="echo out; echo err >&2")["job_id"]
    found = syncs(job)
    synced = [name for call, name in found if call == "fsync"]
    files = {"meta.json", "state.json", "order", "events.ndjson", "stdout.log", "stderr.log"}
    assert sorted(synced) == sorted([*files, "."])
    assert synced[-1] == ".", "the directory is last"
    began = [name for call, name in found[: len(files)] if call == "posix_fadvise"]
    assert set(began) == files


def test_output_that_comes_after_the_end_is_synced_too(
    calls: Calls, syncs: Syncs, root: Path, work: Path, place: Path
) -> None:
    late = "(until [ -e go ]; do sleep 0.1; done; echo late) & echo early"
    job = ask(calls, CALLER, "exec", command=late, workdir=str(work))["job_id"]
    until(lambda: f"fsync {root / job}\n" in (place / "noted").read_text(), what="the sync of the end")
    (work / "go").touch()
    assert [name for call, name in syncs(job) if call == "fsync"].count("stdout.log") == 2
