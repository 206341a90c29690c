"""The configuration: a flag wins over the environment, that over config.toml, that over the
default. No tool lets an agent change it.

Here are the keys with their defaults, and the values in force. What was written is read and checked
by `file`.
"""

import os
from collections.abc import Mapping
from typing import Any

from outlive import limits
from outlive.core.base_directories import base_directory, state_directory
from outlive.core.record import Record, Value
from outlive.core.records import LOCAL


class HostSettings(
    Record,
    omitted=("target", "root", "workdir", "python", "options", "caller_options", "programs", "sandbox", "network"),
):
    """[hosts.NAME]. None: it was not set."""

    kind: str = ""
    target: str | None = None
    root: str | None = None
    workdir: str | None = None
    python: str | None = None
    options: list[str] | None = None
    caller_options: bool | None = None
    programs: str | None = None
    sandbox: str | None = None
    network: str | None = None


STRINGS = "array of strings"
PATH, PATHS = "absolute path", "array of absolute paths, or of paths below ~/"
TABLES = "array of tables"
DURATION, DURATION_OR_0 = "duration", "duration or 0"


class Setting(Value):
    """A key of the configuration: its type, its default, and the least and the most of a number."""

    kind: str
    default: object = None
    least: int | None = None
    most: int | None = None
    needed: str | None = None  # what to do where the section is written without it; None: nothing


# section → key. `OUTLIVE_<SECTION>_<KEY>` in the environment wins over the file. Parts have sections of their own (file.known)
KEYS: dict[str, dict[str, Setting]] = {
    "shell": {"unix": Setting(STRINGS), "windows": Setting(STRINGS)},
    "exec": {
        "background_ms": Setting("integer", limits.YIELD_MS),
        "timeout_sec": Setting("number", limits.MCP_TIMEOUT_S, most=limits.MAX_DURATION_MS // 1000),
        # Not set: limits.MCP_SHOWN_BYTES over MCP, limits.SHOWN_BYTES on the command line
        "max_output_bytes": Setting("integer"),
        "pending_max_output_bytes": Setting("integer"),  # not set: as the one above
        "cleanup_ms": Setting("integer", 1_800_000),
        "quota_bytes": Setting("integer", limits.QUOTA_BYTES),
        # Each job in a transient scope of its own (systemd.scope(5))
        "systemd_scope": Setting("boolean", False),
        # Where jobs run that name no host
        "host": Setting("string", LOCAL),
        # Not set: keep, or kill where exec is the only tool
        "on_cancel": Setting("keep|kill"),
        "notify_on_exit": Setting("boolean", True),
        "notify_on_exit_empty_success": Setting("boolean", False),
    },
    "output": {
        # What of output is shown that is longer than an answer may be: render/sources.py
        "show": Setting("auto|plain", "auto"),
        # Which lines report a failure, besides those built in: parts/failures/lines/problem_matchers.py, in the file alone
        "problem_matcher": Setting(TABLES, ()),
    },
    "serve": {"workdir": Setting(PATH)},
    "sandbox": {},  # parts/sandbox/settings.py
    "gc": {},  # parts/cleanup/settings.py
    "programs": {},  # NAME = "/path" of a program that outlive runs itself (system/own_programs.py), in the file alone
    "hosts": {},  # [hosts.NAME]: parts/hosts/settings.py, in the file alone
}
# How the names of variables begin that configure: ours, and OpenClaw's for its own tools (PI_BASH_ is their old name)
_PREFIXES = ("OUTLIVE_", "OPENCLAW_BASH_", "PI_BASH_")
# Variables of ours that are not configuration: those of jobs, and the root
_OWN = frozenset(
    "OUTLIVE_ROOT OUTLIVE_LOG OUTLIVE_CONFIG OUTLIVE_JOB_ID OUTLIVE_SHELL OUTLIVE_EVENT_PATH OUTLIVE_EVENT_TYPE "
    "OUTLIVE_SLOTS OUTLIVE_OWNER OUTLIVE_HUMAN OUTLIVE_MACHINE OUTLIVE_CRASH_AT OUTLIVE_DEBUG_FILE".split()
)


class Config:
    """The values in force: `config.get("exec", "background_ms")`, and where each came from. `ignored`:
    sentences about variables that mean nothing."""

    def __init__(
        self, values: dict[tuple[str, str], Any], path: str | None, ignored: tuple[str, ...] | list[str] = ()
    ) -> None:
        self._values = values
        self.path = path
        self.ignored = ignored

    def get(self, section: str, key: str) -> Any:
        return self._values.get((section, key), KEYS[section][key].default)

    def has(self, section: str) -> bool:
        """Return whether anything of this section was set."""
        return any(one == section for one, _ in self._values)

    def is_set(self, section: str, key: str) -> bool:
        return (section, key) in self._values

    def set_in(self, section: str) -> dict[str, Any]:
        """Return what was set in a section, by its keys."""
        return {key: value for (one, key), value in self._values.items() if one == section}

    def hosts(self) -> dict[str, HostSettings]:
        """Return the settings of each host by its name, without `local`, which needs none."""
        return self.set_in("hosts")

    def programs(self) -> dict[str, str]:
        """Return the paths of [programs] by the names of the programs."""
        return self.set_in("programs")

    def workspaces(self, env: Mapping[str, str]) -> list[str]:
        """Return the directories in which jobs in sandboxes work: those that the configuration names."""
        places = [*(self.set_in("sandbox").get("write") or ()), self.get("serve", "workdir") or ""]
        return [os.path.join(env.get("HOME", "/"), path[2:]) if path.startswith("~/") else path for path in places]

    def uses(self, section: str) -> bool:
        """Return whether a section was set, or by a host what it is about."""
        return self.has(section) or (
            section == "sandbox" and any(one.sandbox or one.network for one in self.hosts().values())
        )

    def own_paths(self, env: Mapping[str, str]) -> list[str]:
        """Return the files and directories of outlive besides the job root: of the configuration, and
        of what is kept beside it (approvals, the audit record)."""
        named = [] if self.path is None else [os.path.abspath(self.path)]
        folders = [
            one for each in (env, os.environ) for one in (os.path.dirname(default_path(each)), state_directory(each))
        ]
        return list(dict.fromkeys([*folders, *named]))


def default_path(env: Mapping[str, str]) -> str:
    """Return `$XDG_CONFIG_HOME/outlive/config.toml`, else `~/.config/outlive/config.toml`."""
    return os.path.join(base_directory(env, "XDG_CONFIG_HOME", ".config"), "outlive", "config.toml")


def load(env: Mapping[str, str], explicit: str | None = None) -> Config:
    """Return the configuration of this process. `explicit`: a path given by a flag. Errors: config_error."""
    asked = explicit or env.get("OUTLIVE_CONFIG")
    path = asked or default_path(env)
    given = [name for name in env if name.startswith(_PREFIXES) and name not in _OWN]
    if not (asked or given) and _is_missing(path):
        return Config({}, None)
    from outlive.config import file  # late: 6 ms, and most people have neither a file nor a variable

    return file.load(env, path, given, must_exist=bool(asked))


def _is_missing(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False
