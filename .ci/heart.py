"""Run the tests of the heart in a copy of the tree that has no part of outlive but `schema`, against which they hold answers.

`heart.py TREE COPY COMMAND`: makes the copy, and in it the environment, by COMMAND. Left out are tests that import a part, and
those in heart.txt, which are about one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

KEPT = ("schema", "__pycache__")
HEART = "tests/heart"
NOT_COPIED = (".venv", "__pycache__", ".pytest_cache")


def without_parts(tree: Path, copy: Path) -> list[str]:
    """Make the copy; return the names of the parts that it has not."""
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
    parts = [path for path in (copy / "src/outlive/parts").iterdir() if path.is_dir() and path.name not in KEPT]
    for part in parts:
        shutil.rmtree(part)
    return [part.name for part in parts]


def left_out(copy: Path, parts: list[str]) -> list[str]:
    """Return the options of pytest that leave out what needs one of these parts."""
    names = "|".join(parts)
    imports = re.compile(rf"\boutlive\.parts(?:\.| import )(?:{names})\b|^from parts\.", re.MULTILINE)
    files = sorted((copy / HEART).rglob("test_*.py"))
    importing = [path.relative_to(copy) for path in files if imports.search(path.read_text(encoding="utf-8"))]
    lines = (copy / ".ci/heart.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line.startswith("tests/")]
    return [*(f"--ignore={path}" for path in importing), *(f"--deselect={name}" for name in listed)]


def main(tree: str, copy: str, command: str) -> int:
    place = Path(copy)
    parts = without_parts(Path(tree), place)
    os.chdir(place)
    made = subprocess.run(["bash", "-c", command], check=False).returncode
    words = [".venv/bin/python", "-m", "pytest", "-q", *left_out(place, parts), HEART]
    return made or subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
