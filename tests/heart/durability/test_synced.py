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
    for name in ("fsync", "fdatasync", "posix_fadvise"):
        real = getattr(os, name)

        def note(fd: int, *rest: int, name: str = name, real: Callable[..., None] = real) -> None:
            with noted.open("a") as file:
                file.write(f"{name} {os.readlink(f'/proc/self/fd/{fd}')}\n")
            real(fd, *rest)

        monkeypatch.setattr(os, name, note)
    replace = os.replace

    def note_rename(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        with noted.open("a") as file:
            file.write(f"rename {os.readlink(f'/proc/self/fd/{dst_dir_fd}')}/{new}\n")
        replace(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "replace", note_rename)

    def seen(job: str) -> list[tuple[str, str]]:
        pair.until_free(root, job)
        found = [line.split(" ", 1) for line in noted.read_text().splitlines()]
        return [(call, os.path.relpath(path, root / job)) for call, path in found if job in path]

    return seen


def test_all_files_of_a_job_are_synced_once_and_after_each_began_to_be_written(calls: Calls, syncs: Syncs) -> None:
    """Then a journal is committed for all of them together."""
    job = ask(calls, CALLER, "exec", command="echo out; echo err >&2")["job_id"]
    found = [one for one in syncs(job) if one[0] != "rename"]
    synced = [name for call, name in found if call == "fsync"]
    files = {"meta.json", "state.json", "order", "events.ndjson", "stdout.log", "stderr.log"}
    assert sorted(synced) == sorted([*files, "."])
    assert synced[-1] == ".", "the directory is last"
    began = [name for call, name in found[: len(files)] if call == "posix_fadvise"]
    assert set(began) == files


@pytest.mark.fault("D01")
def test_a_record_that_replaces_a_synced_one_is_synced_before_its_name_is(
    calls: Calls, syncs: Syncs, work: Path, root: Path
) -> None:
    """XFS and btrfs keep a rename through a power cut without what was renamed, once another file is synced."""
    late = "(until [ -e go ]; do sleep 0.1; done; echo late) & echo early"
    job = ask(calls, CALLER, "exec", command=late, workdir=str(work))["job_id"]
    until(lambda: not (root / ".live" / job).exists(), what="the sync of the end")
    (work / "go").touch()
    found = syncs(job)
    synced = found.index(("fsync", "state.json"))
    after = [(call, name) for call, name in found[synced:] if "state.json" in name and call != "posix_fadvise"][1:]
    assert [call for call, _ in after] == ["fdatasync", "rename"], "the output that came late is counted in it"


@pytest.mark.fault("D01")
def test_a_start_and_an_end_cost_no_more_syncs_than_they_need(
    calls: Calls, syncs: Syncs, monkeypatch: pytest.MonkeyPatch, work: Path, place: Path
) -> None:
    monkeypatch.setattr(supervisor, "_SYNC_AFTER_S", 0)
    gated = "until [ -e go ]; do sleep 0.1; done; echo out; echo err >&2"
    job = ask(calls, CALLER, "exec", command=gated, workdir=str(work), background=True)["job_id"]
    until(lambda: f"{job}\n" in (place / "noted").read_text(), what="the sync of the start")
    (work / "go").touch()
    synced = [name for call, name in syncs(job) if call in ("fsync", "fdatasync")]
    assert sorted(synced[:3]) == sorted(["meta.json", f"../.live/{job}", "."]), "the mark says that it runs"
    files = ["state.json", "order", "events.ndjson", "stdout.log", "stderr.log", "."]
    assert sorted(synced[3:]) == sorted(files), "3 and 7 before"


def test_a_change_of_a_running_job_waits_for_no_disk(calls: Calls, syncs: Syncs, work: Path) -> None:
    gated = "trap '' TERM; until [ -e go ]; do sleep 0.1; done"
    job = ask(calls, CALLER, "exec", command=gated, workdir=str(work), background=True)["job_id"]
    ask(calls, CALLER, "process", action="kill", job_id=job, grace_ms=60_000, wait_ms=0)
    (work / "go").touch()
    found = syncs(job)
    renames = [at for at, (call, name) in enumerate(found) if (call, name) == ("rename", "state.json")]
    assert len(renames) >= 3, "running, the request, the end"
    assert not [call for call, _ in found[: renames[-1]] if call in ("fsync", "fdatasync")]


def test_output_that_comes_after_the_end_is_synced_too(
    calls: Calls, syncs: Syncs, root: Path, work: Path, place: Path
) -> None:
    late = "(until [ -e go ]; do sleep 0.1; done; echo late) & echo early"
    job = ask(calls, CALLER, "exec", command=late, workdir=str(work))["job_id"]
    until(lambda: f"fsync {root / job}\n" in (place / "noted").read_text(), what="the sync of the end")
    (work / "go").touch()
    assert [name for call, name in syncs(job) if call == "fsync"].count("stdout.log") == 2
