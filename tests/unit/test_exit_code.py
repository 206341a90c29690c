"""Whose exit code a command ended with."""

from __future__ import annotations

import pytest

from outlive.jobs.diagnosis.exit_code import masked


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("make test | tail -5", "make", "tail"),
        ("make test 2>&1 | tail -5", "make", "tail"),
        ("cd app && npm test 2>&1 | grep -v warn | head", "npm", "head"),
        ("pytest |& tee log", "pytest", "tee"),
        ("just 'a | b' | cat", "just", "cat"),
        ("grep '' log | tail", "grep", "tail"),
        ("trap '' HUP; make | tail", "make", "tail"),
        ("make || true", "make", "true"),
        ("make || echo failed", "make", "echo"),
        ("make && make install || echo failed", "", "echo"),  # any of the two
        ("cd app; make || echo failed", "make", "echo"),
        ("make; echo done", "make", "echo"),
        ("make\necho done", "make", "echo"),
        ("cd app; make; echo done", "", "echo"),  # any of the two
        ("awk -F '|' 1 f | tail", "awk", "tail"),
        ('CI=1 make "$target" >log 2>&1 | tail', "make", "tail"),
        ("make \\\n test | tail # | cat", "make", "tail"),
        ("make ${target} &>log; echo done", "make", "echo"),
        ("make &", "make", "the shell"),
        ("make | tail &", "tail", "the shell"),
    ],
)
def test_a_form_that_hides_a_failure_is_seen(text: str, first: str, last: str) -> None:
    found = masked(text)
    assert found is not None
    assert (found.first, found.last) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "make test",
        "make && echo done",
        "make; make test",
        "make || exit 3",
        "set -o pipefail; make test | tail",
        "set -euo pipefail; make test | tail",
        "echo 'make | tail'",
        "make test # | tail",
        "(make; make test) | tail",  # what is not simple is not judged
        "for i in 1 2; do make | tail; done",
        "cat <<E\nmake | tail\nE",
        "x=$(make | tail)",
        "echo a; echo b",
        "echo a | cat",
        'make; echo "$?"',
        "make `id` | tail",
        "make <(ls) | tail",
        "make ${x:-y} | tail",
        "[[ -f a || -f b ]] | tail",
        "make ;; echo done",
        "make ||",
        "make | tail 'open",
        "| tail",
        "",
    ],
)
def test_what_hides_nothing_or_is_not_simple_is_not_spoken_of(text: str) -> None:
    assert masked(text) is None
