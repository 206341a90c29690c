"""Run the last part of README's command, the tests; tests that fail run once more, one after the other, with nothing beside them.

`second_look.py COMMAND`, from the root of the tree, where the rest of README's command has made .venv. What fails again fails the run, with its output. What passes then is
printed as `unstable: NAME`: mend its cause. Closes with the summary of pytest, the second look counted in.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ALONE = ".venv/bin/python -m pytest -q -n 0".split()
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
MANIFEST = "tests/faults.py::"  # a fault that no test has proven: there is nothing to run again
MOST = 20  # more than these have one cause, and would take longer one after the other than all tests did
TESTS_FAILED = 1
SHOWN = "failed passed skipped xfailed xpassed warnings error errors".split()  # what -m left out is not
# A test that hangs shows where, before its time is up.
ENVIRONMENT = {**os.environ, "PYTEST_ADDOPTS": "-o faulthandler_timeout=240"}


class Summary(NamedTuple):
    """The closing line of pytest."""

    counts: Counter[str]
    seconds: float

    def __str__(self) -> str:
        said = ", ".join(f"{self.counts[word]} {word}" for word in SHOWN if self.counts[word])
        return f"{said} in {self.seconds:.2f}s ({datetime.timedelta(seconds=int(self.seconds))})"

    def then(self, second: Summary | None) -> Summary:
        """Return the summary of both looks: what failed at the first counts as it did at the second."""
        if second is None:
            return self
        again = Counter({word: self.counts[word] for word in ("failed", "error", "errors")})
        return Summary(self.counts - again + second.counts, self.seconds + second.seconds)


def summary(output: str) -> Summary | None:
    """Return what the last line says, or None if pytest did not come so far."""
    found = re.fullmatch(r"(.*) in ([\d.]+)s(?: \([\d:]+\))?", output.rstrip().rpartition("\n")[2])
    if found is None:
        return None
    return Summary(
        Counter({word: int(number) for number, word in re.findall(r"(\d+) (\w+)", found[1])}), float(found[2])
    )


def run(words: list[str]) -> tuple[int, str, Summary | None]:
    """Return the exit status, the output, and pytest's summary unless it ended before it."""
    done = subprocess.run(
        words,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout, summary(done.stdout)


def failed() -> list[str]:
    """Return the ids of the tests that failed in their last run."""
    try:
        return sorted(json.loads(LAST_FAILED.read_text()))
    except FileNotFoundError:
        return []


def main(command: str) -> int:
    began = time.monotonic()
    code, output, first = run(["bash", "-c", command])
    took = f"({time.monotonic() - began:.0f} s)"
    if code == 0 and first:
        print(f"ci: tests: ok {took}\n{first}")
        return 0
    names = failed()
    lone = 0 < len(names) <= MOST and not any(name.startswith(MANIFEST) for name in names)
    if code != TESTS_FAILED or not first or not lone:
        print(f"ci: FAILED: tests (exit status {code}) {took}\n--- {command}\n{output}")
        return 1
    code, again, second = run([*ALONE, *names])
    if code or not second:
        print(f"ci: FAILED: tests, at the second look too {took}\n--- {command}\n{again}")
    else:
        print(f"ci: tests: ok at the second look {took}; the first was\n{output}")
    for name in sorted(set(names) - set(failed())):
        print(f"unstable: {name}")
    print(first.then(second))
    return int(code != 0 or not second)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
