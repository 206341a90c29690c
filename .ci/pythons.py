"""Run README's test command with each Python that pyproject.toml names and that is here, but the one that runs this.

`pythons.py SCRATCH COMMAND`, from the root of the tree. Looks on PATH and below ~/.pyenv/versions. Each has a copy of the
tree and an environment of its own. Says what each did, and which were not found; fails if the tests of one do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_NAMED = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')
_SELF = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


def named() -> list[str]:
    return _NAMED.findall(Path("pyproject.toml").read_text(encoding="utf-8"))


def found() -> dict[str, Path]:
    """Return the interpreters that are here, by their versions."""
    on_path = [one for version in named() if (one := shutil.which(f"python{version}"))]
    programs: dict[str, Path] = {}
    for program in (*on_path, *sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))):
        done = subprocess.run([program, "-c", _SELF], capture_output=True, text=True, check=False)
        version, _, path = done.stdout.strip().partition(" ")
        if version in named():  # else it is another one, or a shim of pyenv that runs nothing
            programs[version] = Path(path)
    return programs


def passes(version: str, program: Path, scratch: Path, command: str) -> bool:
    tree = scratch / f"python-{version}"
    shutil.copytree(".", tree, symlinks=True, ignore=shutil.ignore_patterns(".venv", "build", "site", ".*_cache"))
    (scratch / version).mkdir()
    (scratch / version / "python3").symlink_to(program)
    env = {**os.environ, "PATH": f"{scratch / version}{os.pathsep}{os.environ['PATH']}"}
    env["PYTEST_ADDOPTS"] = "-o faulthandler_timeout=240"
    done = subprocess.run(["bash", "-c", command], cwd=tree, env=env, check=False)
    return done.returncode == 0


def main(scratch: str, command: str) -> int:
    own, here = "%d.%d" % sys.version_info[:2], found()
    failed = []
    for version in named():
        if version == own:
            print(f"Python {version}: by the gate", flush=True)
        elif version not in here:
            print(f"Python {version}: not found", flush=True)
        else:
            ok = passes(version, here[version], Path(scratch), command)
            print(f"Python {version} ({here[version]}): {'ok' if ok else 'FAILED'}", flush=True)
            failed += [] if ok else [version]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
