"""Print a one-line command of the README: `readme_command.py README.md 2` gives its second fenced block."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main(path: str, number: int) -> int:
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```\s*$", Path(path).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if len(blocks) < number:
        print(
            f"{path} has {len(blocks)} fenced blocks; number {number} is the one that passes the tests", file=sys.stderr
        )
        return 1
    lines = blocks[number - 1].strip().splitlines()
    if len(lines) != 1:
        print(f"fenced block {number} of {path} is not one line but {len(lines)}", file=sys.stderr)
        return 1
    if number == 2 and "pytest" not in lines[0]:
        print(f"fenced block {number} of {path} runs no tests: {lines[0]}", file=sys.stderr)
        return 1
    print(lines[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
