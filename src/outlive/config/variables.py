"""Read the variables that configure: ours, and OpenClaw's for its own tools. A process loads this
module only if one of them is set.
"""

from __future__ import annotations

from outlive.config import KEYS, PATHS, RULES, STRINGS
from outlive.config.checks import RENAMED, checked, set_renamed, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def of_ours(env: Mapping[str, str], given: Iterable[str]) -> dict[tuple[str, str], Any]:
    """Return what our variables set; `given` are the names of those that may configure. Errors:
    config_error."""
    values: dict[tuple[str, str], Any] = {}
    names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, keys in KEYS.items() for k in keys if keys[k][0] != RULES}
    old_names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, k in RENAMED}
    for name in given:
        if not name.startswith("OUTLIVE_"):
            continue
        text = env[name]
        if name in old_names:
            set_renamed(values, *old_names[name], text, name)
            continue
        if name not in names:
            raise unknown(f"variable {name}", name, list(names), "the environment")
        section, key = names[name]
        values[section, key] = checked(section, key, _word(KEYS[section][key][0], text), name)
    return values


# What OpenClaw's variables set, with the bounds that it keeps the values in
_OPENCLAW: dict[str, tuple[str, int, int]] = {
    "YIELD_MS": ("background_ms", 10, 120_000),
    "MAX_OUTPUT_CHARS": ("max_output_bytes", 1_000, 200_000),
    "PENDING_MAX_OUTPUT_CHARS": ("pending_max_output_bytes", 1_000, 200_000),
    "JOB_TTL_MS": ("cleanup_ms", 60_000, 10_800_000),
}


def of_openclaw(env: Mapping[str, str]) -> dict[tuple[str, str], Any]:
    """Return the defaults that OpenClaw's variables for its own tools set. Like OpenClaw, ignore a
    value that is no number, and limit a number that is out of bounds."""
    values: dict[tuple[str, str], Any] = {}
    for name, (key, least, most) in _OPENCLAW.items():
        text = env.get(f"OPENCLAW_BASH_{name}") or env.get(f"PI_BASH_{name}") or ""  # the second is the old name
        if text.isdigit():
            values["exec", key] = min(most, max(least, int(text)))
    return values


def _word(kind: str, text: str) -> Any:
    """Return the value that the text of an environment variable means for a key of this kind."""
    if kind in (STRINGS, PATHS):
        import shlex

        try:
            return shlex.split(text)
        except ValueError:  # an unclosed quote
            return text
    if kind == "boolean":
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(text.lower(), text)
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return text
    return text
