"""Run the default tier with the newest versions of all packages, and say which of them breaks which test.

`newest.py SCRATCH`, with the Python of an environment without constraints, from the root of the tree.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(".ci/constraints.txt")
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED = 1


def newer() -> dict[str, str]:
    """Return the packages of this environment that are not of the version that the gate installs: name → version."""
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", CONSTRAINTS.read_text(), re.MULTILINE))
    found = {re.sub(r"[-_.]+", "-", each.name).lower(): each.version for each in importlib.metadata.distributions()}
    return {name: version for name, version in sorted(found.items()) if pinned.get(name, version) != version}


def succeeds(words: list[str], **environment: str) -> bool:
    return subprocess.run(words, env={**os.environ, **environment}, check=False).returncode == 0


def breaks(name: str, version: str, tests: list[str], scratch: Path) -> bool:
    """Return whether a test fails with this version and those of the gate for all else."""
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith(f"{name}==")]
    mixed = scratch / f"constraints-{name}.txt"
    mixed.write_text("\n".join([*lines, f"{name}=={version}", ""]))
    python = scratch / f"with-{name}/bin/python"
    made = succeeds([sys.executable, "-m", "venv", str(python.parents[1])]) and succeeds(
        [str(python), "-m", "pip", "install", "-q", "-e", ".[test]"], PIP_CONSTRAINT=str(mixed)
    )
    return made and not succeeds([str(python), "-m", "pytest", "-q", "-n", "0", *tests])


def main(scratch: Path) -> int:
    changed = newer()
    print("newer than in .ci/constraints.txt:", ", ".join(map("==".join, changed.items())) or "nothing")
    if not changed:
        return 0
    code = subprocess.run([sys.executable, "-m", "pytest", "-q"], check=False).returncode
    if code == TESTS_FAILED:
        tests = sorted(json.loads(LAST_FAILED.read_text()))
        for name, version in changed.items():
            if breaks(name, version, tests, scratch):
                print(f"newest: {name}=={version} breaks a test of: {' '.join(tests)}")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
