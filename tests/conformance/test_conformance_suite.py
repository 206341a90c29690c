"""The official conformance suite says of the server what the baseline says, and the comparison can fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance import npm, suite
from conformance.suite import Baseline, Outcome

REVISION = "2026-07-28"
KNOWN = Baseline({(REVISION, "caching", "ttl"): ("WARNING", "because")}, [("server", "skills-*", "not offered")])


def outcome(scenario: str, passed: int = 1, **remarks: str) -> Outcome:
    return Outcome(REVISION, scenario, passed, {check: (status, "said") for check, status in remarks.items()})


@pytest.mark.slow
def test_the_suite_says_what_the_baseline_has(packages: npm.Packages) -> None:
    report = suite.judge(packages, suite.baseline())
    assert not report.wrong, "\n".join(report.wrong)
    assert {one.revision for one in report.outcomes} == set(suite.REVISIONS)
    assert sum(one.passed for one in report.outcomes) > 200  # not a suite that had nothing to call


@pytest.mark.parametrize(
    ("outcomes", "surprising"),
    [
        pytest.param([outcome("caching", ttl="WARNING")], set(), id="as-expected"),
        pytest.param([outcome("caching")], {"caching"}, id="an-expected-failure-passes"),
        pytest.param([outcome("caching", ttl="FAILURE")], {"caching"}, id="a-warning-becomes-a-failure"),
        pytest.param([outcome("caching", ttl="WARNING", scope="FAILURE")], {"caching"}, id="another-check-fails"),
        pytest.param([outcome("caching", ttl="WARNING"), outcome("ping", ping="FAILURE")], {"ping"}, id="unexpected"),
        pytest.param([outcome("caching", ttl="WARNING"), outcome("ping", 0)], {"ping"}, id="nothing-was-checked"),
        pytest.param([], {"caching"}, id="a-scenario-was-not-run"),
    ],
)
def test_what_is_not_as_the_baseline_has_it_is_told(outcomes: list[Outcome], surprising: set[str]) -> None:
    assert {scenario for _, scenario in suite.unexpected(outcomes, KNOWN)} == surprising


@pytest.mark.parametrize(
    ("there_are", "wrong"),
    [
        pytest.param({"server": ["ping", "skills-list"]}, 0, id="all-accounted-for"),
        pytest.param({"server": ["ping", "skills-list", "new-one"]}, 1, id="one-is-new"),
        pytest.param({"server": ["ping"]}, 1, id="none-is-meant"),
        pytest.param({"server": ["ping", "skills-list"], "client": ["ping"]}, 1, id="of-somebody-else"),
    ],
)
def test_every_scenario_is_run_or_said_not_to_apply(there_are: Mapping[str, list[str]], wrong: int) -> None:
    assert len(suite.unaccounted([outcome("ping")], KNOWN, there_are)) == wrong


def test_a_scenario_that_is_run_is_not_said_not_to_apply() -> None:
    assert suite.unaccounted([outcome("skills-list")], KNOWN, {"server": ["skills-list"]})


def test_an_entry_of_the_baseline_has_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "baseline.toml"
    words = '[[expected]]\nrevision = "2026-07-28"\ncheck = "caching:ttl"\nstatus = "WARNING"\nreason = "{}"\n'
    file.write_text(words.format("because"))
    assert suite.baseline(file).expected == KNOWN.expected
    file.write_text(words.format(" "))
    with pytest.raises(AssertionError):
        suite.baseline(file)


def test_the_page_names_every_deviation() -> None:
    page = (suite.HERE.parents[1] / "docs" / "reference" / "conformance.md").read_text(encoding="utf-8")
    unnamed = [key for key in suite.baseline().expected if not all(f"`{name}`" in page for name in key[1:])]
    assert not unnamed
