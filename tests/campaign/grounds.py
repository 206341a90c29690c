"""Where a campaign takes place: its directory, the installation that its calls use, and what the machine can do."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import outlive
from outlive.parts.sandbox.confinement import bubblewrap
from support import slurm, sshd
from support.mounts import Mounts

# Each Python that is started with CAMPAIGN_CLOCK has a wall clock that is off by the seconds in that file
_CLOCK = """
import os, time
_path, _time, _time_ns = os.environ.get("CAMPAIGN_CLOCK"), time.time, time.time_ns
def _jump():
    try:
        with open(_path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
if _path:
    time.time = lambda: _time() + _jump()
    time.time_ns = lambda: _time_ns() + _jump() * 10**9
"""


class Gate:
    """Lets many calls start, or one installation be replaced: an interpreter that starts meanwhile would find half of it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._calls = 0
        self._replaced = False

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._replaced)
            self._calls += 1
        try:
            yield
        finally:
            with self._condition:
                self._calls -= 1
                self._condition.notify_all()

    @contextlib.contextmanager
    def replacement(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._replaced)
            self._replaced = True
            self._condition.wait_for(lambda: not self._calls)
        try:
            yield
        finally:
            with self._condition:
                self._replaced = False
                self._condition.notify_all()


class Grounds:
    """The directory of a campaign. Every process that it starts has HOME and OUTLIVE_ROOT below it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.gate = Gate()
        self.home = place / "home"
        self.shim = place / "shim"
        self.site = place / "site"
        for path in (self.home, self.shim):
            path.mkdir(parents=True)
        (self.shim / "sitecustomize.py").write_text(_CLOCK, encoding="utf-8")
        self._path = str(self.shim)

    def install(self) -> None:
        """Have the calls from now on use an installation that pip has made, and replaces at the next call."""
        wheel = self.place / f"outlive-{outlive.__version__}-py3-none-any.whl"
        if not wheel.exists():
            _make_wheel(wheel)
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", "--no-index"]
        words += ["--disable-pip-version-check", "--upgrade", "--target", str(self.site), str(wheel)]
        with self.gate.replacement():
            env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self._path = f"{self.shim}:{self.site}"

    def env(self, root: Path, **more: str) -> dict[str, str | None]:
        """Return the environment of a call, as changes of ours."""
        outer = ("OUTLIVE_", "XDG_", "PYTHON")
        found: dict[str, str | None] = {name: None for name in os.environ if name.startswith(outer)}
        return found | {"HOME": str(self.home), "OUTLIVE_ROOT": str(root), "PYTHONPATH": self._path} | more


def _make_wheel(path: Path) -> None:
    """Put the package of this clone into a wheel (PEP 427), which needs no build backend."""
    source = Path(outlive.__file__).parent
    info = f"outlive-{outlive.__version__}.dist-info"
    files = [one for one in sorted(source.rglob("*")) if one.is_file() and "__pycache__" not in one.parts]
    with zipfile.ZipFile(path, "w") as wheel:
        names = [str(one.relative_to(source.parent)) for one in files]
        for one, name in zip(files, names, strict=True):
            wheel.write(one, name)
        about = {
            "METADATA": f"Metadata-Version: 2.1\nName: outlive\nVersion: {outlive.__version__}\n",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: campaign\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        names += [f"{info}/{name}" for name in (*about, "RECORD")]
        about["RECORD"] = "".join(f"{name},,\n" for name in names)
        for name, text in about.items():
            wheel.writestr(f"{info}/{name}", text)


def lacking(place: Path, wanted: set[str]) -> dict[str, str]:
    """Return which of these kinds of jobs this machine cannot do, with the reasons."""
    tries: dict[str, Callable[[], str | None]] = {
        "sandbox": lambda: bubblewrap.tried(bubblewrap.find(None)),
        "ssh": sshd.missing,
        "slurm": slurm.missing,
        "disk": lambda: _no_mount(place),
    }
    found = {name: tries[name]() for name in sorted(wanted & tries.keys())}
    return {name: why for name, why in found.items() if why is not None}


def _no_mount(place: Path) -> str | None:
    mounts = Mounts(place)
    try:
        mounts("tried", "size=64k,mode=700")
    except pytest.skip.Exception as reason:
        return str(reason)
    finally:
        mounts.close()
    return None
