"""Test reports in each of their forms, and what a hostile job may leave in the place of one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.core.records import Sandbox
from outlive.parts.reports import bounds, find
from outlive.parts.reports.read import Read, read, tally_of
from outlive.parts.reports.tally import Broken
from support.tiers import first

SAMPLES = Path(__file__).parents[2] / "fixtures" / "reports"
SAMPLE_FILES = sorted(SAMPLES.iterdir())


def counts(data: bytes) -> tuple[int, int, int]:
    tally = tally_of(data)
    return tally.passed, tally.failed, tally.skipped


def failures(data: bytes) -> list[tuple[str, str | None, str | None]]:
    return [(one.name, one.place, one.message) for one in tally_of(data).failures]


def junit(*cases: str) -> bytes:
    return f"<testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>".encode()


# --- the forms -----------------------------------------------------------------------------------------------------


NOT_ROUNDED = "AssertionError: not rounded\nassert 11 == 10"
NO_MODULE = "ImportError while importing test module\nE   No module named 'nothing'"
NOT_THREE = "Error: expect(received).toBe(expected) // Object.is equality\nExpected: 3\nReceived: 4"
# Of a file: how many tests passed, failed and were skipped; name, place and message of those that failed
READ: dict[str, tuple[tuple[int, int, int], list[tuple[str, str | None, str | None]]]] = {
    "TEST-com.example.CartTest.xml": ((2, 0, 0), []),
    "TEST-com.example.PriceTest.xml": ((1, 2, 1), [
        ("com.example.PriceTest::rounds", "PriceTest.java:21", "expected: <10> but was: <11>"),
        ("com.example.PriceTest::parses", "PriceTest.java:30", 'For input string: "x"'),
    ]),
    "jest.xml": ((1, 1, 1), [("sum rounds", "/src/shop/src/sum.test.js:6", NOT_THREE)]),
    "go-test.json": ((2, 3, 1), [
        ("example.com/shop.TestBad", "shop_test.go:4", "hello\nshop_test.go:4: got 1, want 2"),
        ("example.com/shop.TestSub/b", "shop_test.go:7", "sub failed"),
        ("example.com/shop/broken (package)", None, None),
    ]),
    "node.tap": ((2, 2, 2), [
        ("bad", "/src/shop/a.test.js:2", "Expected values to be strictly equal:\n1 !== 2"),
        ("fails", "/src/shop/a.test.js:2", "boom"),
    ]),
    "bats.tap": ((1, 1, 2), [("rounds", None, '(in test file price.bats, line 8)\n`[ "$output" -eq 10 ]\' failed')]),
    "pytest-json-report.json": ((1, 3, 2), [
        ("test_price.py::test_rounds", "test_price.py:9", NOT_ROUNDED),
        ("test_price.py::test_db", "conftest.py:4", "RuntimeError: no database"),
        ("test_broken.py", None, NO_MODULE),
    ]),
    "pytest-reportlog.jsonl": ((1, 1, 1), [("test_price.py::test_rounds", "/src/shop/test_price.py:9", NOT_ROUNDED)]),
}  # fmt: skip


def test_what_runners_write_is_read() -> None:
    for name, expected in READ.items():
        data = (SAMPLES / name).read_bytes()
        assert (counts(data), failures(data)) == expected
        assert tally_of(data).notes == []


def test_what_fails_in_a_suite_outside_of_a_test_counts() -> None:
    assert failures(junit("<testcase name='a'/><error message='no database'/>")) == [("s", None, "no database")]


def test_a_test_with_several_failures_counts_once() -> None:
    assert counts(junit("<testcase name='a'><failure message='x'/><error message='y'/></testcase>")) == (0, 1, 0)


def test_a_package_of_go_that_cannot_be_built_fails_once() -> None:
    events = [
        {"ImportPath": "a/b [a/b.test]", "Action": "build-output", "Output": "b_test.go:3:2: undefined: x\n"},
        {"ImportPath": "a/b [a/b.test]", "Action": "build-fail"},
        {"Action": "output", "Package": "a/b", "Output": "FAIL\ta/b [build failed]\n"},
        {"Action": "fail", "Package": "a/b", "FailedBuild": "a/b [a/b.test]"},
    ]
    data = "\n".join(map(json.dumps, events)).encode()
    assert failures(data) == [("a/b (package)", "b_test.go:3", "undefined: x")]


def test_a_report_that_was_cut_short_says_so() -> None:
    rows: list[tuple[bytes, str]] = [
        (b'{"Action":"run","Package":"p","Test":"T"}\n', "1 of its tests had begun and did not end: T."),
        (b"1..3\nok 1\n", "1 of 3 planned tests ran."),
        (b'{"$report_type":"SessionStart"}\n', "It ends before the end of the tests."),
    ]
    for data, note in rows:
        assert tally_of(data).notes == [note]


def test_a_tap_report_that_bails_out_has_failed() -> None:
    assert failures(b"1..2\nok 1\nBail out! no disk\n") == [("Bail out!", None, "no disk")]


# --- what is hostile -----------------------------------------------------------------------------------------------

_DEEP = 100_000
_LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuite><testcase name="&b;"/></testsuite>"""


