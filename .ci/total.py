"""Add up the closing lines of several runs of pytest, and print the sum as pytest prints it: `total.py LINE LINE …`."""

from __future__ import annotations

import datetime
import re
import sys
from collections import Counter

SHOWN = ("failed", "passed", "skipped", "xfailed", "xpassed", "warnings", "error", "errors")  # what -m left out is not


def total(lines: list[str]) -> str:
    """Return one closing line. Raises ValueError for a line that is none of pytest's."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    for line in lines:
        found = re.fullmatch(r"(.*) in ([\d.]+)s(?: \([\d:]+\))?", line)
        if found is None:
            raise ValueError(f"no closing line of pytest: {line!r}")
        counts.update({word: int(number) for number, word in re.findall(r"(\d+) (\w+)", found[1])})
        seconds += float(found[2])
    said = ", ".join(f"{counts[word]} {word}" for word in SHOWN if counts[word])
    return f"{said} in {seconds:.2f}s ({datetime.timedelta(seconds=int(seconds))})"


if __name__ == "__main__":
    sys.stdout.write(total(sys.argv[1:]) + "\n")
