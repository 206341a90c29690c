"""The configuration: a flag wins over the environment, that over config.toml, that over the
default. No tool lets an agent change it.
"""

from __future__ import annotations

import os

from outlive import limits
from outlive.core.records import LOCAL, NETWORKS, SANDBOXES
from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.policy.decide import Policy
    from outlive.policy.rules import Rule

STRINGS = "array of strings"
PATH, PATHS = "absolute path", "array of absolute paths, or of paths below ~/"
RULES = "array of tables"  # [[policy.rule]]: rules of policy/rules.py, in the file alone
_FOREVER_S = limits.MAX_DURATION_MS / 1000
# section → key → (type, default). `OUTLIVE_<SECTION>_<KEY>` in the environment wins over the file.
KEYS: dict[str, dict[str, tuple[str, Any]]] = {
    "shell": {
        "unix": (STRINGS, None),
        "windows": (STRINGS, None),
    },
    "exec": {
        "background_ms": ("integer", limits.YIELD_MS),
        "timeout_sec": ("number", limits.MCP_TIMEOUT_S),
        # Not set: limits.MCP_SHOWN_BYTES over MCP, limits.SHOWN_BYTES on the command line
        "max_output_bytes": ("integer", None),
        "pending_max_output_bytes": ("integer", None),  # not set: as the one above
        "cleanup_ms": ("integer", 1_800_000),
        "quota_bytes": ("integer", limits.QUOTA_BYTES),
        # Each job in a transient scope of its own (systemd.scope(5))
        "systemd_scope": ("boolean", False),
        # Where jobs run that name no host
        "host": ("string", LOCAL),
        # Not set: keep, or kill where exec is the only tool
        "on_cancel": ("keep|kill", None),
        "notify_on_exit": ("boolean", True),
        "notify_on_exit_empty_success": ("boolean", False),
    },
    "serve": {
        "workdir": ("string", None),
    },
    "audit": {
        # Where it is recorded who did what: file, syslog or off. Not recorded unless asked for, because
        # the record keeps commands when their jobs are deleted
        "to": ("file|syslog|off", "off"),
        "required": ("boolean", False),  # what cannot be recorded is not done
        "max_bytes": ("integer", limits.AUDIT_BYTES),
        "files": ("integer", limits.AUDIT_FILES),
    },
    "sandbox": {
        "mode": ("|".join(SANDBOXES), None),
        "ceiling": ("|".join(SANDBOXES), None),
        "network": ("|".join(NETWORKS), None),
        "network_ceiling": ("|".join(NETWORKS), None),
        "write": (PATHS, None),
        "hide": (PATHS, None),
        "show": (PATHS, None),
        "environment": (STRINGS, None),
        "bwrap": (PATH, None),
    },
    "gc": {
        "older_than": ("string", limits.GC_OLDER_THAN),
        "max_jobs": ("integer", None),
        "max_bytes": ("integer", None),
        # The other settings of this section are enforced without a call of gc
        "automatic": ("boolean", True),
    },
    "policy": {
        "default": ("string", None),
        "ask_timeout": ("string", "1h"),
        "rule": (RULES, None),
    },
    "hosts": {},  # [hosts.NAME]: core/host_settings.py, in the file alone
}
# The name that a key had before → (its name now, what the old values mean). The new name wins where
# both are set.
_RENAMED: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("exec", "scope"): ("systemd_scope", {"none": False, "systemd": True}),
}
# Variables of ours that are not configuration: those of jobs, and the root
_OWN = frozenset(
    "OUTLIVE_ROOT OUTLIVE_LOG OUTLIVE_CONFIG OUTLIVE_JOB_ID OUTLIVE_SHELL OUTLIVE_EVENT_PATH OUTLIVE_EVENT_TYPE "
    "OUTLIVE_OWNER OUTLIVE_HUMAN OUTLIVE_MACHINE OUTLIVE_CRASH_AT OUTLIVE_DEBUG_FILE".split()
)


