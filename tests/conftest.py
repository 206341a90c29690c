"""Every test has a home, a job root and a directory of its own, and leaves nothing behind.

How tests are run is in support/runner.py; the servers and clients that they use are in support/connections.py, and what a
test of one module begins with in support/of_modules.py.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from support import leaks
from support.cli import Cli, Jobs
from support.mounts import Mounts
from support.surroundings import FAILED, change, settle_in

pytest_plugins = ["support.runner", "support.connections", "support.of_modules"]
TEST_S, SLOW_TEST_S = 900, 1800  # a test that hangs is ended with a traceback; a thorough search is none that hangs
_numbers = itertools.count()


@pytest.fixture(scope="session")
def used() -> Iterator[list[Path]]:
    """Directories of tests, to be deleted when all have run: an ext4 without a journal makes no inode before it has
    looked at each that was deleted within the last minute (recently_deleted in the kernel's fs/ext4/ialloc.c)."""
    paths: list[Path] = []
    yield paths
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, used: list[Path]
) -> Iterator[Path]:
    """A directory of the test, which stays if the test failed. pytest's own looks through its neighbours for a free
    number and keeps a link to the newest one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    path.mkdir(mode=0o700)
    yield path
    if not request.node.stash.get(FAILED, False):
        used.append(path)


@pytest.fixture(autouse=True)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own directory. HOME, XDG_* and OUTLIVE_ROOT lie in it: the user's own store is out of reach. With
    a server that tests share it is the server's, empty again."""
    found: Path = request.getfixturevalue("shared_place") if "shared_place" in request.fixturenames else tmp_path
    change(monkeypatch, settle_in(found))
    monkeypatch.chdir(found / "work")
    return found


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest, place: Path) -> Iterator[None]:
    """No process, no zombie and no open file of a test survives it."""
    before = leaks.Before(shared="shared_place" in request.fixturenames)
    with _limit(SLOW_TEST_S if request.node.get_closest_marker("slow") else TEST_S):
        yield
    failed = request.node.stash.get(FAILED, False)
    may_live = request.node.get_closest_marker("leaves_jobs") is not None
    left = leaks.found(before, place, jobs_may_live=failed or may_live)
    if left and not failed:  # a test that failed half-way has not come to its own clearing up
        pytest.fail("the test left behind:\n" + "\n".join(left), pytrace=False)


@contextlib.contextmanager
def _limit(seconds: int) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the test ran for {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def root(place: Path) -> Path:
    """The job root of this test. It exists once something made it."""
    return place / "jobs"


@pytest.fixture
def work(place: Path) -> Path:
    """The empty directory that is the current one."""
    return place / "work"


@pytest.fixture
def cli(root: Path) -> Cli:
    """The installed command."""
    return Cli(root)


@pytest.fixture
def system_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATH of a system: a policy knows shells by where they are, and a directory of links is no place for one."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def jobs(request: pytest.FixtureRequest, cli: Cli) -> Jobs:
    """All jobs of this test: `jobs.end()` kills and deletes them."""
    return Jobs(cli, keeps_ended="shared_place" not in request.fixturenames)


@pytest.fixture
def mount(place: Path) -> Iterator[Mounts]:
    """`mount(name, options)`, `mount.ext4(name, mib)`: a small file system of its own; it is gone after the test."""
    mounts = Mounts(place)
    with contextlib.closing(mounts):
        yield mounts
