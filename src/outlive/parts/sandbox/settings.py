"""[sandbox] of the configuration."""

from __future__ import annotations

from typing import Any

from outlive.config import PATH, PATHS, STRINGS, Config, Setting
from outlive.core.records import GIT, LOCAL, NETWORKS, SANDBOXES

KEYS = {
    "mode": Setting("|".join(SANDBOXES)),
    "ceiling": Setting("|".join(SANDBOXES)),
    "network": Setting("|".join(NETWORKS)),
    "network_ceiling": Setting("|".join(NETWORKS)),
    "git": Setting("|".join(GIT)),
    "git_ceiling": Setting("|".join(GIT)),
    "write": Setting(PATHS),
    "hide": Setting(PATHS),
    "show": Setting(PATHS),
    "environment": Setting(STRINGS),
    "bwrap": Setting(PATH),
}


def sandbox_of(config: Config, host: str | None = None) -> dict[str, Any]:
    """Return [sandbox] for the jobs of a host (None: this machine), whose own settings are default and most."""
    settings = {**dict.fromkeys(KEYS), **config.set_in("sandbox")}
    own = config.hosts().get(host or LOCAL)
    if own is not None and own.sandbox is not None:
        settings |= {"mode": own.sandbox, "ceiling": None}
    if own is not None and own.network is not None:
        settings |= {"network": own.network, "network_ceiling": None}
    return settings
