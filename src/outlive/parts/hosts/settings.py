"""What `[hosts.NAME]` of the configuration may hold."""

from outlive.config import HostSettings
from outlive.core.nearest import meant
from outlive.core.records import LOCAL, NETWORKS, SANDBOXES
from outlive.errors import OutliveError, misconfigured

SLURM, SSH = KINDS = ("slurm", "ssh")
_STRINGS = "array of strings"
_PATH, _TEXT, _FLAG = "absolute path", "string", "boolean"
_HOME_PATH = "absolute path, or a path below ~/"
_SANDBOX, _NETWORK = " or ".join(SANDBOXES), " or ".join(NETWORKS)
# kind → key → what it is. `options` goes to the engine as it is: flags of sbatch(1), of ssh(1).
# `caller_options`: a call may give some too, as `resources.options`
_KEYS: dict[str, dict[str, str]] = {
    SLURM: {
        "kind": _TEXT,
        "python": _PATH,
        "options": _STRINGS,
        "caller_options": _FLAG,
        "programs": _PATH,
        "sandbox": _SANDBOX,
        "network": _NETWORK,
    },
    SSH: {
        "kind": _TEXT,
        "target": _TEXT,
        "root": _HOME_PATH,
        "workdir": _HOME_PATH,
        "python": _TEXT,
        "options": _STRINGS,
        "sandbox": _SANDBOX,
        "network": _NETWORK,
    },
}
_REQUIRED = {SLURM: (), SSH: ("target",)}


def checked(name: str, table: object, where: str) -> HostSettings:
    """Return the settings of a host. `where` is the place in the file. Errors: config_error."""
    if not isinstance(table, dict):
        raise _error(where, f"hosts.{name} is a table; write [hosts.{name}]")
    if name == LOCAL:
        hint = "The sandbox of its jobs is set in [sandbox]." if {"sandbox", "network"} & table.keys() else None
        raise _error(where, f"[hosts.{LOCAL}]: {LOCAL} is this machine, and needs no section", hint)
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or not name.isascii():
        raise _error(where, f"not a name for a host: {name!r}", "Letters, digits, - _ and . make a name.")
    kind = table.get("kind")
    if kind not in KINDS:
        said = "has no kind" if kind is None else f"has kind {kind!r}"
        raise _error(where, f"[hosts.{name}] {said}", meant(str(kind or ""), [*KINDS]))
    known = _KEYS[kind]
    for key, value in table.items():
        if key not in known:
            hint = meant(key, [*known], f"Known for kind {kind}: {', '.join(known)}.")
            raise _error(where, f"unknown key {key} in [hosts.{name}]", hint)
        if not _is(known[key], value):
            raise _error(where, f"hosts.{name}.{key} must be {known[key]}, not {value!r}")
    for key in _REQUIRED[kind]:
        if key not in table:
            raise _error(where, f"[hosts.{name}] has no {key}", f"A host of kind {kind} needs {key}.")
    if str(table.get("target", "")).startswith("-"):
        raise _error(where, f"hosts.{name}.target is a host, not a flag: {table['target']!r}")
    return HostSettings.of(table)


def _is(kind: str, value: object) -> bool:
    if kind in (_SANDBOX, _NETWORK):
        return value in kind.split(" or ")
    if kind == _FLAG:
        return isinstance(value, bool)
    if kind == _STRINGS:
        return isinstance(value, list) and all(isinstance(word, str) and word for word in value)
    if not isinstance(value, str) or not value or "\0" in value or "\n" in value:
        return False
    return value.startswith({_PATH: ("/",), _HOME_PATH: ("/", "~/")}.get(kind, ("",)))


def _error(where: str, message: str, hint: str | None = None) -> OutliveError:
    return misconfigured(f"{where}: {message}", hint)
