"""Which files of a writable directory have a name elsewhere."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import second_names
from support.mounts import Mounts


def _kept(root: Path) -> list[str]:
    return second_names.kept([str(root)], lambda _: False, pytest.fail)


def _linked(place: Path, name: str, content: bytes) -> Path:
    path = place / "work" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    (place / "elsewhere").mkdir(exist_ok=True)
    os.link(path, place / "elsewhere" / name.replace("/", "-"))
    return path


OBJECT = f".git/objects/ab/{38 * '0'}"
PACK = f".git/objects/pack/pack-{40 * '1'}.pack"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".git/objects/k", b"PACKAGE = 1\n"),
        (PACK, b"PACKAGE = 1\n"),
        (".git/objects/k", b"PACK\0\0\0\2"),
        (OBJECT, b"PACK\0\0\0\2"),
        (OBJECT, b"x^2 = 1\n"),
        (OBJECT, zlib.compress(b"x = 1\n")),
    ],
)
def test_what_is_no_content_of_git_is_kept_among_its_objects(tmp_path: Path, name: str, content: bytes) -> None:
    path = _linked(tmp_path, name, content)
    assert _kept(tmp_path / "work") == [str(path)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (OBJECT, zlib.compress(b"blob 99\0" + 99 * b"x")),
        (PACK, b"PACK\0\0\0\2\0\0\0\1"),
        (PACK, b"PACK\0\0\0\3\0\0\0\1"),
    ],
)
def test_content_of_git_may_be_shared(tmp_path: Path, name: str, content: bytes) -> None:
    _linked(tmp_path, name, content)
    assert _kept(tmp_path / "work") == []


def test_a_name_that_a_mount_shows_twice_is_one(place: Path, mount: Mounts) -> None:
    path = _linked(place, "a/f", b"old\n")
    other = mount.bind("work/b", path.parent)
    assert _kept(place / "work") == [str(path), str(other / "f")]
