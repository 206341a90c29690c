"""What a supervisor, or the mirror of a job, knows of the configuration of a caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outlive import parts
from outlive.config import Config


def for_request(config: Config, env: Mapping[str, str], shell: Sequence[str]) -> dict[str, Any]:
    """Return values of a request (supervisor/request.py). `shell`: the words that run notification commands."""
    return {
        "sink_shell": list(shell),
        "bounds": config.bounds(),
        "own": config.own_paths(env),
        "parts": parts.for_supervisor(config, env),
    }
