"""Read the variables that configure: ours, and OpenClaw's. Without one this is not loaded."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from outlive.config import KEYS, PATHS, STRINGS, TABLES
from outlive.config.checks import checked, unknown
from outlive.core.nearest import nearest


def of_ours(env: Mapping[str, str], given: Iterable[str]) -> dict[tuple[str, str], object]:
    """Return what our variables set. `given`: those that may configure. Errors: config_error."""
    values: dict[tuple[str, str], object] = {}
    names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, keys in KEYS.items() for k in keys if keys[k][0] != TABLES}
    for name in given:
        if not name.startswith("OUTLIVE_"):
            continue
        if name not in names:
            raise unknown(f"variable {name}", name, list(names), "the environment")
        section, key = names[name]
        values[section, key] = checked(section, key, _word(KEYS[section][key][0], env[name]), name)
    return values


# What OpenClaw's variables set, with the bounds that it keeps the values in
_OPENCLAW: dict[str, tuple[str, int, int]] = {
    "YIELD_MS": ("background_ms", 10, 120_000),
    "MAX_OUTPUT_CHARS": ("max_output_bytes", 1_000, 200_000),
    "PENDING_MAX_OUTPUT_CHARS": ("pending_max_output_bytes", 1_000, 200_000),
    "JOB_TTL_MS": ("cleanup_ms", 60_000, 10_800_000),
}


def of_openclaw(env: Mapping[str, str]) -> tuple[dict[tuple[str, str], object], list[str]]:
    """Return the defaults that OpenClaw's variables for its own tools set, and a sentence about each
    that means nothing. Like OpenClaw, ignore a value that is no number, and limit a number that is
    out of bounds."""
    values: dict[tuple[str, str], object] = {}
    ignored: list[str] = []
    for suffix, (key, least, most) in _OPENCLAW.items():
        # The second is the old name
        name = next((one for one in (f"OPENCLAW_BASH_{suffix}", f"PI_BASH_{suffix}") if env.get(one)), None)
        if name is None:
            continue
        if env[name].isascii() and env[name].isdigit():
            values["exec", key] = min(most, max(least, int(env[name])))
        else:
            ignored.append(f"{name} is {env[name]!r}, which is not a whole number: it is ignored")
    return values, ignored + _misspelt(env)


def _misspelt(env: Mapping[str, str]) -> list[str]:
    """Return a sentence about each variable that is nearly one of these. OpenClaw may have others."""
    known = [f"{prefix}{suffix}" for prefix in ("OPENCLAW_BASH_", "PI_BASH_") for suffix in _OPENCLAW]
    others = sorted(name for name in env if name.startswith(("OPENCLAW_BASH_", "PI_BASH_")) and name not in known)
    meant = {name: nearest(name, known) for name in others}
    return [f"{name} is ignored: {near} may be meant" for name, near in meant.items() if near]


def _word(kind: str, text: str) -> object:
    """Return the value that the text of an environment variable means for a key of this kind."""
    if kind in (STRINGS, PATHS):
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
