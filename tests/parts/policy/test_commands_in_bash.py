"""commands_in.py and bash read every string alike that commands_in.py splits."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from outlive.parts.policy import commands_in

# Commands have no PATH, so bash hands each to the handler, which prints its words. What follows `||` runs if it fails,
# what follows `&&` if it succeeds: both runs together show every command once or twice.
HANDLER = 'command_not_found_handle() { printf "%s\\0" "$@" "$END" >&9; return $OUTCOME; }\n'
PIECES = [
    *("aa", "bb1", "-c", "c2", "2", "x=y", "~", "#", "!", "é", "dd", "e.f", "%", "@", "^", "if", "done", "time"),
    *(" ", " ", " ", "\t", "\n", ";", "&&", "||", "|", "&", ">", "<", "2>&1", ">/dev/null", "</dev/null", ">&2"),
    *("'", '"', "''", "'a b'", '"c d"', "$", "`", "\\", "(", ")", "{", "}", "*", "?", "[", "]", ",", "=", ":", "\r"),
]


def commands_of_bash(text: str, directory: Path, bash: str) -> set[tuple[str, ...]]:
    """The words of every command that bash runs."""
    found: set[tuple[str, ...]] = set()
    for outcome in "01":
        # The end of the pipe is the end of all of them: bash does not wait for what it starts in the background
        done = subprocess.run(
            [bash, "-c", f'exec 9>&1 >/dev/null\nEND=$\'\\1\' OUTCOME="$1"\n{HANDLER}cd -- "$2"\nPATH=/nowhere\neval -- "$3"',
             "bash", outcome, str(directory / "empty"), text],
            env={"LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False,
        )  # fmt: skip
        records = done.stdout.decode().split("\0\1\0")[:-1]  # one write each: those of a pipe come at once
        found |= {tuple(record.split("\0")) for record in records}
    return found


@functools.cache
def builtins(bash: str) -> set[str]:
    done = subprocess.run([bash, "-c", "compgen -bk"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.slow
@settings(
    max_examples=600,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_what_is_split_is_what_bash_runs(tmp_path: Path, pieces: list[str]) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    text = "".join(pieces)
    found = commands_in.commands([text], ["bash", "-c"])
    assume(not any(one.unread for one in found))
    names = {one.argv[0] for one in found}
    assume(not names & builtins(bash) and not any(os.sep in name for name in names))
    (tmp_path / "empty").mkdir(exist_ok=True)
    assert Counter(commands_of_bash(text, tmp_path, bash)) == Counter({tuple(one.argv) for one in found}), text
