"""The catalogue of faults and the tests say the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from faults import FAULTS

TESTS = Path(__file__).parent
IDS = [f"F{number:02}" for number in range(1, 76)] + [f"S{number:02}" for number in range(1, 26)]
LEAST = 75


def _tests() -> dict[str, list[str]]:
    """Every test as pytest names it → the faults that its marks name."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found[f"tests/{path.relative_to(TESTS)}::{node.name}"] = list(_marks(node))
    return found


def _marks(test: ast.FunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fault":
            yield from (str(ast.literal_eval(word)) for word in mark.args)


def test_every_fault_is_in_the_manifest_once_and_nothing_else_is() -> None:
    assert list(FAULTS) == IDS


def test_a_fault_is_proven_or_says_why_not() -> None:
    for name, fault in FAULTS.items():
        said = [bool(fault.proof), bool(fault.waits), bool(fault.not_applicable)]
        assert said.count(True) == 1, name
        assert fault.behaviour.endswith(".") and fault.source, name


def test_every_proof_is_a_test_that_exists() -> None:
    known = _tests()
    assert not {(name, test) for name, fault in FAULTS.items() for test in fault.proof if test not in known}


def test_a_test_that_names_a_fault_is_named_by_it() -> None:
    named = {(fault, test) for test, faults in _tests().items() for fault in faults}
    assert named
    assert not {(fault, test) for fault, test in named if fault not in FAULTS or test not in FAULTS[fault].proof}


def test_no_proof_is_always_skipped() -> None:
    """A mark would switch it off where nobody looks."""
    proofs = {test for fault in FAULTS.values() for test in fault.proof}
    for path in {TESTS.parent / proof.split("::")[0] for proof in proofs}:
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef):
                marks = {ast.unparse(mark).split("(")[0] for mark in node.decorator_list}
                assert not marks & {"pytest.mark.skip", "pytest.mark.xfail"}, node.name


def test_most_faults_are_proven() -> None:
    assert sum(bool(fault.proof) for fault in FAULTS.values()) >= LEAST
