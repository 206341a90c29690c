"""Which port a worktree is given."""

from __future__ import annotations

import zlib
from itertools import islice
from pathlib import Path

import pytest

from outlive.parts.ports import choice

KEY = "0000abcd web"
BEGIN = 100 + zlib.crc32(KEY.encode()) % 10  # where the key says, in a range of ten


def after(port: int, count: int) -> int:
    return 100 + (port - 100 + count) % 10


ALL = {100 + at for at in range(10)}


@pytest.mark.parametrize(
    ("mine", "others", "first"),
    [
        (set(), set(), [BEGIN, after(BEGIN, 1)]),
        (set(), {BEGIN}, [after(BEGIN, 1), after(BEGIN, 2)]),
        ({after(BEGIN, 5)}, set(), [after(BEGIN, 5), BEGIN]),
        ({after(BEGIN, 5), after(BEGIN, 2)}, {BEGIN}, [after(BEGIN, 2), after(BEGIN, 5), after(BEGIN, 1)]),
        (set(), ALL, [BEGIN, after(BEGIN, 1)]),
        ({after(BEGIN, 9)}, ALL - {after(BEGIN, 9)}, [after(BEGIN, 9), BEGIN]),
    ],
)
def test_a_worktree_tries_what_it_had_then_what_none_had_then_what_others_had(
    mine: set[int], others: set[int], first: list[int]
) -> None:
    assert [*islice(choice.candidates(100, 109, KEY, mine, others), len(first))] == first
    assert sorted(choice.candidates(100, 109, KEY, mine, others)) == [*range(100, 110)]


def test_a_range_may_be_one_port() -> None:
    assert [*choice.candidates(7, 7, KEY, set(), set())] == [7]


def test_a_worktree_is_known_by_its_root(tmp_path: Path) -> None:
    (tmp_path / "one" / "apps" / "web").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "one" / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "link").symlink_to(tmp_path / "one" / "apps")
    root = str(tmp_path / "one")
    for inside in ("one", "one/apps/web", "link/web"):
        assert choice.worktree(str(tmp_path / inside)) == root
    assert choice.worktree(str(tmp_path / "plain"), lambda _: False) == str(tmp_path / "plain")
    assert choice.key_of(root, "web") != choice.key_of(root, "db")
    assert choice.key_of(root, "web") != choice.key_of(str(tmp_path / "plain"), "web")
