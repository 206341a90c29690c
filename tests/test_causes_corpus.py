"""The corpus of failing runs in benchmarks/causes/own: its logs open, and its marks point at what they name.

A mark that points at the wrong line would count a good answer as a bad one, so each critical signal is looked up in the log.
"""

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[1] / "benchmarks" / "causes" / "own"
CASES = sorted(path.parent for path in CORPUS.glob("*/ground_truth.json"))
COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def lines_of(case: Path) -> list[str]:
    # Lines end at a newline only: a tool's progress uses carriage returns within one line.
    text = lzma.decompress((case / "raw.log.xz").read_bytes()).decode("utf-8", "replace")
    return COLOUR.sub("", text).split("\n")


def names(signal: dict[str, Any]) -> list[str]:
    found = [signal.get("value"), signal.get("file"), *signal.get("aliases", [])]
    return [name for name in found if name]


def test_the_corpus_is_there() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_marks_lines_of_its_log(case: Path) -> None:
    truth = json.loads((case / "ground_truth.json").read_text())
    lines = lines_of(case)
    signals = truth["required_signals"]
    critical = [signal for signal in signals if signal["importance"] == "critical"]
    assert truth["root_cause"]["summary"] and truth["command"] and truth["tool"]
    assert truth["exit_code"] != 0
    assert 3 <= len(signals) <= 6
    assert 2 <= len(critical) <= 4
    for signal in signals:
        assert signal["evidence_lines"]
        for first, last in signal["evidence_lines"]:
            assert 1 <= first <= last <= len(lines)
            evidence = "\n".join(lines[first - 1 : last])
            assert any(name in evidence for name in names(signal)), (signal, evidence)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_log_is_long_enough_to_be_cut(case: Path) -> None:
    size = len(lzma.decompress((case / "raw.log.xz").read_bytes()))
    assert 8_000 <= size <= 600_000
