"""The catalogue of faults is whole, and a fault that no test proves is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faults import DISK, FAULTS, Fault
from support.proofs import MARK, Proofs, carry_ids

IDS = [f"F{number:02}" for number in range(1, 78)] + [f"S{number:02}" for number in range(1, 26)]
IDS += [f"H{number:02}" for number in range(1, 30)]
IDS += [f"D{number:02}" for number in range(1, 10)]
LEAST = 75
RELIABILITY = Path(__file__).parents[1] / "docs/explanation/reliability.md"


def test_every_fault_is_in_the_manifest_once_and_nothing_else_is() -> None:
    assert list(FAULTS) == IDS


def test_a_fault_is_proven_or_says_why_not() -> None:
    for name, fault in FAULTS.items():
        assert not (fault.waits and fault.not_applicable), name
        assert fault.behaviour.endswith(".") and fault.source, name


def test_the_documentation_says_how_many_there_are() -> None:
    assert f"| **Faults**: {len(FAULTS)} faults of" in RELIABILITY.read_text()


def test_most_faults_are_proven() -> None:
    assert sum(not fault.waits and not fault.not_applicable for fault in FAULTS.values()) >= LEAST


def report(outcome: Any, *names: str, when: Any = "call") -> pytest.TestReport:
    """Return what pytest reports of one test that carries these ids."""
    skipped = ("tests/test_x.py", 1, "Skipped: nothing to mount")
    return pytest.TestReport(
        nodeid="tests/test_x.py::test_x",
        location=("tests/test_x.py", 0, "test_x"),
        keywords={},
        outcome=outcome,
        longrepr=skipped if outcome == "skipped" else None,
        when=when,
        user_properties=[(MARK, name) for name in names],
    )


def unproven(*reports: pytest.TestReport) -> set[str]:
    """Return which faults of a small catalogue remain after these reports."""
    proofs = Proofs(
        {
            "A": Fault("It is so.", "somebody"),
            "B": Fault("It is so on a disk.", "somebody", needs=DISK),
            "C": Fault("It will be so.", "somebody", waits="for it"),
            "D": Fault("It is never so.", "somebody", not_applicable="here"),
            "E": Fault("It is so on a cluster.", "somebody", slow=True),
        }
    )
    for one in reports:
        proofs.pytest_runtest_logreport(one)
    return set(proofs.unproven())


def test_a_slow_fault_is_asked_for_in_the_slow_tier_alone() -> None:
    proofs = Proofs({"A": Fault("It is so.", "somebody"), "E": Fault("It is so on a cluster.", "somebody", slow=True)})
    assert set(proofs.unproven()) == {"A"}
    assert set(proofs.unproven(slow=True)) == {"E"}


@pytest.mark.parametrize(
    ("reports", "left"),
    [
        pytest.param([report("passed", "A", "B")], set(), id="one-test-proves-several"),
        pytest.param([], {"A", "B"}, id="no-test-ran"),
        pytest.param([report("passed", "A", "B", when="setup")], {"A", "B"}, id="only-its-fixtures-were-made"),
        pytest.param([report("failed", "A", "B")], {"A", "B"}, id="its-test-failed"),
        pytest.param([report("skipped", "A", "B", when="setup")], {"A"}, id="a-machine-may-lack-what-a-fault-names"),
        pytest.param([report("skipped", "A", "B"), report("passed", "A")], set(), id="one-of-its-tests-ran"),
    ],
)
def test_a_fault_is_proven_by_a_test_that_ran_and_passed(reports: list[pytest.TestReport], left: set[str]) -> None:
    assert unproven(*reports) == left


def test_a_mark_names_a_fault_of_the_manifest(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.fault("F99"))
    with pytest.raises(pytest.UsageError, match="F99"):
        carry_ids([request.node])
