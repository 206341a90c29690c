"""The shell that runs a command string of a model."""

from __future__ import annotations

import os
from collections.abc import Mapping

_USUAL = ("/bin", "/usr/bin", "/usr/local/bin")


def for_models(env: Mapping[str, str]) -> tuple[str, str]:
    """Return the words that run a shell string: bash, for which every model writes, else sh."""
    if any(map(_runs, filter(None, env.get("PATH", "").split(os.pathsep)))):
        return "bash", "-c"
    usual = next((folder for folder in _USUAL if _runs(folder)), None)  # a client may give no PATH
    return ("sh", "-c") if usual is None else (f"{usual}/bash", "-c")


def _runs(folder: str) -> bool:
    path = os.path.join(folder, "bash")
    return os.path.isfile(path) and os.access(path, os.X_OK)
