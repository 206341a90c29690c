"""Which faults of tests/faults.py were proven in this run: a test that carries the id ran, and passed.

A run of the whole default tier ends with a failure for each fault without a proof, and one of the whole slow tier for
each fault whose tests are slow. A run of a part of a tier does not: it was asked for less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from faults import FAULTS, Fault

MARK = "fault"
DEFAULT_TIER = "not slow"
SLOW_TIERS = ("slow", "slow or hypothesis")
MANIFEST = "tests/faults.py"


def carry_ids(items: Iterable[pytest.Item], known: Mapping[str, Fault] = FAULTS) -> None:
    """Let the report of each test name the faults that its marks name. Raises UsageError for an id that is unknown."""
    for item in items:
        for name in (str(name) for mark in item.iter_markers(MARK) for name in mark.args):
            if name not in known:
                raise pytest.UsageError(f"{item.nodeid} proves {name}, which {MANIFEST} does not have")
            item.user_properties.append((MARK, name))


class Proofs:
    """A plugin of the process that hears of every test: it was started by the user, not by `-n`."""

    def __init__(self, known: Mapping[str, Fault] = FAULTS) -> None:
        self._wanted = {name: fault for name, fault in known.items() if not fault.waits and not fault.not_applicable}
        self._proven: set[str] = set()
        self._failed: set[str] = set()
        self._skipped: dict[str, str] = {}  # id → the reason of the last test that was skipped

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name in (str(value) for kind, value in report.user_properties if kind == MARK):
            if report.when == "call" and report.passed:
                self._proven.add(name)
            elif report.skipped and isinstance(report.longrepr, tuple):
                self._skipped[name] = report.longrepr[2]
            elif report.failed:
                self._failed.add(name)

    def unproven(self, *, slow: bool = False) -> dict[str, str]:
        """Return id → reason of each fault of a tier that no test has proven, though this machine lacks nothing that it
        needs."""
        return {
            name: self._skipped.get(name, "no test that carries its id ran and passed")
            for name, fault in self._wanted.items()
            if fault.slow is slow and name not in self._proven and not (fault.needs and name in self._skipped)
        }

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not is_whole_tier(session.config):
            return
        slow = session.config.getoption("markexpr") in SLOW_TIERS
        for name, reason in self.unproven(slow=slow).items():
            if name in self._failed:
                continue  # its test is in the report already, and can run again
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            session.config.hook.pytest_runtest_logreport(report=_failure(name, reason))


def is_whole_tier(config: pytest.Config) -> bool:
    """Return whether this run was asked for all tests of a tier, and for no fewer."""
    fewer = "keyword deselect ignore ignore_glob collectonly maxfail lf stepwise".split()
    everything = [str(config.rootpath / path) for path in config.getini("testpaths")]
    paths = [str((config.invocation_params.dir / Path(path)).resolve()) for path in config.args]
    whole = not any(config.getoption(name, None) for name in fewer)
    return whole and config.getoption("markexpr") in (DEFAULT_TIER, *SLOW_TIERS) and paths == everything


def _failure(name: str, reason: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=f"{MANIFEST}::{name}",
        location=(MANIFEST, None, name),
        keywords={},
        outcome="failed",
        longrepr=f"{FAULTS[name].behaviour}\nNot proven in this run: {reason}",
        when="call",
    )
