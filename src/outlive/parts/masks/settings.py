"""[mcp] of the configuration."""

from __future__ import annotations

from outlive.config import Config, Setting
from outlive.parts.masks import MCP

# All secrets that are known, the values of variables, or none
ALL, NAMED, NONE = "all", "named", "none"
KEYS = {"mask": Setting(f"{ALL}|{NAMED}|{NONE}", ALL)}


def mode(config: Config) -> str:
    """Return which secrets are masked."""
    return str(config.set_in(MCP).get("mask", ALL))
