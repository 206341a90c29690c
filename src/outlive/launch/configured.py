"""What a supervisor, or the mirror of a job, knows of the configuration of a caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outlive import parts
from outlive.config import Config
from outlive.system import own_programs


def for_request(config: Config, env: Mapping[str, str], shell: Sequence[str], place: str) -> dict[str, Any]:
    """Return values of a request (supervisor/request.py). `shell`: the words that run notification commands; `place`: the
    directory of this machine that the job belongs to."""
    return {
        "sink_shell": list(shell),
        "bounds": config.bounds(),
        "own": config.own_paths(env),
        "parts": parts.for_supervisor(config, env),
        "config": config.path,
        "known": own_programs.known(place),
    }
