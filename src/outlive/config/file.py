"""Load the file of the configuration, and the variables, which win over it: ours, and OpenClaw's. Check the values, and word
the errors. Without file and variables this is not loaded."""

from __future__ import annotations

import os
import shlex
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, cast

from outlive import limits, parts
from outlive.config import DURATION, DURATION_OR_0, KEYS, PATH, PATHS, STRINGS, TABLES, Config, Setting
from outlive.core.nearest import meant, nearest
from outlive.core.object_reference import resolve_name
from outlive.core.records import LOCAL
from outlive.core.units import byte_count, duration_ms
from outlive.errors import OutliveError, misconfigured
from outlive.system import fds


def load(env: Mapping[str, str], path: str, given: list[str], *, must_exist: bool) -> Config:
    """Return what the file at `path` and the variables `given` say. Errors: config_error."""
    values, ignored = _of_openclaw(env)
    text = _text(path, must_exist=must_exist)
    found = None
    if text is not None:
        values |= values_in(text, path)
        # Absolute, whatever named it: what is hidden from jobs is looked up from other directories
        found = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    values |= _of_ours(env, given)
    config = Config(values, found, ignored)
    _check_whole(config, path)
    return config


def _text(path: str, *, must_exist: bool) -> bytes | None:
    """Return the content of the configuration file; None if there is none. Errors: config_error."""
    # Where nobody named it, a FIFO is not waited for: who can write to the directory would hold every call up
    no_wait = 0 if must_exist else os.O_NONBLOCK
    try:
        with open(fds.open_named(path, no_wait), "rb") as file:
            if no_wait and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise misconfigured(f"{path} is a FIFO, and no file", "Name an existing file with --config.")
            text = file.read(limits.MAX_CONFIG_BYTES + 1)
        if len(text) > limits.MAX_CONFIG_BYTES:
            hint = "Make it smaller, or name another one with --config."
            raise misconfigured(f"{path} is larger than {limits.MAX_CONFIG_BYTES:,} bytes", hint)
        return text
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise misconfigured(f"no configuration file at {path}", "Name an existing file with --config.") from error
    except OSError as error:
        raise misconfigured(f"while reading {path}: {error.strerror}") from error


def values_in(text: bytes, path: str) -> dict[tuple[str, str], object]:
    """Return what the text of the file at `path` sets. Errors: config_error."""
    try:
        written = text.decode("utf-8")
        tables = tomllib.loads(written)
    except tomllib.TOMLDecodeError as error:
        raise misconfigured(_not_toml(path, written, str(error))) from error
    except ValueError as error:  # it is not UTF-8, or has a number of thousands of digits
        raise misconfigured(f"{path} is not TOML: {error}") from error
    except RecursionError as error:
        raise misconfigured(f"{path} is nested too deeply") from error
    values: dict[tuple[str, str], object] = {}
    for section, entries in tables.items():
        if section not in known():
            raise _unknown(f"section [{section}]", section, list(known()), _place(path, written, section))
        if not isinstance(entries, dict):
            raise misconfigured(f"{_place(path, written, section)}: {section} is a section; write [{section}]")
        for key, value in entries.items():
            values[section, key] = _value(section, key, value, path, written)
    return values


def _value(section: str, key: str, value: object, path: str, written: str) -> object:
    """Return the value of a key as it is used. `path`, `written`: of the file, and its text. Errors: config_error."""
    where = _place(path, written, section, key)
    keys = known()[section]
    if key in keys and keys[key].kind == TABLES:
        return _tables(f"{section}.{key}", value, path, written, where)
    if section in parts.TABLES:
        check = _loaded(section, (part.sections.get(section) for part in parts.every()))
        return check(key, value, _place(path, written, f"{section}.{key}"))
    if section == "programs":
        if not isinstance(value, str) or not os.path.isabs(value) or "/" in key:
            raise misconfigured(f"{where}: programs.{key} must be the absolute path of a program, not {value!r}")
        return value
    if not keys:
        raise _not_installed(f"[{section}]: the part of outlive that this section is for")
    if key not in keys:
        raise _unknown(f"key {key} in [{section}]", key, list(keys), where)
    return _checked(section, key, value, where)


def _loaded(name: str, named_code: Iterable[str | None]) -> Callable[..., object]:
    """Return what checks the tables of this name. Errors: config_error."""
    code = next(filter(None, named_code), None)
    if code is None:
        raise _not_installed(f"[{name}]: the part of outlive that this section is for")
    check: Callable[..., object] = resolve_name(code)
    return check


def _not_installed(part: str) -> OutliveError:
    return misconfigured(f"{part} is not installed", "Take it out, or install outlive whole.")


