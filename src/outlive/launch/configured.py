"""What a supervisor, or the mirror of a job, knows of the configuration of a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlive import parts
from outlive.core.records import Definition
from outlive.system import own_programs

if TYPE_CHECKING:
    from outlive.launch.engine import Caller


def for_request(caller: Caller, definition: Definition, *, elsewhere: bool = False) -> dict[str, Any]:
    """Return values of a request (supervisor/request.py). `elsewhere`: its process looks for the shell that runs notification
    commands itself."""
    config, env, shell = caller.config, caller.env, definition.shell or caller.shell
    return {
        "sink_shell": [*shell] if elsewhere else own_programs.shell(shell, env),
        "housekeeping": parts.first("housekeeping", config),
        "own": config.own_paths(env),
        "parts": parts.for_supervisor(config, env),
        "config": config.path,
        "known": own_programs.known(definition.local_cwd),
    }
