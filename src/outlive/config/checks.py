"""Check the values of the configuration, and word the errors. Without a configuration this is not loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from outlive import limits, parts
from outlive.config import DURATION, DURATION_OR_0, KEYS, PATH, PATHS, STRINGS, Config, Setting
from outlive.core.nearest import meant
from outlive.core.place import resolve_name
from outlive.core.records import LOCAL
from outlive.core.units import byte_count, duration_ms
from outlive.errors import OutliveError, misconfigured


def check_whole(config: Config, path: str) -> None:
    """Check what can be judged only when everything was read. Errors: config_error."""
    for section in filter(config.has, parts.SECTIONS):
        for key, setting in known()[section].items():
            if setting.needed and not config.is_set(section, key):
                raise misconfigured(f"{path}: [{section}] has no {key}", setting.needed)
    if config.is_set("exec", "host"):
        _check_host(config, path)


def _check_host(config: Config, path: str) -> None:
    """Check that the host of jobs that name none exists. Errors: config_error."""
    name, known = config.get("exec", "host"), [LOCAL, *config.hosts()]
    if name not in known:
        hint = meant(name, known, f"Known: {', '.join(known)}. A host has a section [hosts.NAME].")
        raise misconfigured(f"{path}: exec.host names no host: {name!r}", hint)


# Least and most of numbers, where that is not 0 and any
_RANGES: dict[tuple[str, str], tuple[int | None, int | None]] = {
    ("exec", "timeout_sec"): (None, limits.MAX_DURATION_MS // 1000),
    ("gc", "max_percent"): (None, 100),
}


@cache
def known() -> Mapping[str, Mapping[str, Setting]]:
    """Return the keys of each section, with those that parts add; none of a section whose part is not installed, or that has a
    table for each name."""
    keys: dict[str, dict[str, Setting]] = {section: {} for section in (*KEYS, *parts.SECTIONS, *parts.TABLES)}
    for section, own in KEYS.items():
        keys[section] = {key: Setting(*about, *_RANGES.get((section, key), ())) for key, about in own.items()}
    for part in parts.every():
        for section, place in part.settings.items():
            keys[section] |= resolve_name(place)
    return keys


def checked(section: str, key: str, value: Any, where: str) -> object:
    """Return the value of a key as it is used. Errors: config_error."""
    setting = known()[section][key]
    kind, least, most = setting.kind, setting.least, setting.most
    if kind == DURATION_OR_0 and value in (0, "0") and not isinstance(value, bool):
        return "0"
    if key.endswith("_bytes") and isinstance(value, str):
        value = _measured(byte_count, value, f"{section}.{key}", where)
    good = {
        STRINGS: isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value),
        "integer": isinstance(value, int) and not isinstance(value, bool) and value >= 0,
        "number": isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0,
        "boolean": isinstance(value, bool),
        **dict.fromkeys(("string", DURATION, DURATION_OR_0), isinstance(value, str)),
        PATH: isinstance(value, str) and os.path.isabs(value),
        PATHS: isinstance(value, list) and all(isinstance(one, str) and one.startswith(("/", "~/")) for one in value),
    }.get(kind, value in kind.split("|"))
    if not good:
        raise misconfigured(f"{where}: {section}.{key} must be {kind.replace('|', ' or ')}, not {value!r}")
    if (section, key) == ("exec", "quota_bytes") and 0 < value < limits.MIN_QUOTA_BYTES:
        raise misconfigured(
            f"{where}: exec.quota_bytes is at least {limits.MIN_QUOTA_BYTES}, or 0 (no quota), not {value}"
        )
    if least is not None and value < least:
        raise misconfigured(f"{where}: {section}.{key} is at least {least}, not {value}")
    if most is not None and value > most:
        raise misconfigured(f"{where}: {section}.{key} is at most {most}, not {value}")
    if (section, key) == ("serve", "workdir") and not os.path.isabs(value):
        raise misconfigured(f"{where}: serve.workdir is an absolute path, not {value!r}")
    if kind in (DURATION, DURATION_OR_0):
        _measured(partial(duration_ms, bare_unit=None), value, f"{section}.{key}", where)
    return value


def _measured(read: Callable[[str, str], int], text: str, name: str, where: str) -> int:
    try:
        return read(text, name)
    except OutliveError as error:
        raise misconfigured(f"{where}: {error.message}", error.hint) from error


def unknown(what: str, word: str, known: list[str], where: str) -> OutliveError:
    """Return the error about a name that is not known, with the name that was probably meant."""
    return misconfigured(f"{where}: unknown {what}", meant(word, known))
