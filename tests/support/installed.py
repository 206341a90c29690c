"""An installation of the package that a test may update or remove while jobs and servers of it run."""

from __future__ import annotations

import compileall
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import outlive

_LIBRARIES = ("re2", "pyte", "wcwidth")  # what a supervisor may import besides

_MADE_UP = """
NAMES, IN_SUPERVISOR, KEEPERS = (*NAMES, "made_up"), (*IN_SUPERVISOR, "made_up"), {**KEEPERS, "made_up": "made_up"}
"""


class Installed:
    """A copy below `place`: `command` runs its server, `env` makes the command line of a call its own. `libraries`: with
    what a supervisor may import besides."""

    def __init__(self, place: Path, *, libraries: bool = False) -> None:
        self._site = place / "site"
        self.package = self._site / "outlive"
        # Another test may be writing bytecode now
        ignore = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(Path(outlive.__file__).parent, self.package, ignore=ignore)
        for name in _LIBRARIES if libraries else ():
            self._copy(name)
        compileall.compile_dir(self._site, quiet=2)
        self.env = {"PYTHONPATH": str(self._site)}
        self.command = [sys.executable, "-m", "outlive"]

    def add_part(self, declaration: str, in_supervisor: str) -> None:
        """Add a part with the name made_up, which does something in the supervisor of a job with such a member."""
        folder = self.package / "parts" / "made_up"
        folder.mkdir()
        (folder / "__init__.py").write_text(declaration, encoding="utf-8")
        (folder / "in_supervisor.py").write_text(in_supervisor, encoding="utf-8")
        with (self.package / "parts" / "__init__.py").open("a", encoding="utf-8") as file:
            file.write(_MADE_UP)

    def _copy(self, name: str) -> None:
        spec = PathFinder.find_spec(name)
        assert spec is not None and spec.origin
        found = Path(spec.origin)
        if spec.submodule_search_locations:
            shutil.copytree(found.parent, self._site / name)
        else:
            shutil.copy2(found, self._site)

    def change(self, how: str) -> None:
        """removed: with all that came with it, as by `pipx uninstall`. replaced: by a version that cannot be imported."""
        if how == "removed":
            shutil.rmtree(self._site)
            return
        new = self._site / "new"
        shutil.copytree(self.package, new, ignore=shutil.ignore_patterns("__pycache__"))
        for path in new.rglob("*.py"):
            path.write_text("raise ImportError('this is the new version')\n", encoding="utf-8")
        (new / "__init__.py").write_text("__version__ = '99.0'\n", encoding="utf-8")
        shutil.rmtree(self.package)
        new.rename(self.package)
