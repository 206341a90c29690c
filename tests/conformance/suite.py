"""The official conformance suite, run against the fixture server and compared with `baseline.toml`."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from conformance import npm

REVISIONS = ("2025-11-25", "2026-07-28")
HERE = Path(__file__).parent
BASELINE = HERE / "baseline.toml"
RUN_S = 360  # all scenarios of a revision
LIST_S = 180
START_S = 180  # the server, on a machine that does much else
STOP_S = 20
UNREMARKABLE = {"SUCCESS", "INFO"}
_GRAVITY = ("FAILURE", "WARNING", "SKIPPED")  # of a check that was made more than once, the worst counts
_RESULTS = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[0-9-]+Z")  # a directory of --output-dir
_LISTED = re.compile(r"^  - (\S+)", re.MULTILINE)


class Outcome(NamedTuple):
    """What the suite said of one scenario."""

    revision: str
    scenario: str
    passed: int
    remarks: Mapping[str, tuple[str, str]]  # check id → (status, message), of what is no success

    @property
    def key(self) -> tuple[str, str]:
        return self.revision, self.scenario


class Baseline(NamedTuple):
    """`baseline.toml`."""

    expected: Mapping[tuple[str, str, str], tuple[str, str]]  # (revision, scenario, check) → (status, reason)
    not_applicable: Sequence[tuple[str, str, str]]  # (of whom, pattern, reason)


def baseline(path: Path = BASELINE) -> Baseline:
    """Errors: AssertionError for an entry without a reason, or an entry that is there twice."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    expected: dict[tuple[str, str, str], tuple[str, str]] = {}
    for entry in found.get("expected", ()):
        scenario, _, check = entry["check"].partition(":")
        key = (entry["revision"], scenario, check)
        assert check and entry["reason"].strip() and entry["status"] in _GRAVITY, entry
        assert key not in expected, f"twice in the baseline: {entry}"
        expected[key] = (entry["status"], entry["reason"])
    left_out = [
        (one["of"], name, one["reason"]) for one in found.get("not_applicable", ()) for name in one["scenarios"]
    ]
    assert all(reason.strip() for _, _, reason in left_out), left_out
    return Baseline(expected, left_out)


# --- the suite -------------------------------------------------------------------------------------------------------


def listed(packages: npm.Packages) -> dict[str, list[str]]:
    """Every scenario there is: of whom → names."""
    found = {}
    for of_whom in ("server", "client", "authorization"):
        done = npm.bounded([*packages.suite, "list", f"--{of_whom}"], LIST_S, env=_quiet())
        assert done.status == 0, done
        found[of_whom] = _LISTED.findall(done.out)
    return found


def run(packages: npm.Packages, url: str, revision: str, scenario: str | None = None) -> list[Outcome]:
    """All that a revision requires and what the suite runs beside it, or one scenario alone."""
    asked = (
        ["--scenario", scenario, "--spec-version", revision, "--force"] if scenario else ["--requirements", revision]
    )
    with tempfile.TemporaryDirectory(prefix="outlive-suite-") as folder:
        command = [*packages.suite, "server", "--url", url, *asked, "--output-dir", folder]
        done = npm.bounded(command, RUN_S, env=_quiet())
        said = f"{done.out[-4000:]}\n{done.said[-4000:]}"
        assert done.status is not None, f"the suite did not come to an end within {RUN_S} s:\n{said}"
        found = [_outcome(revision, file) for file in sorted(Path(folder).glob("*/checks.json"))]
    assert found, f"the suite ran nothing (exit status {done.status}):\n{said}"
    return found


def _outcome(revision: str, file: Path) -> Outcome:
    made = _RESULTS.fullmatch(file.parent.name)
    assert made, file.parent.name
    checks: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    remarks: dict[str, tuple[str, str]] = {}
    for check in sorted((one for one in checks if one["status"] not in UNREMARKABLE), key=_gravity, reverse=True):
        remarks[check["id"]] = (check["status"], check.get("errorMessage") or "")
    passed = Counter(check["status"] for check in checks)["SUCCESS"]
    return Outcome(revision, made["scenario"], passed, remarks)