def test_a_report_that_cannot_be_read_is_broken_for_a_reason() -> None:
    rows: list[tuple[bytes, str]] = [
        (b"", "it is empty."),
        (b" \n", "it is empty."),
        (b"hello\n", "it is neither XML, JSON nor TAP."),
        (b"\0\xff\xfe" * 10, "it is neither XML, JSON nor TAP."),
        (b"<html></html>", "its XML is no JUnit report."),
        (b"<testsuite><testcase>", "line 1: no element found."),
        (b"<testsuite>\n<testcase name='a' name='b'/></testsuite>", "line 2: duplicate attribute."),
        (b"<testsuite>&nothing;</testsuite>", "line 1: undefined entity."),
        (_LAUGHS, "it has a document type or entities, which are not read."),
        (b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite/>', "it has a document type or entities, which are not read."),
        (b"<testsuite>" * 200, "its elements are nested deeper than 100."),
        (b"<testsuite>" + b"<p/>" * (bounds.ENTRIES + 1), f"it has more than {bounds.ENTRIES:,} entries."),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', "its encoding is not known."),
        (b"[" * _DEEP, "its values are nested too deep."),
        (b'{"tests":' + b"[" * _DEEP, "its values are nested too deep."),
        (b'{"summary": {"passed": ' + b"9" * 5_000 + b"}}", "it has a number that cannot be read."),
        (b'{"a": [' + b"[]," * 1_000_000, "it has more than 1,000,000 values."),
        (b'{"a": 1}', "its JSON is no report of pytest."),
        (b'{"summary": {}, "tests": 3}', "its JSON is no report of pytest."),
        (b'{"summary": {"passed": 3}}', "it has no list of its tests."),
        (b"\n" * (bounds.ENTRIES + 1) + b"ok", f"it has more than {bounds.ENTRIES:,} entries."),
    ]  # fmt: skip
    for data, why in rows:
        with pytest.raises(Broken) as broken:
            tally_of(data)
        assert str(broken.value) == why


def test_texts_of_a_report_are_plain_and_short() -> None:
    escapes = "#x1B[31mred#x1B[0m \u202eevil\u202c &#9;" + "x" * 10_000
    [(name, _, message)] = failures(
        junit(f"<testcase name='a\u202e&#10;b{'y' * 1_000}'><failure message='{escapes}'/></testcase>")
    )
    assert name.startswith("a by")
    assert len(name) == bounds.NAME_CHARS
    assert message is not None
    assert message.startswith("red evil")
    assert len(message) == bounds.MESSAGE_CHARS
    [(_, _, message)] = failures(b"not ok 1 - a\n# \x1b]0;title\x07\x1b[31mred\x1b[0m\x00\n")
    assert message == "red"


def test_no_more_failures_are_listed_than_an_answer_may_have() -> None:
    data = junit(*(f"<testcase name='t{number}'><failure/></testcase>" for number in range(500)))
    tally = tally_of(data)
    assert tally.failed == 500
    assert [one.name for one in tally.failures] == [f"t{number}" for number in range(bounds.FAILURES)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["pass", "failed"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "Action Package Test Output ImportPath $report_type nodeid outcome when longrepr reprcrash path lineno summary "
                "tests collectors call setup crash message".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
XML = st.lists(
    st.sampled_from(
        "<testsuites> <testsuite> <testsuite/> <testcase> <testcase/> <failure> <error> <skipped/> <failure/> </failure> </error> "
        "</testcase> </testsuite> </testsuites> text &lt; &#0; &x; <![CDATA[ ]]> <!-- -->".split()
    ),
    max_size=20,
).map(lambda parts: "".join(parts).encode())
TAP = st.lists(
    st.sampled_from(
        [
            "ok",
            "not ok",
            " not ok 1 - a",
            "1..3",
            "1..0 # skip",
            "# x",
            "  ---",
            "  error: |",
            "   x",
            "  ...",
            "Bail out!",
        ]
        + ["ok 99999999999999999999 #", "TAP version 14", "pragma +strict", "\r", "not ok # TODO", "    ok 1"]
    ),
    max_size=20,
).map(lambda lines: "\n".join(lines).encode())
CUT = st.tuples(st.sampled_from(SAMPLE_FILES), st.integers(0, 4_000), st.binary(max_size=6)).map(
    lambda cut: cut[0].read_bytes()[: cut[1]] + cut[2] + cut[0].read_bytes()[cut[1] :]
)
DOCUMENTS = st.lists(JSON.map(json.dumps), max_size=4).map(lambda lines: "\n".join(lines).encode())


@given(st.one_of(st.binary(max_size=200), XML, TAP, CUT, DOCUMENTS, JSON.map(lambda one: json.dumps(one).encode())))
def test_no_bytes_make_a_reader_fail_or_exceed_the_bounds(data: bytes) -> None:
    try:
        tally = tally_of(data)
    except Broken:
        return
    assert min(tally.passed, tally.failed, tally.skipped) >= 0
    assert len(tally.failures) == min(tally.failed, bounds.FAILURES)
    for one in tally.failures:
        assert one.name
        assert max(len(one.name), len(one.place or "")) <= bounds.NAME_CHARS
        assert len(one.message or "") <= bounds.MESSAGE_CHARS
        for text in (one.name, one.place or "", (one.message or "").replace("\n", " ")):
            assert not set(text) & set(map(chr, [*range(32), 127, 0x9B, 0x202E]))
            text.encode()


def replaced(value: Any, by: Any) -> Iterator[Any]:
    """Every way in which one value within a value is replaced."""
    yield by
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in members:
        for other in replaced(one, by):
            copy = value.copy()
            copy[name] = other
            yield copy


@pytest.mark.parametrize("by", [None, 3, True, "text", [], {}, [[1]], "\ud800"], ids=ascii)
@pytest.mark.parametrize("name", ["pytest-json-report.json", "pytest-reportlog.jsonl", "go-test.json"])
def test_a_value_of_another_kind_makes_no_reader_fail(name: str, by: Any) -> None:
    whole = (SAMPLES / name).read_text()
    documents = [whole] if name == "pytest-json-report.json" else whole.splitlines()
    for at, document in enumerate(documents):
        for changed in replaced(json.loads(document), by) if document.startswith("{") else ():
            lines = [*documents[:at], json.dumps(changed), *documents[at + 1 :]]
            with contextlib.suppress(Broken):
                for one in tally_of("\n".join(lines).encode()).failures:
                    "".join(filter(None, one.to_dict().values())).encode()


# --- which files ---------------------------------------------------------------------------------------------------


def found(folder: Path, pattern: str, **more: Any) -> Read:
    where = {"cwd": str(folder), "sandbox": None, "began_ns": 0, "ended_ns": None, **more}
    return read(pattern, find.Where(**where))


def paths(folder: Path, pattern: str) -> list[str]:
    return [one.path for one in find.reports(pattern, find.Where(str(folder), None, 0, None))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.xml", "b.xml", "c.txt", ".hidden.xml", "in/d.xml", "in/deep/e.xml", ".git/f.xml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(junit("<testcase name='a'/>"))
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    first(
        6,
        [
            ("a.xml", ["a.xml"]),
            ("*.xml", ["a.xml", "b.xml"]),
            ("**/*.xml", ["a.xml", "b.xml", "in/d.xml", "in/deep/e.xml"]),
            ("**/**/in/**/e.xml", ["in/deep/e.xml"]),
            ("i?/[a-d].xml", ["in/d.xml"]),
            (".*.xml", [".hidden.xml"]),
            ("./in//d.xml", ["in/d.xml"]),
            ("in/../a.xml", ["in/../a.xml"]),
            ("in/**", ["in/d.xml", "in/deep", "in/deep/e.xml"]),
        ],
    ),
)
def test_a_glob_finds_files_in_their_order(tree: Path, pattern: str, expected: list[str]) -> None:
    assert [path for path in paths(tree, pattern) if (tree / path).is_file()] == [
        path for path in expected if (tree / path).is_file()
    ]


def test_an_absolute_path_is_read(tree: Path) -> None:
    assert paths(Path("/"), f"{tree}/in/*.xml") == [f"{tree}/in/d.xml"]


def test_reports_of_a_glob_are_added_up(tree: Path) -> None:
    (tree / "b.xml").write_bytes(b"<broken")
    read = found(tree, "*.xml")
    tests, problems = read.tests, read.problems
    assert tests is not None
    assert tests.passed == 1
    assert problems == ["Not counted: b.xml, broken: line 1: unclosed token."]


def test_a_way_in_circles_ends(tree: Path) -> None:
    (tree / "in" / "loop").symlink_to(tree)
    assert paths(tree, "**/d.xml") == ["in/d.xml"]


def test_the_names_that_are_looked_at_are_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LOOKED", 2)
    assert found(tree, "**/e.xml").problems == ["Not counted: **/e.xml, beyond the first 2 names that are looked at."]


def test_the_files_and_bytes_that_are_read_are_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FILES", 1)
    read = found(tree, "*.xml")
    tests, problems = read.tests, read.problems
    assert tests is not None
    assert problems == ["Not counted: *.xml, beyond the first 1 files that match."]
    monkeypatch.setattr(bounds, "BYTES", 10)
    assert found(tree, "a.xml") == Read(None, ["Not counted: a.xml, too large."])


def test_a_report_that_is_too_large_leaves_room_for_those_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "BYTES", 10)
    for name, text in (("a", "ok\n" * 9), ("b", "ok\nok\n"), ("c", "ok\nok\n"), ("d", "not ok\n"), ("e", "ok\n")):
        (tmp_path / f"{name}.tap").write_text(text)
    read = found(tmp_path, "*.tap")
    tests, problems = read.tests, read.problems
    assert tests is not None
    assert (tests.passed, tests.failed) == (3, 0)
    assert problems == ["Not counted: a.tap and 2 more, too large."]


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for name, why in (("fifo", "no regular file"), ("folder", "no file"), ("/dev/zero", "no regular file")):
        assert found(tmp_path, name).problems == [f"Not counted: {name}, {why}."]


def test_a_report_counts_if_it_was_written_while_the_job_ran(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_bytes(junit("<testcase name='a'/>"))
    second = 1_000_000_000
    for at, why in ((99, find.OLDER), (100, ""), (105, ""), (110, ""), (111, find.LATER)):
        os.utime(report, ns=(at * second, at * second))
        read = found(tmp_path, "r.xml", began_ns=100 * second, ended_ns=110 * second)
        tests, problems = read.tests, read.problems
        assert (tests is None) == bool(why)
        assert problems == ([f"Not counted: r.xml, {why}."] if why else [])


def sandbox(root: Path, **more: Any) -> Sandbox:
    return Sandbox(mode="workspace-write", roots=[str(root)], **more)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """What a sandbox shows: in it a link to a report outside, and one to the directory of that."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "r.xml").write_bytes(junit("<testcase name='secret'/>"))
    (inside / "r.xml").symlink_to(outside / "r.xml")
    (inside / "way").symlink_to(outside)
    return inside


def test_no_link_is_followed_in_a_sandbox(inside: Path) -> None:
    told = ["Not counted: r.xml, a link, which is not followed in a sandbox."]
    assert found(inside, "r.xml", sandbox=sandbox(inside)) == Read(None, told)
    assert found(inside, "way/r.xml", sandbox=sandbox(inside)).tests is None
    assert found(inside, "*/r.xml", sandbox=sandbox(inside)).tests is None
    assert found(inside, "way/r.xml").tests is not None, "without a sandbox they are"


def test_a_directory_that_became_a_link_is_not_read_in_a_sandbox(inside: Path) -> None:
    assert found(inside / "way", "r.xml").tests is not None
    assert found(inside / "way", "r.xml", sandbox=sandbox(inside)).tests is None


def test_in_a_sandbox_a_name_may_begin_with_two_dots(tree: Path) -> None:
    (tree / "in").rename(tree / "..in")
    assert found(tree, "..in/*.xml", sandbox=sandbox(tree)).tests is not None
    assert found(tree / "..in", "../a.xml", sandbox=sandbox(tree)).tests is None


def test_in_a_sandbox_an_absolute_path_begins_in_its_directory(tree: Path) -> None:
    assert found(tree, f"{tree}/in/*.xml", sandbox=sandbox(tree)).tests is not None
    for outside in (f"{tree}/a.xml", "../a.xml"):
        assert found(tree / "in", outside, sandbox=sandbox(tree)).tests is None
        assert found(tree / "in", outside).tests is not None


def test_what_the_sandbox_hides_is_not_read(tree: Path) -> None:
    hidden = sandbox(tree, hide=[str(tree / "in")])
    assert found(tree, "a.xml", sandbox=hidden).tests is not None
    assert found(tree, "in/d.xml", sandbox=hidden) == Read(
        None,
        ["Not counted: in/d.xml, not in what the sandbox of the job shows."],
    )


def test_a_tag_of_a_million_attributes_is_not_read_and_a_long_message_is() -> None:
    many = " ".join(f'a{number}=""' for number in range(1_000_000))
    with pytest.raises(Broken, match="a tag or a comment has more than 512 KiB"):
        tally_of(f"<testsuite><testcase {many}/></testsuite>".encode())
    long = "x" * 400_000
    told = tally_of(f'<testsuite><testcase name="a"><failure message="{long}"/></testcase></testsuite>'.encode())
    assert told.tests().failed == 1
