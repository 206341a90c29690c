"""[policy] of the configuration."""

from __future__ import annotations

from typing import Any

from outlive.config import DURATION_OR_0, TABLES, Config, Setting
from outlive.core.units import duration_ms
from outlive.parts.policy import POLICY
from outlive.parts.policy.decide import Policy
from outlive.parts.policy.rules import DECISIONS

_DEFAULT = 'Say what happens to commands that no rule decides: default = "allow", "ask" or "deny".'
KEYS = {
    "default": Setting("|".join(DECISIONS), needed=_DEFAULT),
    "ask_timeout": Setting(DURATION_OR_0, "1h"),  # 0: what asks is denied
    "rule": Setting(TABLES, ()),  # rules.py, in the file alone
}


def policy_of(config: Config) -> Policy | None:
    """Return the policy for commands; None where none is configured."""
    if not config.has(POLICY):
        return None
    set_: dict[str, Any] = {key: setting.default for key, setting in KEYS.items()} | config.set_in(POLICY)
    return Policy(set_["default"], duration_ms(set_["ask_timeout"], f"{POLICY}.ask_timeout"), set_["rule"])