def _gravity(check: Mapping[str, Any]) -> int:
    return _GRAVITY.index(check["status"]) if check["status"] in _GRAVITY else -1


def _quiet() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1"}


# --- the server ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The URL of a fixture server, which ends with this."""
    command = [sys.executable, str(HERE), "--serve", "0"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        assert server.stdout is not None
        ready_line = server.stdout
        try:
            ready = select.select([ready_line], [], [], START_S)[0]
            url = ready_line.readline().decode().strip() if ready else ""
            if not url:
                log.seek(0)
                raise AssertionError(f"the server did not start within {START_S} s: {log.read().decode()}")
            yield url
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            ready_line.close()


# --- the verdict -----------------------------------------------------------------------------------------------------


def unexpected(outcomes: Sequence[Outcome], known: Baseline) -> dict[tuple[str, str], list[str]]:
    """(revision, scenario) → what is not as the baseline has it, a line each. Nothing: it is."""
    found: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        for check, (status, message) in outcome.remarks.items():
            wanted, _ = known.expected.get((*outcome.key, check), ("SUCCESS", ""))
            if status != wanted:
                found.setdefault(outcome.key, []).append(f"{check}: {status}, expected {wanted}: {message}")
        if not outcome.passed and not outcome.remarks:
            found.setdefault(outcome.key, []).append("nothing was checked")
    said = {(*outcome.key, check) for outcome in outcomes for check in outcome.remarks}
    for revision, scenario, check in known.expected.keys() - said:
        wanted, _ = known.expected[revision, scenario, check]
        found.setdefault((revision, scenario), []).append(f"{check}: no {wanted} any more; the baseline is stale")
    return found


def unaccounted(outcomes: Sequence[Outcome], known: Baseline, there_are: Mapping[str, Sequence[str]]) -> list[str]:
    """Scenarios that were neither run nor said not to apply, and words of the baseline about none; a line each."""
    ran = {outcome.scenario for outcome in outcomes}
    lines = []
    named: set[tuple[str, str]] = set()
    for of_whom, names in there_are.items():
        for name in names:
            patterns = {one[:2] for one in known.not_applicable if one[0] == of_whom and fnmatch.fnmatch(name, one[1])}
            named |= patterns
            if of_whom == "server" and name in ran:
                lines += [f"{name} was run, but is said not to apply ({pattern})" for _, pattern in patterns]
            elif not patterns:
                lines.append(f"{of_whom} scenario {name} was not run, and nothing says why")
    lines += [f"no scenario is meant by {one[:2]}" for one in known.not_applicable if one[:2] not in named]
    return lines


class Report(NamedTuple):
    """What a whole run gave. `wrong`: a line for each thing that is not as the baseline has it."""

    outcomes: Sequence[Outcome]
    again: Sequence[str]  # what was as expected on the second try only, and what the first one said
    wrong: Sequence[str]


def judge(packages: npm.Packages, known: Baseline) -> Report:
    """Run everything. A scenario with a surprise is run once more: the suite has time limits of half a second."""
    outcomes: dict[tuple[str, str], Outcome] = {}
    with serving() as url:
        for revision in REVISIONS:
            outcomes |= {one.key: one for one in run(packages, url, revision)}
        surprises = unexpected(list(outcomes.values()), known)
        for key in surprises.keys() & outcomes.keys():
            outcomes |= {one.key: one for one in run(packages, url, *key)}
    still = unexpected(list(outcomes.values()), known)
    again = {key: lines for key, lines in surprises.items() if key not in still}
    wrong = _lines(still) + unaccounted(list(outcomes.values()), known, listed(packages))
    return Report(list(outcomes.values()), _lines(again), wrong)


def _lines(found: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    return [f"{revision} {scenario}: {line}" for (revision, scenario), lines in found.items() for line in lines]
