"""The bounds of the search for repositories, tried at their size."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import search

_MOST = 500_000  # directories: MOST in search.c


@pytest.fixture
def in_memory() -> Iterator[Path]:
    place = "/dev/shm"
    if not os.path.isdir(place) or os.statvfs(place).f_favail < 2 * _MOST:
        pytest.skip("no file system in memory has room for half a million directories")
    folder = tempfile.mkdtemp(prefix="outlive-test-", dir=place)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.mark.slow
def test_half_a_million_directories_are_searched_and_not_one_more(in_memory: Path) -> None:
    outer = [in_memory / f"{number}" for number in range(500)]
    for folder in outer:
        folder.mkdir()
        for number in range(999):
            os.mkdir(f"{folder}/{number}")
    repository = outer[-1] / "998/.git"  # whose own content is not searched
    repository.mkdir()
    fd = os.open(in_memory, os.O_RDONLY)
    try:
        os.rmdir(outer[0] / "0")  # the directory itself counts
        assert search.find({str(in_memory): fd}) == [("g", str(repository.parent))]
        (outer[0] / "0").mkdir()
        with pytest.raises(search.Unguarded, match="more than 500,000 directories below"):
            search.find({str(in_memory): fd})
    finally:
        os.close(fd)
