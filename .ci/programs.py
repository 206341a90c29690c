"""The programs of programs.txt. `programs.py DIRECTORY` fills a directory with links to those that the tests need, and
fails if one is missing; `programs.py` prints which of the others are not on PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

LIST = Path(__file__).with_name("programs.txt")
# As root finds them: an ordinary user has no sbin on PATH
PLACES = os.pathsep.join([os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"])


def listed(part: str) -> dict[str, str]:
    """Return the programs of a part of the list, each with what needs it."""
    lines = LIST.read_text(encoding="utf-8").partition(f"[{part}]\n")[2].partition("\n[")[0].splitlines()
    found = (line.rpartition(": ") for line in lines if line)
    return {name: reason for reason, _, names in found for name in names.split()}


def main(words: list[str]) -> int:
    places = {name: shutil.which(name, path=PLACES) for name in listed("needed" if words else "more")}
    missing = [name for name, place in places.items() if place is None]
    if not words:
        print(f"not installed: {' '.join(missing)}" if missing else "all programs are installed")
        return 0
    for name, place in places.items():
        if place is not None:
            os.symlink(place, Path(words[0], name))
    for name in missing:
        print(f"{name} is missing, for {listed('needed')[name]}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
