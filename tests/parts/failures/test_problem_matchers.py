"""Problem matchers: which lines report a failure, and which matchers are refused."""

from __future__ import annotations

from typing import Any

import pytest

from outlive.errors import OutliveError
from outlive.parts.failures.lines.problem_matchers import Hit, Matchers, built_in, checked

BUILT_IN = Matchers(built_in())


def named(text: str, matchers: Matchers = BUILT_IN) -> dict[str, Hit]:
    """Return the lines of a text that are reported, each with its best hit."""
    data = text.encode()
    hits: dict[str, Hit] = {}
    for hit in sorted(matchers.hits(data), key=lambda hit: (not hit.strong, hit.matcher), reverse=True):
        hits[data[hit.start :].split(b"\n", 1)[0].decode()] = hit
    return hits


FAILURES = [
    "src/main.c:12:5: error: unknown type name 'foo'",
    "main.o: in function `main': main.c:(.text+0x5): undefined reference to `foo'",
    "collect2: error: ld returned 1 exit status",
    r"C:\src\a.cpp(12,3): error C2065: 'x': undeclared identifier",
    "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    "src/app.ts:3:7 - error TS2322: Type 'string' is not assignable",
    "error[E0308]: mismatched types",
    "thread 'main' panicked at src/main.rs:4:5:",
    "test tests::adds ... FAILED",
    "--- FAIL: TestAdd (0.00s)",
    "./main.go:7:2: undefined: x",
    "panic: runtime error: index out of range [5] with length 3",
    "FAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2",
    "E       assert 1 == 2",
    "___________ test_b ___________",
    "===== 1 failed, 3 passed in 0.12s =====",
    "FAIL: test_b (tests.test_a.TestA.test_b)",
    "Traceback (most recent call last):",
    "requests.exceptions.ConnectionError: HTTPConnectionPool(host='x', port=80)",
    "pkg/mod.py:3: error: Name 'x' is not defined  [name-defined]",
    "pkg/mod.py:3:1: F401 `os` imported but unused",
    "  ● adds two numbers",
    " FAIL  src/add.test.ts > adds",
    "not ok 3 - adds",
    "  3:7  error  'x' is not defined  no-undef",
    "npm error code ERESOLVE",
    "TypeError: Cannot read properties of undefined (reading 'x')",
    "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin",
    "Caused by: java.lang.NullPointerException",
    "> Task :compileJava FAILED",
    "rspec ./spec/a_spec.rb:3 # adds",
    "PHP Fatal error:  Uncaught Error: Call to undefined function foo()",
    "#   Failed test 'adds'",
    "make[1]: *** [Makefile:3: all] Error 2",
    "ninja: build stopped: subcommand failed.",
    "CMake Error at CMakeLists.txt:3 (find_package):",
    "ERROR: failed to solve: process \"/bin/sh -c false\" did not complete successfully: exit code: 1",
    "Error: Invalid provider configuration",
    'fatal: [web1]: FAILED! => {"changed": false}',
    "##[error]Process completed with exit code 1.",
    "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010",
    "Segmentation fault (core dumped)",
    "sh: 1: frobnicate: not found",
    "cat: nowhere: No such file or directory",
    "curl: (7) Failed to connect to localhost port 1: Connection refused",
    "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
    "wget: unable to resolve host address ‘nowhere’",
    "write /out: no space left on device",
    "fatal: not a git repository (or any of the parent directories): .git",
    "E: Unable to locate package frobnicate",
    "2026-01-02 03:04:05,678 ERROR [main] it broke",
    '{"level": "error", "msg": "it broke"}',
]  # fmt: skip


def test_what_a_tool_prints_for_a_failure_alone_is_one() -> None:
    hits = {line: named(f"before\n{line}\nafter").get(line) for line in FAILURES}
    assert [line for line, hit in hits.items() if hit is None or not hit.strong] == []


HARMLESS = [
    "= 0 failed, 3 passed in 2s =",
    "no errors found",
    "src/error.h",
    "0 errors, 0 warnings",
    "   Compiling error_chain v0.12.4",
    "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
    "tests/test_errors.py .....", "exit code 0", "tests/test_fail.py::test_failed PASSED", "HTTP/1.1 200 OK",
    "200 examples, 0 failures", "ok      example.com/fail  0.3s",
]  # fmt: skip


