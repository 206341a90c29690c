"""How outlive starts further processes of its own."""

from __future__ import annotations

import os
import sys

import outlive
from outlive.system.paths import is_in

_OURS = os.path.dirname(outlive.DIRECTORY)
_FROM = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def isolated(module: str) -> list[str]:
    """Return the words that run a module of ours so that no directory and no variable decides what is
    imported: a workspace may have a `sitecustomize.py` or an `outlive/`. Where PYTHONPATH has led to
    outlive itself, it is named; where outlive lies among the packages of a user, those are found."""
    if _OURS in map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return [sys.executable, "-I", "-c", _FROM, _OURS, module]
    of_user = getattr(sys.modules.get("site"), "USER_SITE", None)
    return [sys.executable, "-EP" if of_user and is_in(_OURS, [of_user]) else "-I", "-m", module]
