"""Whose exit code a command ended with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from outlive.parts.failures.exit_code import masked


def test_the_form_says_whose_code_it_is() -> None:
    rows: list[tuple[str, str, str]] = [
        ("make test | tail -5", "`make`", "`tail`"),
        ("make test 2>&1 | tail -5", "`make`", "`tail`"),
        ("cd app && npm test 2>&1 | grep -v warn | head", "`npm`", "`head`"),
        ("pytest |& tee log", "`pytest`", "`tee`"),
        ("just 'a | b' | cat", "`just`", "`cat`"),
        ("grep '' log | tail", "`grep`", "`tail`"),
        ("trap '' HUP; make | tail", "`make`", "`tail`"),
        ("make; echo done", "`make`", "`echo`"),
        ("make\necho done", "`make`", "`echo`"),
        ("x=$(make); echo $x", "`make`", "`echo`"),
        ("cd app; make; echo done", "", "`echo`"),  # any of the two
        ("make | tail -3; echo done", "", "`echo`"),
        ("awk -F '|' 1 f | tail", "`awk`", "`tail`"),
        ('CI=1 make "$target" >log 2>&1 | tail', "`make`", "`tail`"),
        ("make \\\n test | tail # | cat", "`make`", "`tail`"),
        ("make ${target} &>log; echo done", "`make`", "`echo`"),
        ("make &", "`make`", "the shell"),
        ("make | tail &", "`tail`", "the shell"),
        ("make & make2 & wait", "`make`", "`wait`"),
        ("(make; make test) | tail", "`(make; make test)`", "`tail`"),
        ("make | while read l; do :; done", "`make`", "`while read l; do :; done`"),
        ("time make | tail", "`make`", "`tail`"),
        ("cat <<E | grep x\nmake | tail\nE", "`cat`", "`grep`"),
        ("make `id` | tail", "`make`", "`tail`"),
        ("make <(ls) | tail", "`make`", "`tail`"),
        ("make ${x:-y} | tail", "`make`", "`tail`"),
        ('pytest | tail -3; echo "exit: $?"', "`pytest`", "`echo`, and `$?` that of `tail`"),
    ]
    for text, first, last in rows:
        found = masked(text)
        assert found is not None
        assert (found.first, found.last) == (first, last)


def test_a_code_that_is_lost_inside_is_said_to_be() -> None:
    rows: list[tuple[str, str, str]] = [
        ("make || true", "`make`", "`|| true` hides its code"),
        ("cd app; make || echo failed", "`make`", "`|| echo` hides its code"),
        ("make && make install || echo failed", "", "`|| echo` hides its code"),  # of any of the two
        ("(make || true) && ls", "`make`", "`|| true` hides its code"),
        (
            "set -e; f() { make; echo on; }; f || echo off",
            "`f`",
            "`|| echo` hides its code, and in it `set -e` has no effect",
        ),
        ("make | tail -1 && echo ok", "`make`", "`| tail` hides its code"),
        ("(make | tail)", "`make`", "`| tail` hides its code"),
        ("{ make | tail; }", "`make`", "`| tail` hides its code"),
        ("cd app && { make 2>&1 | tail; } >log", "`make`", "`| tail` hides its code"),
        ("for i in 1 2; do make $i | tail; done", "`make`", "`| tail` hides its code"),
        ("while read -r f; do lint $f | head -1; done <files", "`lint`", "`| head` hides its code"),
        ("if true; then make | tail; fi", "`make`", "`| tail` hides its code"),
        ("case $1 in a|b) make | tail ;; *) make ;; esac", "`make`", "`| tail` hides its code"),
        ("f() { make | tail; }; f", "`make`", "`| tail` hides its code"),
        ("bash -lc 'make | tail'", "`make`", "`| tail` hides its code"),
        ('eval "make | tail"', "`make`", "`| tail` hides its code"),
        ("for i in a b; do make -C $i; done", "the rounds of its loop but the last", ""),
    ]
    for text, first, why in rows:
        found = masked(text)
        assert found is not None
        assert (found.first, found.last, found.why) == (first, "", why)
        assert not found.is_doubtful


def test_a_code_that_few_ask_for_is_worth_a_word_if_the_output_reports_a_failure() -> None:
    rows: list[tuple[str, str]] = [
        ("echo it is $(make)", "`make`"),
        ("export V=$(make)", "`make`"),
        ("while read l; do echo $l; done < <(make)", "`make`"),
        ("serve & sleep 1; curl localhost", "`serve`"),
    ]
    for text, first in rows:
        found = masked(text)
        assert found is not None
        assert (found.first, found.last, found.is_doubtful) == (first, "", True)
    for text in (
        "ls; echo done",
        "cd app; ls -la | head; cat x; echo ---",
        "for f in *; do wc -l $f; done",
        "cat x | sort | uniq",
    ):
        found = masked(text)
        assert found is not None and found.is_doubtful, f"{text}: it says what fails, and changes nothing"
    for text in (
        "ls; make; echo done",
        "make | sort; echo done",
        "for f in *; do ls; make; done",
        "ls | xargs rm | cat",
    ):
        found = masked(text)
        assert found is not None and not found.is_doubtful, text


HIDING_NOTHING = [
    "make test", "make && echo done", "make; make test", "make || exit 3", "make || exit 3; echo done",
    "set -e; make; echo done", "set -o pipefail; make test | tail", "set -euo pipefail; make test | tail",
    "make | tail; exit ${PIPESTATUS[0]}", "echo 'make | tail'", "make test # | tail", "x=$(make)", "x=1; echo $x",
    "echo a; echo b", "echo a | cat", 'make; echo "$?"', "! make | tail",
    "f() { make | tail; }; make",  # f is not called
    "f() { f; }; f", "f() { f; f; f; }; f", "for i in 1 2; do make $i || exit 1; done", "set -e; for i in 1 2; do make $i; done",
    "for i in 1 2; do echo $i; done", "make & wait $!", "[[ -f a || -f b ]]", "make ;; echo done", "make ||",
    "make | tail 'open", "(make | tail", "make | tail)", "for i in 1; do make | tail", "| tail", "",
    "until [ -e go ]; do sleep 0.1; done; echo done",
    "while ! test -e go; do sleep 1; done; printf x",
    "sleep 2; echo done", "f()" * 6_000,
]  # fmt: skip


def test_what_hides_nothing_or_is_no_script_is_not_spoken_of() -> None:
    assert {text: masked(text) for text in HIDING_NOTHING} == dict.fromkeys(HIDING_NOTHING)


def test_the_options_of_the_shell_count() -> None:
    assert masked("make | tail", ["-o", "pipefail", "-c"]) is None
    assert masked("make; echo done", ["-ec"]) is None
    assert masked("make; echo done", ["-lc"]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "make | tail", "make; echo done", "make || true", "make && true || echo failed", "(make || true) && true",
        "make &", "make & true & wait", "make | tail -1 && echo ok", "(make | tail)",
        "{ make 2>&1 | tail; } >/dev/null", "for i in 1 2; do make $i | tail; done",
        "for i in 1 2; do make $i; test $i; done",
        "while read -r f; do make $f | head -1; done </etc/hostname",
        "if true; then make | tail; fi",
        "if make | tail; then echo ok; fi",
        "case a in a|b) make | tail ;; *) false ;; esac",
        "f() { make | tail; }; f",
        "set -e; f() { make; echo on; }; f || echo off",
        "bash -c 'make | tail'", 'eval "make | tail"', 'make | tail -3; echo "exit: $?"', "x=$(make); echo $x",
        "x=$(make | tail)", "echo it is $(make)", "export V=$(make)", "while read l; do echo $l; done < <(make)",
        "(make; true) | tail", "make <<E | tail\nmake | tail\nE", "time make | tail",
    ],
)  # fmt: skip
def test_the_code_is_the_same_whatever_becomes_of_what_it_is_said_to_say_nothing_of(tmp_path: Path, text: str) -> None:
    (tmp_path / "make").write_text("#!/bin/sh\nexit $MADE\n")
    (tmp_path / "make").chmod(0o755)
    codes = {
        subprocess.run(
            ["bash", "-c", text],
            env={"PATH": f"{tmp_path}{os.pathsep}{os.defpath}", "MADE": made},
            capture_output=True,
            check=False,
        ).returncode
        for made in ("0", "1", "77")
    }
    assert codes == {0}
    assert masked(text) is not None
