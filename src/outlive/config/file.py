"""Read the configuration file. A process loads this module only if there is one."""

from __future__ import annotations

import tomllib

from outlive.config import KEYS
from outlive.config.checks import RENAMED, checked, mistake, set_renamed, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.policy.rules import Rule


def values_in(text: bytes, path: str) -> dict[tuple[str, str], Any]:
    """Return what the text of the file at `path` sets. Errors: config_error."""
    try:
        written = text.decode("utf-8")
        found = tomllib.loads(written)
    except UnicodeDecodeError as error:
        raise mistake(f"{path} is not TOML: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise mistake(_not_toml(path, text.decode("utf-8"), str(error))) from error
    values: dict[tuple[str, str], Any] = {}
    for section, entries in found.items():
        if section not in KEYS:
            raise unknown(f"section [{section}]", section, list(KEYS), _place(path, written, section))
        if not isinstance(entries, dict):
            raise mistake(f"{_place(path, written, section)}: {section} is a section; write [{section}]")
        for key, value in entries.items():
            where = _place(path, written, section, key)
            if (section, key) == ("policy", "rule"):
                values[section, key] = _rules(value, path, written, where)
            elif section == "hosts":
                where = _place(path, written, f"hosts.{key}")
                from outlive.core import host_settings  # late: few people have one

                values[section, key] = host_settings.checked(key, value, where)
            else:
                _set(values, section, key, value, where)
    return values


def _set(values: dict[tuple[str, str], Any], section: str, key: str, value: Any, where: str) -> None:
    """Set a key as the file has it. Errors: config_error."""
    if (section, key) in RENAMED:
        set_renamed(values, section, key, value, where)
    elif key not in KEYS[section]:
        raise unknown(f"key {key} in [{section}]", key, list(KEYS[section]), where)
    else:
        values[section, key] = checked(section, key, value, where)


def _rules(value: Any, path: str, text: str, where: str) -> list[Rule]:
    """Return the rules of a policy. Errors: config_error."""
    from outlive.policy import rules  # late: most people have none

    if not isinstance(value, list):
        raise mistake(f"{where}: policy.rule is an array of tables; write [[policy.rule]]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "".join(line.split()).startswith(_RULE)]
    return rules.parsed(value, lambda index: f"{path}, line {lines[index]}" if len(lines) == len(value) else path)


_RULE = "[[policy.rule]]"


def _not_toml(path: str, text: str, said: str) -> str:
    """Return what tomllib said, "Invalid value (at line 3, column 5)", with file, line and column
    first."""
    what, _, place = said.rstrip(")").rpartition(" (at ")
    if place == "end of document":
        lines = text.split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return f"{path}, {place}: {what}" if what else f"{path} is not TOML: {said}"


def _place(path: str, text: str, section: str, key: str | None = None) -> str:
    """Return "PATH, line 3, column 1" of a section or of a key in it; the path alone if it is
    written in an unusual way."""
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