def test_what_only_looks_like_a_failure_is_none() -> None:
    hits = {line: named(line).get(line) for line in HARMLESS}
    assert [line for line, hit in hits.items() if hit is not None and hit.strong] == []


def test_a_pattern_stays_in_its_line() -> None:
    """`[^:]*` and `\\s` match a newline, which RE2 would do in a whole text."""
    assert named("one\n\ntwo:3: error: x").keys() == {"two:3: error: x"}
    spaced = Matchers([checked({"pattern": [{"regexp": r"^\s*fail"}]}, "m")])
    assert named("\n\n   fail\n", spaced).keys() == {"   fail"}


SEVERAL = {
    "owner": "ours",
    "pattern": [
        {"regexp": r"^(\S+)$", "file": 1},
        {"regexp": r"^  (\d+): (.+)$", "line": 1, "message": 2, "loop": True},
    ],
}


def test_a_matcher_of_several_lines_holds_where_all_match() -> None:
    matchers = Matchers([checked(SEVERAL, "m")])
    assert named("a.c\n  1: x\n  2: y\nb.c\nc.c\n  3: z\nd.c", matchers).keys() == {
        "a.c",
        "  1: x",
        "  2: y",
        "c.c",
        "  3: z",
    }
    once = {**SEVERAL, "pattern": [SEVERAL["pattern"][0], {"regexp": r"^  (\d+): (.+)$"}]}
    assert named("a.c\n  1: x\n  2: y\n", Matchers([checked(once, "m")])).keys() == {"a.c", "  1: x"}


def test_an_ending_without_a_newline_is_a_line_too() -> None:
    matchers = Matchers([checked(SEVERAL, "m"), checked({"severity": "warning", "pattern": [{"regexp": "odd"}]}, "m")])
    assert {line: hit.strong for line, hit in named("odd\na.c\n  1: x", matchers).items()} == {
        "odd": False, "a.c": True, "  1: x": True,
    }  # fmt: skip


def test_matchers_that_are_too_large_for_one_set_are_several() -> None:
    large = [checked({"pattern": [{"regexp": rf"^{name}: \pL{{1,80}}"}]}, "m") for name in "abcde"]
    hits = named("d: x\nother\ne: y\nmain.c:1: error: z", Matchers([*large, *built_in()]))
    assert {line: hit.matcher for line, hit in hits.items()} == {"d: x": 3, "e: y": 4, "main.c:1: error: z": 5}


def test_a_wrong_matcher_is_refused_with_what_is_wrong() -> None:
    rows: list[tuple[Any, str]] = [
        ("x", "a problem matcher is"),
        ({"owner": "a"}, "a problem matcher is"),
        ({"pattern": []}, "it has no pattern"),
        ({"pattern": [{}]}, "a pattern has a regexp"),
        ({"pattern": [{"regexp": ""}]}, "a pattern has a regexp"),
        ({"severity": "loud", "pattern": [{"regexp": "x"}]}, "severity is 'loud'"),
        ({"severity": [], "pattern": [{"regexp": "x"}]}, "severity is []"),
        ({"pattern": [{"regexp": "x", "file": 1}]}, "file is group 1, and the regexp has 0"),
        ({"pattern": [{"regexp": "(x)", "file": "1"}]}, "file is '1', and must be the number of a group"),
        ({"pattern": [{"regexp": "(x)", "file": True}]}, "file is True, and must be the number of a group"),
        ({"pattern": [{"regexp": "x", "massage": 1}]}, "unknown key 'massage'"),
        ({"pattern": [{"regexp": "x(?=y)"}]}, "not an RE2 pattern"),
        ({"pattern": [{"regexp": "("}]}, "not an RE2 pattern"),
        ({"pattern": [{"regexp": "x", "loop": True}, {"regexp": "y"}]}, "loop is true or false, and stands in the last"),
        ({"pattern": [{"regexp": r"\pL{1,200}"}]}, "the regexp takes too much memory"),
        ({"pattern": [{"regexp": "x" * 3_000}]}, "longer than 2,000 characters"),
    ]  # fmt: skip
    for matcher, said in rows:
        with pytest.raises(OutliveError) as caught:
            checked(matcher, "m")
        assert said in caught.value.message


def test_a_pattern_may_stand_alone_and_what_editors_need_is_taken() -> None:
    written = {"owner": "x", "fileLocation": ["relative"], "pattern": {"regexp": "^(.*):(\\d+)$", "file": 1, "line": 2}}
    assert checked(written, "m").located
