"""The two JSON reports of pytest: one document (pytest-json-report), or an object in each line (pytest-reportlog)."""

from __future__ import annotations

from outlive.reports import values
from outlive.reports.tally import Broken, Tally

_SKIPPED = ("skipped", "xfailed")
_PHASES = ("setup", "call", "teardown")


def is_log(value: object) -> bool:
    """Return whether an object is a line of pytest-reportlog."""
    return isinstance(value, dict) and "$report_type" in value


def read_document(data: bytes) -> Tally:
    """Return what a document of pytest-json-report says. Errors: Broken."""
    report = values.loads(data)
    tests = values.member(report, "tests")
    summary = values.member(report, "summary")
    if not isinstance(summary, dict) or not isinstance(tests or [], list):
        raise Broken("its JSON is no report of pytest.")
    tally = Tally()
    for test in tests if isinstance(tests, list) else ():
        tally.count_entry()
        _count(tally, test)
    collectors = values.member(report, "collectors")
    for collector in collectors if isinstance(collectors, list) else ():
        if values.member(collector, "outcome") == "failed":
            tally.fail(values.text(collector.get("nodeid")), values.text(collector.get("longrepr")))
    if tests is None and any(isinstance(number, int) and number for number in summary.values()):
        raise Broken("it has no list of its tests.")
    return tally


def _count(tally: Tally, test: object) -> None:
    outcome = values.text(values.member(test, "outcome"))
    if outcome in ("passed", "xpassed"):
        tally.passed += 1
    elif outcome in _SKIPPED:
        tally.skipped += 1
    elif outcome:
        phases = [values.member(test, name) for name in _PHASES]
        failed = next((one for one in phases if values.member(one, "outcome") in ("failed", "error")), None)
        crash = values.member(failed, "crash")
        tally.fail(
            values.text(values.member(test, "nodeid")),
            values.text(values.member(failed, "longrepr")),
            message=values.text(values.member(crash, "message")),
            place=_place(crash),
        )


def _place(crash: object) -> str:
    path, line = values.text(values.member(crash, "path")), values.member(crash, "lineno")
    return f"{path}:{line}" if path and type(line) is int else path


def read_log(data: bytes) -> Tally:
    """Return what the lines of pytest-reportlog say. Errors: Broken."""
    tally = Tally()
    ended = False
    failed: set[str] = set()  # a test may fail, and its teardown too
    for line in values.objects(data, tally):
        kind, outcome = line.get("$report_type"), values.text(line.get("outcome"))
        ended = ended or kind == "SessionFinish"
        if kind not in ("TestReport", "CollectReport"):
            continue
        name, longrepr = values.text(line.get("nodeid")), line.get("longrepr")
        if outcome == "failed" and name not in failed:
            failed.add(name)
            crash = values.member(longrepr, "reprcrash")
            text = values.text(longrepr) or values.text(values.member(longrepr, "longrepr"))
            tally.fail(name, text, message=values.text(values.member(crash, "message")), place=_place(crash))
        elif kind == "TestReport" and outcome == "skipped":
            tally.skipped += 1
        elif kind == "TestReport" and outcome == "passed" and line.get("when") == "call":
            tally.passed += 1
    if not ended:
        tally.notes.append("It ends before the end of the tests.")
    return tally