class Config:
    """The values in force: `config.get("exec", "background_ms")`, and where each came from."""

    def __init__(self, values: dict[tuple[str, str], Any], path: str | None) -> None:
        self._values = values
        self.path = path

    def get(self, section: str, key: str) -> Any:
        return self._values.get((section, key), KEYS[section][key][1])

    def has(self, section: str) -> bool:
        """Return whether anything of this section was set."""
        return any(one == section for one, _ in self._values)

    def is_set(self, section: str, key: str) -> bool:
        return (section, key) in self._values

    def hosts(self) -> dict[str, dict[str, Any]]:
        """Return the settings of each host by its name, without `local`, which needs none."""
        return {key: value for (section, key), value in self._values.items() if section == "hosts"}

    def bounds(self) -> dict[str, Any] | None:
        """Return the bounds that automatic collection enforces (store/cleanup/policy.py): those
        that were set, never a default of ours. None if none was set, so that nothing is deleted
        without being asked for."""
        if not self.get("gc", "automatic") or not any(
            self.is_set("gc", key) for key in ("older_than", "max_jobs", "max_bytes")
        ):
            return None
        older_than_s = None
        if self.is_set("gc", "older_than"):
            from outlive.core.units import duration_ms

            older_than_s = duration_ms(self.get("gc", "older_than"), "gc.older_than", bare_unit=None) / 1000
        bounds = {key: self.get("gc", key) or None for key in ("max_jobs", "max_bytes")}  # 0: no limit
        found = {"older_than_s": older_than_s, **bounds}
        return found if any(bound is not None for bound in found.values()) else None

    def policy(self) -> Policy | None:
        """Return the policy for commands; None where none is configured."""
        if not self.has("policy"):
            return None
        from outlive.core.units import duration_ms
        from outlive.policy.decide import Policy

        ask_timeout_ms = duration_ms(self.get("policy", "ask_timeout"), "policy.ask_timeout")
        return Policy(self.get("policy", "default"), ask_timeout_ms, self.get("policy", "rule") or ())

    def audit(self, env: Mapping[str, str]) -> dict[str, Any] | None:
        """Return where acts are recorded (store/audit/record.py), None if they are not."""
        to = self.get("audit", "to")
        if to == "off":
            return None
        bounds = {key: self.get("audit", key) for key in ("required", "max_bytes", "files")}
        return {"to": to, "directory": state_directory(env), **bounds}


