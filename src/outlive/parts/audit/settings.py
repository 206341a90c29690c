"""[audit] of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlive.config import Config, Setting
from outlive.core.base_directories import state_directory
from outlive.core.record import Value
from outlive.parts.audit import AUDIT
from outlive.parts.audit.record import OFF, PLACES, AuditTarget

KEYS = {
    # Where it is recorded who did what. Not recorded unless asked for, because the record keeps commands when their jobs
    # are deleted
    "to": Setting("|".join(PLACES), OFF),
    "required": Setting("boolean", False),  # what cannot be recorded is not done
    "max_bytes": Setting("integer", 16 * 1024**2, least=65_536),  # of one file
    "files": Setting("integer", 8, least=1),  # that are kept
}


class Settings(Value):
    """The values in force."""

    to: str
    required: bool
    max_bytes: int
    files: int


def of(config: Config) -> Settings:
    """Return the values in force."""
    defaults: dict[str, Any] = {key: setting.default for key, setting in KEYS.items()}
    return Settings(**{**defaults, **config.set_in(AUDIT)})


def target(config: Config, env: Mapping[str, str]) -> AuditTarget | None:
    """Return where acts are recorded, None if they are not."""
    settings = of(config)
    return None if settings.to == OFF else AuditTarget(directory=state_directory(env), **vars(settings))


def for_supervisor(config: Config, env: Mapping[str, str]) -> dict[str, object] | None:
    """Return what a supervisor needs to record ends; None if they are not recorded."""
    found = target(config, env)
    return None if found is None else found.to_dict()
