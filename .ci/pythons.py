"""Run README's test command with every Python from 3.11 on that is here, and say which of pyproject.toml's are not.

`pythons.py SCRATCH COMMAND`, from the root of the tree. Looks on PATH and below ~/.pyenv/versions. Each has a copy of the
tree and an environment of its own. Says what each did; fails if the tests of one do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_NAMED = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')
# Fails where no environment can be made, which Debian packages by itself
_SELF = "import ensurepip, os, sys; print('%d.%d.%d' % sys.version_info[:3], os.path.realpath(sys.executable))"
_MINORS = range(11, 21)


def named() -> list[str]:
    return _NAMED.findall(Path("pyproject.toml").read_text(encoding="utf-8"))


def found() -> dict[Path, str]:
    """Return the interpreters that are here, each once and with its version, the oldest first."""
    on_path = [one for minor in _MINORS if (one := shutil.which(f"python3.{minor}"))]
    programs: dict[Path, str] = {}
    for program in (*on_path, *sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))):
        done = subprocess.run([program, "-c", _SELF], capture_output=True, text=True, check=False)
        version, _, path = done.stdout.strip().partition(" ")
        if version and _minor(version) in _MINORS:  # else it is older, or a shim of pyenv that runs nothing
            programs[Path(path)] = version
    return dict(sorted(programs.items(), key=lambda one: _minor(one[1])))


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def passes(place: Path, program: Path, command: str) -> bool:
    shutil.copytree(
        ".", place / "tree", symlinks=True, ignore=shutil.ignore_patterns(".venv", "build", "site", ".*_cache")
    )
    (place / "bin").mkdir()
    (place / "bin/python3").symlink_to(program)
    env = {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    env["PYTEST_ADDOPTS"] = "-o faulthandler_timeout=240"
    return subprocess.run(["bash", "-c", command], cwd=place / "tree", env=env, check=False).returncode == 0


def main(scratch: str, command: str) -> int:
    here = found()
    failed = False
    for number, (program, version) in enumerate(here.items()):
        ok = passes(Path(scratch, f"python-{number}"), program, command)
        failed |= not ok
        print(f"Python {version} ({program}): {'ok' if ok else 'FAILED'}", flush=True)
    versions = {f"3.{_minor(version)}" for version in here.values()}
    for version in named():
        if version not in versions:
            print(f"Python {version}: not found", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
