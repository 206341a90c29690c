"""The tests' own tools: what they promise, they have to find."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import leaks, pair, processes, schema, tiers, trees
from support.cli import Text, one_object
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST
from support.wait import until

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def _started(**how: Any) -> subprocess.Popen[bytes]:
    """A process that lives until it is ended, and is past exec."""
    child: subprocess.Popen[bytes] = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, **how)
    assert child.stdout and child.stdout.readline() == b"up\n"
    return child


def _ended(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    assert child.stdout
    child.stdout.close()


def test_the_users_own_store_is_out_of_reach(place: Path) -> None:
    ours = {name: path for name, path in os.environ.items() if name.startswith(("OUTLIVE_", "XDG_")) or name == "HOME"}
    assert ours["OUTLIVE_ROOT"] == str(place / "jobs")
    assert all(path.startswith(f"{place}/") for path in ours.values())
    assert Path.home() == place / "home"
    assert Path.cwd() == place / "work"


def test_a_process_that_is_gone_is_a_failure_and_no_signal_to_the_runner() -> None:
    assert pair.supervisor_now("no such job") == 0
    with pytest.raises(AssertionError, match="process group"):
        pair.end(pair.supervisor_now("no such job"))


def test_a_process_is_found_by_its_environment_an_open_file_or_a_directory_that_is_removed(place: Path) -> None:
    (place / "gone").mkdir()
    with (place / "lock").open("w") as lock:
        found = {
            "OUTLIVE_ROOT=": _started(cwd="/"),
            f"fd {lock.fileno()}": _started(cwd="/", env={}, pass_fds=[lock.fileno()]),
            "(deleted)": _started(cwd=place / "gone", env={}),
        }
        (place / "gone").rmdir()
        why = processes.of(place)
        for word, child in found.items():
            assert word in why[child.pid] or (word == "OUTLIVE_ROOT=" and "HOME=" in why[child.pid])
            _ended(child)
    assert not processes.of(place).keys() & {child.pid for child in found.values()}


def test_a_process_of_another_place_is_left_alone(place: Path) -> None:
    near = Path(f"{place}-2")
    child = _started(cwd="/", env={"HOME": str(near), "OUTLIVE_ROOT": str(near / "jobs")})
    assert child.pid not in processes.of(place)
    assert processes.end_all(place) == {}
    assert child.poll() is None
    _ended(child)


def test_a_walk_goes_on_where_a_file_is_renamed_under_it_and_sees_the_new_content(work: Path) -> None:
    (work / "deep").mkdir()
    old, new = work / "deep" / "state", work / "deep" / ".state.1"
    old.write_text("old")
    new.write_text("newer")

    def size(path: Path) -> int:
        if path == new:
            new.rename(old)
        return path.lstat().st_size

    found = trees._looked_at(work, size)
    assert (set(found), found[old]) == ({work, work / "deep", old}, len("newer"))
    assert trees.contents(work) == {old: b"newer"}
    assert set(trees.entries(work)) == set(found)


def test_a_surviving_process_is_named_and_ended(place: Path) -> None:
    before = leaks.Before()
    child = _started()
    lines = leaks.found(before, place, settle_s=0)
    assert any(f"still running: pid {child.pid}" in line for line in lines)
    assert child.wait(60) == -9
    _ended(child)
    assert leaks.found(before, place, settle_s=0) == []


def test_jobs_that_may_live_are_only_ended(place: Path) -> None:
    before = leaks.Before()
    child = _started()
    lines = leaks.found(before, place, jobs_may_live=True, settle_s=1)
    assert not any("still running" in line for line in lines)
    assert child.wait(60) == -9
    _ended(child)


def test_a_zombie_is_a_leak(place: Path) -> None:
    before = leaks.Before()
    child = subprocess.Popen([sys.executable, "-c", ""])
    until(lambda: processes.children().get(child.pid) == "Z", what="the child is a zombie")
    assert any("zombie" in line for line in leaks.found(before, place))
    child.wait()
    assert leaks.found(before, place) == []


def test_an_open_file_is_a_leak(place: Path) -> None:
    before = leaks.Before()
    left, right = socket.socketpair()
    assert len(leaks.found(before, place, settle_s=1)) == 2
    left.close()
    right.close()
    assert leaks.found(before, place) == []


@pytest.mark.leaves_jobs
def test_a_marked_test_may_leave_processes_of_its_place(place: Path) -> None:
    subprocess.run(["sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 &"], check=True)
    assert len(processes.of(place)) == 1


def test_waiting_ends_with_what_the_condition_gave_and_what_it_reads_may_come_meanwhile() -> None:
    looks = iter([0, "", None, FileNotFoundError, ProcessLookupError, IndexError, KeyError, "here"])

    def look() -> Any:
        found = next(looks)
        if isinstance(found, type):
            raise found
        return found

    assert until(look) == "here"


def test_what_never_comes_is_named_by_the_last_look(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        until((tmp_path / "never").read_text, timeout=0)


def test_waiting_names_what_did_not_come() -> None:
    with pytest.raises(AssertionError, match="the moon: not so"):
        until(lambda: False, timeout=0, what="the moon")


def test_anything_but_one_object_and_a_newline_is_refused() -> None:
    for printed in ["", "{}", "[]\n", "{}\n\n", "{}\n{}\n", "x{}\n", '{"a":1,"a":2}\n', '{"a":NaN}\n']:
        with pytest.raises(AssertionError):
            one_object(Text(0, printed, ""))


def test_a_closed_schema_refuses_what_nobody_declared() -> None:
    definition: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "base": {"type": "object", "properties": {"kind": {"type": "string"}}},
            "open": {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
            "whole": {
                "allOf": [
                    {"$ref": "#/$defs/base"},
                    {"properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/open"}}}},
                ],
            },
            "deep": {"properties": {"properties": {"properties": {"x": {}}}, "free": {"type": "object"}}},
        },
    }
    found = schema.closed(definition)
    whole, deep = schema._validator(found, "whole"), schema._validator(found, "deep")
    assert whole.is_valid({"kind": "k", "items": [{"a": 1, "b": 2}]})
    assert not whole.is_valid({"kind": "k", "other": 1})
    assert deep.is_valid({"properties": {"x": 1}, "free": {"any": 1}})
    assert not deep.is_valid({"properties": {"y": 1}})
    assert not deep.is_valid({"z": 1})
    assert definition["$defs"]["deep"].keys() == {"properties"}, "the schema itself is left as it is"


@MODERN_FIRST
def test_a_server_that_does_not_start_is_an_error_at_once(era: str, place: Path) -> None:
    with pytest.raises(ExceptionGroup), McpSession(log=place / "log", era=era, command=["false"]):
        pass


def test_of_values_in_turn_each_is_tried_with_one_face_by_default_and_with_the_other_slowly() -> None:
    class Item:
        nodeid = "tests/x.py::test_x[...]"

        def __init__(self, face: str, value: str, marks: set[str]) -> None:
            self.callspec = SimpleNamespace(params={"face": face, "value": value})
            self.marks = marks

        def get_closest_marker(self, name: str) -> bool | None:
            return name in self.marks or None

        def add_marker(self, mark: pytest.MarkDecorator) -> None:
            self.marks.add(mark.name)

    rows = [(face, value) for face in ("cli", "mcp") for value in ("a", "b", "c")]
    items = [Item(*row, {"in_turn"}) for row in rows]
    others = [Item(*row, set()) for row in rows]
    tiers.take_turns([*items, *others])
    tried = [row for row, item in zip(rows, items, strict=True) if "slow" not in item.marks]
    assert tried == [("cli", "a"), ("cli", "c"), ("mcp", "b")]
    assert not any("slow" in item.marks for item in others)