def _tables(name: str, value: object, path: str, written: str, where: str) -> tuple[object, ...]:
    """Return what is kept of an array of tables that a part knows. Errors: config_error."""
    check, kept = _loaded(name, (part.tables.get(name) for part in parts.every())), []
    places = zip(_places(name, value, path, written, where), cast("list[object]", value), strict=True)
    for number, (place, entry) in enumerate(places, 1):
        try:
            kept.append(check(entry, name, number))
        except OutliveError as error:
            raise misconfigured(f"{place}: [[{name}]] number {number}: {error.message}", error.hint) from error
    return tuple(kept)


def _places(name: str, value: object, path: str, text: str, where: str) -> list[str]:
    """Return "PATH, line 3" of each table of the array `value`; the path alone where not each begins with its header.
    Errors: config_error."""
    header = f"[[{name}]]"
    if not isinstance(value, list):
        raise misconfigured(f"{where}: {name} is an array of tables; write {header}")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "".join(line.split()).startswith(header)]
    return [f"{path}, line {number}" for number in lines] if len(lines) == len(value) else [path] * len(value)


def _not_toml(path: str, text: str, said: str) -> str:
    """Return what tomllib said, "Invalid value (at line 3, column 5)", with the place first."""
    what, _, place = said.rstrip(")").rpartition(" (at ")
    if place == "end of document":
        lines = text.split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return f"{path}, {place}: {what}" if what else f"{path} is not TOML: {said}"


def _place(path: str, text: str, section: str, key: str | None = None) -> str:
    """Return "PATH, line 3, column 1" of a section or a key in it; the path alone if it is not seen there."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if words.startswith("["):
            inside = words.lstrip("[").partition("]")[0].strip()
        name = ".".join(part.strip(" \t\"'") for part in words.partition("=")[0].split("."))
        wanted = inside == section if key is None else f"{inside}.{name}".lstrip(".") == f"{section}.{key}"
        if wanted or (key is None and not inside and name.partition(".")[0] == section):
            return f"{path}, line {number}, column {len(line) - len(line.lstrip()) + 1}"
    return path


# --- variables ------------------------------------------------------------------------------------


def _of_ours(env: Mapping[str, str], given: Iterable[str]) -> dict[tuple[str, str], object]:
    """Return what our variables set. `given`: those that may configure. Errors: config_error."""
    values: dict[tuple[str, str], object] = {}
    names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, keys in known().items() for k in keys if keys[k].kind != TABLES}
    missing = tuple(f"OUTLIVE_{section}_".upper() for section in parts.SECTIONS if not known()[section])
    for name in given:
        if not name.startswith("OUTLIVE_"):
            continue
        if name.startswith(missing):
            raise _not_installed(f"{name}: the part of outlive that this variable is for")
        if name not in names:
            raise _unknown(f"variable {name}", name, list(names), "the environment")
        section, key = names[name]
        values[section, key] = _checked(section, key, _word(known()[section][key].kind, env[name]), name)
    return values


# What OpenClaw's variables set, with the bounds that it keeps the values in
_OPENCLAW: dict[str, tuple[str, int, int]] = {
    "YIELD_MS": ("background_ms", 10, 120_000),
    "MAX_OUTPUT_CHARS": ("max_output_bytes", 1_000, 200_000),
    "PENDING_MAX_OUTPUT_CHARS": ("pending_max_output_bytes", 1_000, 200_000),
    "JOB_TTL_MS": ("cleanup_ms", 60_000, 10_800_000),
}


def _of_openclaw(env: Mapping[str, str]) -> tuple[dict[tuple[str, str], object], list[str]]:
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
            number = int(env[name].lstrip("0")[:12] or 0)  # int() takes no thousands of digits
            values["exec", key] = min(most, max(least, number))
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


# --- checks ---------------------------------------------------------------------------------------


def _check_whole(config: Config, path: str) -> None:
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


@cache
def known() -> Mapping[str, Mapping[str, Setting]]:
    """Return the keys of each section, with those that parts add; none of a section whose part is not installed, or that has a
    table for each name."""
    keys = {section: {**KEYS.get(section, {})} for section in (*KEYS, *parts.SECTIONS, *parts.TABLES)}
    for part in parts.every():
        for section, code in part.settings.items():
            keys[section] |= resolve_name(code)
    return keys


def _checked(section: str, key: str, value: Any, where: str) -> object:
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
    if kind in (DURATION, DURATION_OR_0):
        _measured(partial(duration_ms, bare_unit=None), value, f"{section}.{key}", where)
    return value


def _measured(read: Callable[[str, str], int], text: str, name: str, where: str) -> int:
    try:
        return read(text, name)
    except OutliveError as error:
        raise misconfigured(f"{where}: {error.message}", error.hint) from error


def _unknown(what: str, word: str, known: list[str], where: str) -> OutliveError:
    """Return the error about a name that is not known, with the name that was probably meant."""
    return misconfigured(f"{where}: unknown {what}", meant(word, known))
