"""The corpus of failing runs in benchmarks/causes/own: its logs open, and its marks point at what they name.

A mark that points at the wrong line would count a good answer as a bad one, so each critical signal is looked up in the log.
"""

import json
import lzma
import re
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[1] / "benchmarks" / "causes" / "own"
CASES = sorted(path.parent for path in CORPUS.glob("*/ground_truth.json"))
COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def names(signal: dict[str, Any]) -> list[str]:
    found = [signal.get("value"), signal.get("file"), *signal.get("aliases", [])]
    return [name for name in found if name]


def test_the_corpus_is_there() -> None:
    assert len(CASES) >= 40


def test_a_case_marks_lines_of_its_log_which_is_long_enough_to_be_cut() -> None:
    for case in CASES:
        truth = json.loads((case / "ground_truth.json").read_text())
        data = lzma.decompress((case / "raw.log.xz").read_bytes())
        assert 8_000 <= len(data) <= 600_000, case
        # Lines end at a newline only: a tool's progress uses carriage returns within one line
        lines = COLOUR.sub("", data.decode("utf-8", "replace")).split("\n")
        signals = truth["required_signals"]
        assert truth["root_cause"]["summary"] and truth["command"] and truth["tool"], case
        assert truth["exit_code"] != 0, case
        assert 3 <= len(signals) <= 6, case
        assert 2 <= sum(signal["importance"] == "critical" for signal in signals) <= 4, case
        for signal in signals:
            assert signal["evidence_lines"], (case, signal)
            for first, last in signal["evidence_lines"]:
                assert 1 <= first <= last <= len(lines), (case, signal)
                evidence = "\n".join(lines[first - 1 : last])
                assert any(name in evidence for name in names(signal)), (case, signal, evidence)
