"""What the jobs of tests run: commands that go on at a word of the test, and output whose order is certain."""

from __future__ import annotations

import sys

GATE = "until [ -e go ]; do sleep 0.1; done"  # until the test makes the file `go` in the job's directory
# Always uses a processor for some of the time: a loop that uses all of it takes it from other tests
WORKS = "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; sleep 0.05; done"

# For a program in Python: `put(fd, data)` returns when the data is stored, so that pieces arrive in the order of their
# writing, one at a time, whatever stream they are in.
PUT = """
import os, time
_logs = [f"{os.environ['OUTLIVE_ROOT']}/{os.environ['OUTLIVE_JOB_ID']}/{name}.log" for name in ('stdout', 'stderr')]
_total = 0
def put(fd, data):
    global _total
    _total += os.write(fd, data)
    while sum(map(os.path.getsize, _logs)) < _total:
        time.sleep(0.001)
"""


def python(code: str, *words: str) -> list[str]:
    """The end of a command line that runs this program."""
    return ["--", sys.executable, "-c", code, *words]


def in_order(*pieces: tuple[int, str], code: int = 0) -> list[str]:
    """A command that writes each (fd, text) when the one before is stored, and exits with this code."""
    return python(f"{PUT}\nfor fd, text in {pieces!r}: put(fd, text.encode())\nraise SystemExit({code})")
