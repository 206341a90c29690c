"""How a process of ours starts another one: with an interpreter of its own, and none of the caller's environment."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

import outlive


def argv_of(module: str, function: str, place: str, before: str = "") -> list[str]:
    """Return the argv of an interpreter that runs the code `before`, and then calls this function of a module of ours.
    `place`: the directory or archive with our code.

    It starts without `site`, which costs 5 ms; the few libraries that a supervisor may need stand
    last on its path.
    """
    code = (
        f"{before}import os, sys\n"
        "sys.path[:0] = [sys.argv[1]]\n"
        "sys.path += sys.argv[3].split(os.pathsep)\n"
        "import outlive\n"
        "outlive.DIRECTORY = sys.argv[2]\n"
        f"from {module} import {function}\n{function}()\n"
    )
    # A virtual environment may be gone by now (`pipx uninstall`); the Python that it was made of is
    # the same
    python = sys.executable if os.path.exists(sys.executable) else sys._base_executable  # type: ignore[attr-defined]
    return [python, "-I", "-S", "-c", code, place, outlive.DIRECTORY, _libraries()]


def _libraries() -> str:
    """Return the directories of RE2 (for a job with a watch) and pyte (for a terminal that is asked
    for its cursor), joined as in PATH."""
    places = []
    for name in ("re2", "pyte", "wcwidth"):
        spec = PathFinder.find_spec(name)
        if spec is None or not spec.origin:
            continue
        place = os.path.dirname(os.path.abspath(spec.origin))
        place = os.path.dirname(place) if spec.submodule_search_locations else place
        if place not in places:
            places.append(place)
    return os.pathsep.join(places)
