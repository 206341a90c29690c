"""A plugin of pytest: how tests are collected and run, and which of them start outlive for real."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies

from support import preloaded, proofs, tiers
from support.surroundings import FAILED

TESTS = Path(__file__).parent.parent
MOST_WORKERS = 8
MEMORY, MEMORY_BYTES = "/dev/shm", 4 << 30
# No judgement by the clock, and nothing written outside the test's own directory. The slow tier loads `thorough`.
settings.register_profile(
    "tests", max_examples=15, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("tests"), max_examples=400)
settings.load_profile("tests")
# Tests start Python some thousand times: what it compiles is kept, or each start takes three times as long. So are the
# tests, which each worker would else compile for itself, for 3 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What imports and the collection of the tests make is kept: looking for garbage in it is a sixth of their time.
gc.disable()
_kill = os.kill


def _kill_one(pid: int, number: int) -> None:
    """Send a signal to one process. A helper that finds no process answers 0, and kill(2) takes 0 for the whole process
    group: the runner of the tests, and whatever started it."""
    assert pid > 0, f"kill({pid}, {number}) would signal a process group: the process that the test wanted is gone"
    _kill(pid, number)


os.kill = _kill_one
preloaded.install()


@pytest.hookimpl(optionalhook=True)  # of a plugin that may be switched off
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes `-n auto` runs tests in: three a core: most tests wait
    for other processes, and each of these costs 6 s of CPU before its first test."""
    return min(MOST_WORKERS, 3 * len(os.sched_getaffinity(0)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real-starts",
        action="store_true",
        help="start outlive for real in every test (see tests/support/preloaded.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts its background commands with SIGINT ignored, and what is ignored stays so in everything started
    # from here: tests that interrupt a command would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("markexpr") == "not slow" and _has_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
    config.addinivalue_line(
        "markers", "leaves_jobs: processes may outlive this test; they are ended after it instead of failing it"
    )
    config.addinivalue_line("markers", "slow: runs in .ci/full only, or with -m slow (see tests/support/tiers.py)")
    config.addinivalue_line("markers", "in_turn: each value with one face by default (see tests/support/tiers.py)")
    config.addinivalue_line("markers", "real_start: outlive is started for real (see tests/support/preloaded.py)")
    config.addinivalue_line("markers", "fault(id): proves the behaviour that tests/faults.py has under this id")
    if not hasattr(config, "workerinput"):  # the process that was started: it hears of every test
        config.pluginmanager.register(proofs.Proofs())


def _has_memory() -> bool:
    """Return whether the directories of the default tier may lie in memory, where making one takes a twentieth of the
    time. The slow tier is for what only a disk does."""
    try:
        there = os.statvfs(MEMORY)
    except OSError:
        return False
    room = there.f_bavail * there.f_frsize >= MEMORY_BYTES and there.f_favail > 1 << 16
    return room and not there.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(MEMORY, os.W_OK)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker import a share of the modules of a fresh checkout first. Else all of them rewrite the assertions
    of every module, each for itself, which takes a process longer than all the rest of the collection."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None and session.config.getoption("dist", "no") != "no":
        # Hypothesis makes a table of characters in a fresh checkout, and keeps it: here while the workers collect, or each
        # of them makes one, for more than a second.
        threading.Thread(target=strategies.text().validate, daemon=True).start()
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in sorted(TESTS.rglob("test_*.py"))[number::count]:
        if not any(path.parent.glob(f"__pycache__/{path.stem}.*-pytest-*.pyc")):
            sys.path.insert(0, str(path.parent))  # as pytest does it, for each folder once
            with contextlib.suppress(Exception):  # the collection says what is wrong
                importlib.import_module(path.stem)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tiers.take_turns(items)
    proofs.carry_ids(items)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    real = item.config.getoption("real_starts") or any(map(item.get_closest_marker, ("real_start", "slow")))
    preloaded.allowed = not real
    item.stash[FAILED] = False  # it may have failed before, and run again


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report
