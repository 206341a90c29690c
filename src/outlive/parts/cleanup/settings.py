"""[gc] of the configuration."""

from __future__ import annotations

from typing import Any

from outlive import limits
from outlive.config import DURATION, Config, Setting
from outlive.core.units import duration_ms
from outlive.parts.cleanup import GC
from outlive.parts.cleanup.bounds import Bounds

KEYS = {
    "older_than": Setting(DURATION, limits.GC_OLDER_THAN),
    "max_jobs": Setting("integer"),
    "max_bytes": Setting("integer"),
    # Of the file system that the job root is on; 0: no limit
    "max_percent": Setting("number", limits.GC_MAX_PERCENT, most=100),
    # The other settings of this section are enforced without a call of gc
    "automatic": Setting("boolean", True),
}
_MOST = ("max_jobs", "max_bytes", "max_percent")


def value(config: Config, key: str) -> Any:
    """Return the value in force of a key."""
    return config.set_in(GC).get(key, KEYS[key].default)


def for_supervisor(config: Config) -> dict[str, object] | None:
    """Return what a supervisor keeps to; None if it deletes nothing."""
    found = bounds(config)
    return None if found is None else found.to_dict()


def bounds(config: Config) -> Bounds | None:
    """Return what automatic gc enforces: the share of the file system, and what was set. None for nothing."""
    if not value(config, "automatic"):
        return None
    older_than_s = None
    if config.is_set(GC, "older_than"):
        older_than_s = duration_ms(value(config, "older_than"), "gc.older_than", bare_unit=None) / 1000
    most = {key: value(config, key) or None for key in _MOST}  # 0: no limit
    found = Bounds(older_than_s=older_than_s, **most)
    return None if found == Bounds() else found