def state_directory(env: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/outlive`, else `~/.local/state/outlive`: no job root is in it."""
    base = env.get("XDG_STATE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "outlive")


def default_path(env: Mapping[str, str]) -> str:
    """Return `$XDG_CONFIG_HOME/outlive/config.toml`, else `~/.config/outlive/config.toml`."""
    base = env.get("XDG_CONFIG_HOME")
    if base and os.path.isabs(base):
        return os.path.join(base, "outlive", "config.toml")
    return os.path.join(os.path.expanduser("~"), ".config", "outlive", "config.toml")


def load(env: Mapping[str, str], explicit: str | None = None) -> Config:
    """Return the configuration of this process; `explicit` is the path given by a flag. Errors:
    config_error."""
    path = explicit or env.get("OUTLIVE_CONFIG") or default_path(env)
    values = _from_openclaw(env)
    values.update(_from_file(path, must_exist=bool(explicit or env.get("OUTLIVE_CONFIG"))))
    values.update(_from_env(env))
    found = Config(values, path if os.path.exists(path) else None)
    if found.has("policy") and not found.is_set("policy", "default"):
        raise _error(
            f"{path}: [policy] has no default",
            'Say what happens to commands that no rule decides: default = "allow", "ask" or "deny".',
        )
    if found.is_set("exec", "host"):
        _check_host(found, path)
    return found


def _check_host(found: Config, path: str) -> None:
    """Check that the host of jobs that name none exists. Errors: config_error."""
    name, known = found.get("exec", "host"), [LOCAL, *found.hosts()]
    if name not in known:
        from outlive.core.nearest import nearest  # late: for a mistake alone

        near = nearest(name, known)
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join(known)}. A host has a section [hosts.NAME]."
        raise _error(f"{path}: exec.host names no host: {name!r}", hint)


def _error(message: str, hint: str | None = None) -> OutliveError:
    return OutliveError("config_error", message, hint=hint)


def _from_file(path: str, *, must_exist: bool) -> dict[tuple[str, str], Any]:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        if must_exist:
            raise _error(f"no configuration file at {path}", "Name an existing file with --config.") from None
        return {}
    except OSError as error:
        raise _error(f"while reading {path}: {error.strerror}") from error
    import tomllib  # 5 ms, and most people have no file

    try:
        written = text.decode("utf-8")
        found = tomllib.loads(written)
    except UnicodeDecodeError as error:
        raise _error(f"{path} is not TOML: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise _error(_mistake(path, text.decode("utf-8"), str(error))) from error
    values: dict[tuple[str, str], Any] = {}
    for section, entries in found.items():
        if section not in KEYS:
            raise _unknown(f"section [{section}]", section, list(KEYS), _place(path, written, section))
        if not isinstance(entries, dict):
            raise _error(f"{_place(path, written, section)}: {section} is a section; write [{section}]")
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
    if (section, key) in _RENAMED:
        _set_renamed(values, section, key, value, where)
    elif key not in KEYS[section]:
        raise _unknown(f"key {key} in [{section}]", key, list(KEYS[section]), where)
    else:
        values[section, key] = _checked(section, key, value, where)


def _rules(value: Any, path: str, text: str, where: str) -> list[Rule]:
    """Return the rules of a policy. Errors: config_error."""
    from outlive.policy import rules  # late: most people have none

    if not isinstance(value, list):
        raise _error(f"{where}: policy.rule is an array of tables; write [[policy.rule]]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "".join(line.split()).startswith(_RULE)]
    return rules.parsed(value, lambda index: f"{path}, line {lines[index]}" if len(lines) == len(value) else path)


_RULE = "[[policy.rule]]"


def _mistake(path: str, text: str, said: str) -> str:
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


def _from_env(env: Mapping[str, str]) -> dict[tuple[str, str], Any]:
    values: dict[tuple[str, str], Any] = {}
    given = [(name, text) for name, text in env.items() if name.startswith("OUTLIVE_") and name not in _OWN]
    if not given:
        return values
    names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, keys in KEYS.items() for k in keys if keys[k][0] != RULES}
    old_names = {f"OUTLIVE_{s}_{k}".upper(): (s, k) for s, k in _RENAMED}
    for name, text in given:
        if name in old_names:
            _set_renamed(values, *old_names[name], text, name)
            continue
        if name not in names:
            raise _unknown(f"variable {name}", name, list(names), "the environment")
        section, key = names[name]
        values[section, key] = _checked(section, key, _word(KEYS[section][key][0], text), name)
    return values


# What OpenClaw's variables set, with the bounds that it keeps the values in
_OPENCLAW: dict[str, tuple[str, int, int]] = {
    "YIELD_MS": ("background_ms", 10, 120_000),
    "MAX_OUTPUT_CHARS": ("max_output_bytes", 1_000, 200_000),
    "PENDING_MAX_OUTPUT_CHARS": ("pending_max_output_bytes", 1_000, 200_000),
    "JOB_TTL_MS": ("cleanup_ms", 60_000, 10_800_000),
}


def _from_openclaw(env: Mapping[str, str]) -> dict[tuple[str, str], Any]:
    """Return the defaults that OpenClaw's variables for its own tools set. Like OpenClaw, ignore a
    value that is no number, and limit a number that is out of bounds."""
    values: dict[tuple[str, str], Any] = {}
    for name, (key, least, most) in _OPENCLAW.items():
        text = env.get(f"OPENCLAW_BASH_{name}") or env.get(f"PI_BASH_{name}") or ""  # the second is the old name
        if text.isdigit():
            values["exec", key] = min(most, max(least, int(text)))
    return values


def _set_renamed(values: dict[tuple[str, str], Any], section: str, key: str, value: Any, where: str) -> None:
    """Set the key that has replaced `key`, unless it is set itself. Errors: config_error."""
    new_key, meanings = _RENAMED[section, key]
    if not isinstance(value, str) or value not in meanings:
        from outlive.core.nearest import nearest  # late: for a mistake alone

        near = nearest(str(value), list(meanings))
        known = " or ".join(meanings)
        raise _error(f"{where}: {section}.{key} is {known}, not {value!r}", near and f"Did you mean {near}?")
    values.setdefault((section, new_key), meanings[value])


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


def _checked(section: str, key: str, value: Any, where: str) -> Any:
    kind = KEYS[section][key][0]
    if (section, key) == ("policy", "ask_timeout") and value == 0 and not isinstance(value, bool):
        value = "0"
    if key.endswith("_bytes") and isinstance(value, str):
        value = _size(value, f"{section}.{key}", where)
    good = {
        STRINGS: isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value),
        "integer": isinstance(value, int) and not isinstance(value, bool) and value >= 0,
        "number": isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _FOREVER_S,
        "boolean": isinstance(value, bool),
        "string": isinstance(value, str),
        PATH: isinstance(value, str) and os.path.isabs(value),
        PATHS: isinstance(value, list) and all(isinstance(one, str) and one.startswith(("/", "~/")) for one in value),
    }.get(kind, value in kind.split("|"))
    if not good:
        raise _error(f"{where}: {section}.{key} must be {kind.replace('|', ' or ')}, not {value!r}")
    if (section, key) == ("exec", "quota_bytes") and 0 < value < limits.MIN_QUOTA_BYTES:
        raise _error(f"{where}: exec.quota_bytes is at least {limits.MIN_QUOTA_BYTES}, or 0 (no quota), not {value}")
    if (section, key) == ("audit", "max_bytes") and value < limits.MIN_AUDIT_BYTES:
        raise _error(f"{where}: audit.max_bytes is at least {limits.MIN_AUDIT_BYTES}, not {value}")
    if (section, key) == ("audit", "files") and value < 1:
        raise _error(f"{where}: audit.files is at least 1, not {value}")
    if (section, key) == ("serve", "workdir") and not os.path.isabs(value):
        raise _error(f"{where}: serve.workdir is an absolute path, not {value!r}")
    if (section, key) == ("policy", "default"):
        from outlive.policy.rules import DECISIONS

        if value not in DECISIONS:
            raise _error(f"{where}: policy.default is {', '.join(DECISIONS[:-1])} or {DECISIONS[-1]}, not {value!r}")
    if (section, key) in (("gc", "older_than"), ("policy", "ask_timeout")) and (key, value) != ("ask_timeout", "0"):
        from outlive.core.units import duration_ms

        try:
            duration_ms(value, f"{section}.{key}", bare_unit=None)
        except OutliveError as error:
            raise _error(f"{where}: {error.message}", error.hint) from error
    return value


def _size(text: str, name: str, where: str) -> int:
    from outlive.core.units import byte_count

    try:
        return byte_count(text, name)
    except OutliveError as error:
        raise _error(f"{where}: {error.message}", error.hint) from error


def _unknown(what: str, word: str, known: list[str], where: str) -> OutliveError:
    from outlive.core.nearest import nearest  # late: for a mistake alone

    near = nearest(word, known)
    return _error(f"{where}: unknown {what}", f"Did you mean {near}?" if near else f"Known: {', '.join(known)}.")
