"""`python -m tests.power [CASE …]`: every state of every cut, up to the bound. The exit status is 0 if no promise is broken."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from power import cases, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(cases.CASES)}; without one, all")
    parser.add_argument("--place", type=Path, help="a directory for the states; one in memory is fastest")
    given = parser.parse_args()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="power-", dir=given.place or (memory if memory.is_dir() else None)
    ) as place:
        found = check.check_all(given.cases or cases.CASES, Path(place))
    sys.stdout.write(found.text() + "\n")
    return bool(found.broken)


if __name__ == "__main__":
    sys.exit(main())
