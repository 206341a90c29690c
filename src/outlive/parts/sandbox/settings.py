"""[sandbox] of the configuration."""

from __future__ import annotations

from collections.abc import Sequence

from outlive.config import PATH, PATHS, STRINGS, Config, Setting
from outlive.core.record import Value
from outlive.core.records import GIT, LOCAL, NETWORKS, SANDBOXES
from outlive.parts.sandbox.confinement import bubblewrap

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


class Settings(Value):
    """What is set there. What is None or empty was not set."""

    mode: str | None = None
    ceiling: str | None = None
    network: str | None = None
    network_ceiling: str | None = None
    git: str | None = None
    git_ceiling: str | None = None
    write: Sequence[str] = ()
    hide: Sequence[str] = ()
    show: Sequence[str] = ()
    environment: Sequence[str] = ()
    bwrap: str | None = None


def sandbox_of(config: Config, host: str | None = None) -> Settings:
    """Return [sandbox] for the jobs of a host (None: this machine), whose own settings are default and most."""
    settings = Settings(**config.set_in("sandbox"))
    own = config.hosts().get(host or LOCAL)
    if own is not None and own.sandbox is not None:
        settings = settings.changed(mode=own.sandbox, ceiling=None)
    if own is not None and own.network is not None:
        settings = settings.changed(network=own.network, network_ceiling=None)
    return settings


def can_sandbox(config: Config) -> bool:
    """Return whether a sandbox can be made here, as far as files tell."""
    return bubblewrap.can_work(config.set_in("sandbox").get("bwrap"))
