"""What a job leaves behind costs its supervisor no more memory, and no longer way through links, than it has."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import after, search
from parts.sandbox.inside.test_break_out import Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

INSIDE = ("run", "--wait", "--sandbox", "workspace-write")
SELF = pytest.mark.parametrize("user", ["self"])
# More links in a chain than Python follows, each of which leads to the one before
CHAIN = "n=0; ln -s nowhere l0; while [ $n -lt 1100 ]; do ln -s l$n l$((n += 1)); done"
ARMED = "git init -q evil; git -C evil config core.fsmonitor ./run"


@SELF
@pytest.mark.parametrize("names", ["mkdir sub; echo gitdir: ../l1100 > sub/.git", "ln -s l1100 .git"])
def test_a_chain_of_links_keeps_no_repository_from_being_disarmed_and_no_job_from_starting(
    ground: Ground, names: str
) -> None:
    place = ground.directory("w")
    answer = ground.outlive(*INSIDE, f"{CHAIN}; {names}; {ARMED}", cwd=place)
    assert answer["exit_code"] == 0
    assert (place / "evil/.git.from-sandbox").is_dir() and not (place / "evil/.git").exists(), answer
    next_ = ground.outlive(*INSIDE, "--git", "write", "true", cwd=place)
    assert next_["ok"] and next_["exit_code"] == 0, next_


@SELF
def test_a_repository_for_which_there_is_no_time_counts_as_armed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ground.directory("w")
    ground.shell("git init -q a; git init -q b", place)
    status = place.stat()
    sandbox = Sandbox(
        mode="workspace-write",
        home="/nonexistent",
        roots=[str(place)],
        root_ids=[[status.st_dev, status.st_ino]],
    )
    before = after.Before({}, {}, [], [], {})
    assert not [one for one in after.check(sandbox, before, renames=False) if one["kind"] == "armed"]
    monkeypatch.setattr(after, "_LOOKING_S", 0)
    found = after.check(sandbox, before)
    assert [one.get("moved_to") for one in found] == [f"{place}/{name}/.git.from-sandbox" for name in ("a", "b")]


@SELF
def test_why_a_program_did_not_start_says_nothing_of_what_the_job_does_not_see(ground: Ground) -> None:
    place, other = ground.directory("w"), ground.directory("other")
    (other / "script").write_text("#!/secret/interpreter\n")
    (other / "key").write_text("secret")
    for name, leads_to in (("a", "script"), ("b", "key"), ("c", "gone")):
        os.symlink(other / leads_to, place / name)
        answer = ground.outlive(*INSIDE, "--", f"./{name}", "x", cwd=place)
        assert (answer["state"], answer["message"]) == ("failed", f"./{name}: command not found"), answer


@SELF
def test_a_notification_to_a_file_behind_a_chain_of_links_ends_no_supervisor(ground: Ground) -> None:
    place = ground.directory("w")
    told = ("--notify-file", f"{place}/l1100")
    answer = ground.outlive(*INSIDE, *told, f"{CHAIN}; {ARMED}", cwd=place)
    assert answer["exit_code"] == 0 and not (place / "evil/.git").exists(), answer


def full(folder: Path, files: int) -> int:
    """Make so many files with paths of more than 3,000 bytes; return how many bytes these are."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(14):
        os.mkdir("d" * 220, dir_fd=fd)
        inner = os.open("d" * 220, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    for number in range(files):
        os.close(os.open(f"{number}", os.O_CREAT, dir_fd=fd))
    os.close(fd)
    return files * 14 * 221


def test_what_is_known_of_a_directory_of_settings_takes_no_memory_for_each_file(tmp_path: Path) -> None:
    settings = tmp_path / ".vscode"
    settings.mkdir()
    size = full(settings, 3_000)
    tracemalloc.start()
    try:
        before = after._known_as({"kind": "settings", "path": str(settings)}, search.Look([str(tmp_path)]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 4
    (settings / "tasks.json").touch()
    assert after._known_as({"kind": "settings", "path": str(settings)}, search.Look([str(tmp_path)])) != before


def test_more_than_a_look_may_note_is_refused_at_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "app" / ".vscode"
    settings.mkdir(parents=True)
    size = full(settings, 50)
    look = search.Look([str(tmp_path)])
    assert len([*look.stamps(f"{tmp_path}/app", kept=False)]) == 51
    monkeypatch.setattr(search, "_MOST_NOTED", size // 2)
    with pytest.raises(search.Unguarded, match="has too many files for settings"):
        list(search.Look([str(tmp_path)]).stamps(f"{tmp_path}/app", kept=False))


def test_what_a_search_prints_is_read_no_further_than_it_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (tmp_path / f"{number:0200}" / ".git").mkdir(parents=True)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert len(search.find({str(tmp_path): fd})) == 200
        monkeypatch.setattr(search, "_MOST_FOUND", 10_000)
        with pytest.raises(search.Unguarded, match="take more than 16 MB"):
            search.find({str(tmp_path): fd})
    finally:
        os.close(fd)
