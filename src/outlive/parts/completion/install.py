"""Write the completion script of a shell where that shell looks for it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.core.base_directories import base_directory
from outlive.errors import invalid
from outlive.parts.completion.scripts import SCRIPTS
from outlive.parts.safe_file import ConfigFile

_ZSH = "Add this to ~/.zshrc, before compinit: fpath=({} $fpath)"
_BASH = "A new shell completes, where the package bash-completion is installed."
_FISH = "A new shell completes."


def install(shell: str | None, env: Mapping[str, str]) -> str:
    """Write it, and return what to tell the person. `shell` None: the one of $SHELL. Errors: invalid_argument,
    io_error."""
    shell = shell or os.path.basename(env.get("SHELL", ""))
    if shell not in SCRIPTS:
        raise invalid("shell", f"name the shell: {', '.join(SCRIPTS)}", usage=True)
    data = base_directory(env, "XDG_DATA_HOME", ".local", "share")
    config = base_directory(env, "XDG_CONFIG_HOME", ".config")
    path, then = {
        "bash": (os.path.join(data, "bash-completion", "completions", "outlive"), _BASH),
        "zsh": (os.path.join(data, "zsh", "site-functions", "_outlive"), _ZSH),
        "fish": (os.path.join(config, "fish", "completions", "outlive.fish"), _FISH),
    }[shell]
    file = ConfigFile(path, shared=True)
    file.write(file.read(), SCRIPTS[shell].encode(), keep=False)
    return f"{path}\n{then.format(os.path.dirname(path))}\n"
