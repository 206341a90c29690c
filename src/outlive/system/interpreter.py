"""How outlive starts further processes of its own."""

from __future__ import annotations

import os
import sys

from outlive.system.paths import is_in

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def isolated(module: str) -> list[str]:
    """Return the words that run a module of ours, with a clean slate: no directory and no variable
    decides what is imported, since a workspace may have a `sitecustomize.py` or an `outlive/`. Where
    outlive itself lies in the directory for the packages of a user, those are found."""
    of_user = getattr(sys.modules.get("site"), "USER_SITE", None)
    return [sys.executable, "-EP" if of_user and is_in(_OURS, [of_user]) else "-I", "-m", module]
