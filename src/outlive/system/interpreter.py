"""How outlive starts further processes of its own: with an interpreter of their own, and none of the caller's environment."""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import PathFinder

import outlive
from outlive.core.real_path import real_path
from outlive.system.paths import as_listed, is_in

_OURS = os.path.dirname(outlive.DIRECTORY)
# In the place of what Python does before the first line of a program (it is started with -S). A project beside outlive in
# one environment has a `.pth`, which names a workspace: a job writes the `sitecustomize.py` there that Python would run.
# Only that of outlive itself is read, as hatchling names it where outlive is a project of that kind, and there the file that
# measures which lines are run (coverage). OpenSSL would load libraries that its configuration
# names; jobs get the variables all the same. This stands in packaging/outlive and in inside_allocation.sh too
SITE = """\
import os, site, sys
for name in ("OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"):
    os.unsetenv(name)
taken = site.addpackage
ours = "_editable_impl_outlive.pth"
def is_ours(folder, name):
    return name == ours or (name == "a1_coverage.pth" and ours in os.listdir(folder))
site.addpackage = lambda folder, name, known: taken(folder, name, known) if is_ours(folder, name) else known
site.execsitecustomize = site.execusercustomize = lambda: None
site.main()
"""
_RUN = SITE + "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
_RUN_FROM = SITE + "sys.path.append(sys.argv.pop(1))\n" + _RUN.removeprefix(SITE)


def installed() -> list[str]:
    """Return the directories of outlive and of its Python, also of the Python that its environment was made of."""
    archives = (os.path.dirname(path) for path in sys.path if path.endswith(".zip"))  # which need not be there
    return [*dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, _OURS, *archives))]


@functools.cache
def code() -> tuple[str, ...]:
    """Return the directories that processes of outlive load code from: of its Python, of packages, of outlive itself, and
    those of its programs. Without links. What a `.pth` or PYTHONPATH adds is none of them."""
    places = [path for path in sys.path if os.path.isabs(path) and path.endswith(("/site-packages", "/dist-packages"))]
    places += map(os.path.dirname, (os.__file__, sys.executable, real_path(sys.executable)))
    places.append(outlive.DIRECTORY)
    return tuple(dict.fromkeys(as_listed(real_path(path)) for path in places))


def words(python: str, flags: str, module: str) -> list[str]:
    """Return the words with which an interpreter runs a module of ours, and nothing else before it."""
    return [python, flags, "-S", "-c", _RUN, module]


def isolated(module: str) -> list[str]:
    """Return the words that run a module of ours so that no directory and no variable decides what is
    imported: a workspace may have a `sitecustomize.py` or an `outlive/`. Where PYTHONPATH has led to
    outlive itself, it is named; where outlive lies among the packages of a user, those are found."""
    if _OURS in map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return [sys.executable, "-I", "-S", "-c", _RUN_FROM, _OURS, module]
    return words(sys.executable, _flags(), module)


def _flags() -> str:
    of_user = getattr(sys.modules.get("site"), "USER_SITE", None)
    return "-EP" if of_user and is_in(_OURS, [of_user]) else "-I"


def without_site(module: str, function: str, place: str, before: str = "") -> list[str]:
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
