"""Files of the workspace that have another name elsewhere (hard links): a job changes none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

pytestmark = USERS
INSIDE = ("--sandbox", "workspace-write")
# As for uv and pnpm: a store that all projects share, and what is installed from it
INSTALLED = "mkdir -p ../store .venv/lib/site; echo old > ../store/m.py; ln ../store/m.py .venv/lib/site/m.py"
WRITES = {
    "append": "echo evil >> .venv/lib/site/m.py",
    "cut": ": > .venv/lib/site/m.py",
    "by another name of its own": "ln .venv/lib/site/m.py own; echo evil >> own",
    "behind a directory that is renamed": "mv .venv old; echo evil >> old/lib/site/m.py",
    "by a link": "ln -s .venv/lib/site/m.py own; echo evil >> own",
    "its mode": "chmod 777 .venv/lib/site/m.py",
}


def _after(ground: Ground, command: str, *args: str, place: Path) -> None:
    answer = ground.outlive("run", "--wait", *INSIDE, *args, command, cwd=place)
    assert answer["ok"], answer


@pytest.mark.parametrize("git", ["read", "write"])
def test_a_file_that_a_store_shares_is_not_changed(ground: Ground, git: str) -> None:
    place = ground.directory("work")
    ground.shell(INSTALLED, place)
    shared = place.parent / "store/m.py"
    before = shared.stat()
    for name, command in WRITES.items():
        _after(ground, command, "--git", git, place=place)
        after = shared.stat()
        assert (shared.read_text(), after.st_mode, after.st_mtime) == ("old\n", before.st_mode, before.st_mtime), name


def test_many_files_that_a_store_shares_are_kept_by_their_directories(ground: Ground) -> None:
    place = ground.directory("work")
    fill = "for p in $(seq 12); do mkdir -p ../store/$p; for n in $(seq 20); do echo old > ../store/$p/$n; done; done"
    ground.shell(f"{fill}; mkdir -p node_modules src; echo > src/own; cp -al ../store node_modules/all", place)
    _after(
        ground,
        "for name in node_modules/all/*/*; do echo evil >> $name; done; echo mine > src/own; echo > new",
        place=place,
    )
    assert {path.read_text() for path in place.parent.glob("store/*/*")} == {"old\n"}
    assert (place / "src/own").read_text() == "mine\n"
    assert (place / "new").exists()


def test_too_many_at_the_top_are_refused(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell("mkdir ../store; for n in $(seq 120); do echo > ../store/$n; done; cp -al ../store/* .", place)
    error = ground.outlive("run", "--wait", *INSIDE, "echo > new", cwd=place)["error"]
    assert error["code"] == "sandbox_unavailable"
    assert "other names elsewhere (hard links)" in error["message"]


def test_a_name_that_a_job_kept_of_a_file_that_left_the_workspace(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell("mkdir ../bin; echo old > tool", place)
    _after(ground, "ln tool .kept", place=place)
    ground.shell("mv tool ../bin/tool", place)
    _after(ground, "echo evil >> .kept", place=place)
    assert (place.parent / "bin/tool").read_text() == "old\n"


@pytest.mark.parametrize("kept", [".git/objects/zz", ".git/objects/pack/pack-1.pack", ".git/objects/ab/" + 38 * "0"])
def test_a_name_among_the_objects_of_git_is_kept_too(ground: Ground, kept: str) -> None:
    place = ground.directory("work")
    ground.shell("mkdir ../bin; echo old > tool; git init -q .", place)
    _after(ground, f"mkdir -p $(dirname {kept}); chmod 444 tool; ln tool {kept}", "--git", "write", place=place)
    ground.shell("mv tool ../bin/tool", place)
    _after(ground, f"chmod 644 {kept}; echo evil >> {kept}", "--git", "write", place=place)
    assert (place.parent / "bin/tool").read_text() == "old\n"


def test_objects_that_clones_share_are_no_hindrance(ground: Ground) -> None:
    place = ground.directory("work")
    who = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y"
    ground.shell(
        f"{who}; git init -q ../it; cd ../it; seq 99 > a; git add a; git commit -qm a; git gc -q; git clone -q . ../work/sub",
        place,
    )
    shared = next((place / "sub/.git/objects/pack").glob("*.pack"))
    assert shared.stat().st_nlink > 1
    done = "git commit -q --allow-empty -m b && git gc -q && git fsck"
    answer = ground.outlive("run", "--wait", *INSIDE, "--git", "write", f"{who}; cd sub; {done}", cwd=place)
    assert answer["exit_code"] == 0, answer


def test_settings_of_an_editor_are_not_changed_by_their_other_name(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell("mkdir .vscode mine; echo old > mine/tasks; ln mine/tasks .vscode/tasks.json", place)
    _after(ground, "echo evil >> mine/tasks", place=place)
    assert (place / ".vscode/tasks.json").read_text() == "old\n"


def test_a_file_whose_names_are_all_in_the_workspace_is_written(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell("mkdir -p target/deps; echo old > target/deps/it; ln target/deps/it target/it", place)
    _after(ground, "echo new > target/it", place=place)
    assert (place / "target/deps/it").read_text() == "new\n"
    assert os.stat(place / "target/it").st_nlink == 2
