"""The base directories of a user: the home, and what the XDG Base Directory Specification defines."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping


def home(env: Mapping[str, str]) -> str:
    """Return `HOME`; if that is no absolute path, the home in the password database, or `/nonexistent`."""
    for given in (env, os.environ):
        if os.path.isabs(given.get("HOME", "")):
            return given["HOME"]
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/nonexistent"


def base_directory(env: Mapping[str, str], variable: str, *usual: str) -> str:
    """Return the directory that `variable` names, else its usual place below the home. A relative
    path is ignored, as the XDG Base Directory Specification wants it."""
    base = env.get(variable, "")
    return base if os.path.isabs(base) else os.path.join(home(env), *usual)


def state_directory(env: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/outlive`, else `~/.local/state/outlive`: no job root is in it."""
    return os.path.join(base_directory(env, "XDG_STATE_HOME", ".local", "state"), "outlive")
