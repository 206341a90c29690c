"""Power cuts: what was synced is there after them, whatever else of the last writes is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from power import cases, check, model, real, recorder
from support.tiers import only

TESTS = Path(__file__).parents[1]
STATES = 100_000
SAMPLE = 120
SOME = pytest.mark.parametrize("name", only(lambda name: name in cases.FEW, cases.CASES))


@pytest.fixture
def fast_place() -> Iterator[Path]:
    """A directory in memory, where there is one: each state is a dozen files."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="power-", dir=memory if memory.is_dir() else None) as place:
        yield Path(place)


@SOME
def test_nothing_that_was_synced_is_lost_in_a_sample_of_power_cuts(name: str, fast_place: Path) -> None:
    recording = cases.recorded(name, fast_place / "recorded")
    assert recording.replayed() == _left_in(fast_place / "recorded" / "base"), "the recorder has not seen every change"
    found = check.check(name, recording, recording.sample(SAMPLE), fast_place / "state", thorough=True)
    assert found.distinct > SAMPLE / 2
    assert not found.broken, found.text()


@pytest.mark.slow
def test_nothing_that_was_synced_is_lost_in_any_enumerated_power_cut() -> None:
    done = _run("tests.power")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"([\d,]+) of them distinct", done.stdout)
    assert found and int(found[1].replace(",", "")) >= STATES, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("system", list(real.SYSTEMS))
def test_nothing_that_was_synced_is_lost_in_power_cuts_of_a_real_file_system(system: str) -> None:
    done = _run("tests.power.real", system, "--cuts", "200")
    if done.returncode == real.SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=TESTS.parent, capture_output=True, text=True, timeout=1800, check=False
    )


# --- the model itself ---------------------------------------------------------------------------------------------------


def test_a_file_that_replaces_another_one_without_a_sync_may_be_empty(tmp_path: Path) -> None:
    held = _held(tmp_path, "new = write('new', b'second'); os.replace('new', 'file')")
    assert held == {b"first", b"second", b"", bytes(6)}


def test_a_file_that_was_synced_before_it_replaces_another_one_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    held = _held(tmp_path, "new = write('new', b'second'); os.fsync(new); os.replace('new', 'file')")
    assert held == {b"first", b"second"}


def test_a_file_that_is_overwritten_in_place_has_each_sector_old_or_new(tmp_path: Path) -> None:
    held = _held(tmp_path, "os.pwrite(old, b'B' * 1024, 0)", first=b"A" * 1024)
    assert held == {b"A" * 1024, b"B" * 1024, b"A" * 512 + b"B" * 512, b"B" * 512 + b"A" * 512}


def test_what_is_appended_may_be_there_in_part_or_as_zeros(tmp_path: Path) -> None:
    held = _held(tmp_path, "os.pwrite(old, b'2' * 512, 512); os.pwrite(old, b'3', 1024)", first=b"1" * 512)
    first, second, zeros = b"1" * 512, b"2" * 512, bytes(512)
    assert held == {
        first + more for more in (b"", second, second + b"3", zeros + b"3", second + b"\0", zeros + b"\0", zeros)
    }


def test_of_what_is_written_into_one_sector_no_write_is_there_without_the_earlier_ones(tmp_path: Path) -> None:
    held = _held(tmp_path, "os.pwrite(old, b'2', 5); os.pwrite(old, b'3', 6)")
    assert held == {b"first", b"first2", b"first23", b"first2\x00", b"first\x00\x00", b"first\x00"}


def test_the_sync_of_one_file_may_bring_the_name_of_another_one_without_its_bytes(tmp_path: Path) -> None:
    found = _states(tmp_path, "write('new', b'second'); os.replace('new', 'file'); os.fsync(write('other', b'x'))")
    assert {"file": b"", "other": b"x"} in found
    assert {"file": b"first", "other": b"x"} in found  # as btrfs may log it
    assert all(one["other"] == b"x" for one in found[-3:])


def _held(place: Path, program: str, first: bytes = b"first") -> set[bytes]:
    """What `file` may hold after a cut at the end of the program."""
    return {one["file"] for one in _states(place, program, first)}


def _states(place: Path, program: str, first: bytes = b"first") -> list[dict[str, bytes]]:
    """What may be there after a cut at the end of a program that finds `file` with `first` in it, synced."""
    base = place / "base"
    base.mkdir()
    (place / "recorded_program.py").write_text(
        "import os\n"
        f"os.chdir({str(base)!r})\n"
        "def write(name, data):\n"
        "    fd = os.open(name, os.O_RDWR | os.O_CREAT)\n"
        "    os.write(fd, data)\n"
        "    return fd\n"
        f"old = write('file', {first!r})\n"
        "os.fsync(old)\n"
        f"{program}\n"
    )
    words = [sys.executable, recorder.__file__, str(place / "log"), str(base), "recorded_program"]
    subprocess.run(words, cwd=place, check=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    recording = model.Recording.load(place / "log")
    end = len(recording.changes)
    crashes = [one for one in recording.crashes(1000) if one.cut == end]
    return [{path: content for path, _, content in one.tree} for one in crashes]


def _left_in(base: Path) -> model.Tree:
    """What a recorded program has left, in the form of the model."""
    kinds = {True: "mkdir", False: "create"}
    return tuple(
        sorted(
            (str(path.relative_to(base)), kinds[path.is_dir()], b"" if path.is_dir() else path.read_bytes())
            for path in base.rglob("*")
        )
    )
