"""Read the reports of a job, whatever their form."""

from __future__ import annotations

from outlive.core.record import Value
from outlive.parts.reports import find, go_test, junit, pytest_json, tap, values
from outlive.parts.reports.answers import Tests
from outlive.parts.reports.find import Found, Where
from outlive.parts.reports.tally import Broken, Tally, plain

_LOOKED_BYTES = 65_536  # at the beginning, for the first object
_SHOWN = 3  # problems with files
_PATH_CHARS = 120


class Read(Value):
    """What the reports say; None if there was none to read. `problems` are sentences."""

    tests: Tests | None
    problems: list[str]


def read(pattern: str, where: Where) -> Read:
    """Return what the files that a path or a glob names say."""
    whole = Tally()
    problems: dict[str, list[str]] = {}  # why → the paths
    files = 0
    for report in find.reports(pattern, where):
        if report.why:
            problems.setdefault(report.why, []).append(report.path)
            continue
        try:
            whole.add(_of_file(report))
            files += 1
        except Broken as error:
            problems.setdefault(f"broken: {str(error).rstrip('.')}", []).append(report.path)
    if not files and not problems:
        return Read(None, [f"The job wrote no report: no file matches {plain(pattern, _PATH_CHARS)}."])
    told = [_sentence(why, paths) for why, paths in problems.items()]
    more = [f"{len(told) - _SHOWN} more problems with reports."] if len(told) > _SHOWN else []
    return Read(whole.tests() if files else None, [*whole.notes[:_SHOWN], *told[:_SHOWN], *more])


def _sentence(why: str, paths: list[str]) -> str:
    name = plain(paths[0], _PATH_CHARS)
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return f"Not counted: {name}{more}, {why}."


def _of_file(report: Found) -> Tally:
    tally = tally_of(report.data)
    tally.notes = [f"{plain(report.path, _PATH_CHARS)}: {note}" for note in tally.notes]
    return tally


def tally_of(data: bytes) -> Tally:
    """Return what a report says. Errors: Broken."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    head = data.lstrip()[:_LOOKED_BYTES]
    if not head:
        raise Broken("it is empty.")
    if head.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return junit.read(data)
    lines = [line for line in head.splitlines() if line.lstrip().startswith(b"{")]
    for line in lines[:1]:
        try:
            first = values.loads(line)
        except Broken:  # a document of several lines
            break
        if go_test.is_event(first):
            return go_test.read(data)
        if pytest_json.is_log(first):
            return pytest_json.read_log(data)
    return pytest_json.read_document(data) if head.startswith((b"{", b"[")) else tap.read(data)
