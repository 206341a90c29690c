"""The two JSON reports of pytest: one document (pytest-json-report), or an object in each line (pytest-reportlog)."""

from __future__ import annotations

from outlive.core.members import Members, entries_of, object_of, text_of
from outlive.parts.reports import values
from outlive.parts.reports.tally import Broken, Tally

_SKIPPED = ("skipped", "xfailed")
_PHASES = ("setup", "call", "teardown")


def is_log(value: object) -> bool:
    """Return whether an object is a line of pytest-reportlog."""
    return isinstance(value, dict) and "$report_type" in value


def read_document(data: bytes) -> Tally:
    """Return what a document of pytest-json-report says. Errors: Broken."""
    value = values.loads(data)
    report = value if isinstance(value, dict) else {}
    tests, summary = report.get("tests"), report.get("summary")
    if not isinstance(summary, dict) or not isinstance(tests or [], list):
        raise Broken("its JSON is no report of pytest.")
    tally = Tally()
    for test in entries_of(report, "tests"):
        tally.count_entry()
        _count(tally, test)
    for collector in entries_of(report, "collectors"):
        if collector.get("outcome") == "failed":
            tally.fail(text_of(collector, "nodeid"), text_of(collector, "longrepr"))
    if tests is None and any(isinstance(number, int) and number for number in summary.values()):
        raise Broken("it has no list of its tests.")
    return tally


def _count(tally: Tally, test: Members) -> None:
    outcome = text_of(test, "outcome")
    if outcome in ("passed", "xpassed"):
        tally.passed += 1
    elif outcome in _SKIPPED:
        tally.skipped += 1
    elif outcome:
        phases = [object_of(test, name) for name in _PHASES]
        failed: Members = next((one for one in phases if one.get("outcome") in ("failed", "error")), {})
        _fail(tally, text_of(test, "nodeid"), text_of(failed, "longrepr"), object_of(failed, "crash"))


def _fail(tally: Tally, name: str, text: str, crash: Members) -> None:
    """Count a test that failed. `crash`: where, and the message."""
    path, line = text_of(crash, "path"), crash.get("lineno")
    place = f"{path}:{line}" if path and type(line) is int else path
    tally.fail(name, text, message=text_of(crash, "message"), place=place)


def read_log(data: bytes) -> Tally:
    """Return what the lines of pytest-reportlog say. Errors: Broken."""
    tally = Tally()
    ended = False
    failed: set[str] = set()  # a test may fail, and its teardown too
    for line in values.objects(data, tally):
        kind, outcome = line.get("$report_type"), line.get("outcome")
        ended = ended or kind == "SessionFinish"
        if kind not in ("TestReport", "CollectReport"):
            continue
        name, longrepr = text_of(line, "nodeid"), object_of(line, "longrepr")
        if outcome == "failed" and name not in failed:
            failed.add(name)
            text = text_of(line, "longrepr") or text_of(longrepr, "longrepr")
            _fail(tally, name, text, object_of(longrepr, "reprcrash"))
        elif kind == "TestReport" and outcome == "skipped":
            tally.skipped += 1
        elif kind == "TestReport" and outcome == "passed" and line.get("when") == "call":
            tally.passed += 1
    if not ended:
        tally.notes.append("It ends before the end of the tests.")
    return tally
