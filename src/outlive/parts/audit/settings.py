"""[audit] of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.config import Config, state_directory
from outlive.parts.audit.record import OFF, AuditTarget


def target(config: Config, env: Mapping[str, str]) -> AuditTarget | None:
    """Return where acts are recorded, None if they are not."""
    to = config.get("audit", "to")
    if to == OFF:
        return None
    bounds = {key: config.get("audit", key) for key in ("required", "max_bytes", "files")}
    return AuditTarget(to=to, directory=state_directory(env), **bounds)
