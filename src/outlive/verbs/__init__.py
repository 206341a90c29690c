"""One module a verb. Nothing is imported here: a command line loads the one verb it was asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.verbs.spec import Verb

# Name as typed → module. The order is the order of `--help`. The module's `VERB` is the declaration.
MODULES = {
    "run": "run",
    "create": "create",
    "start": "start",
    "status": "status",
    "poll": "poll",
    "log": "log",
    "tail": "tail",
    "wait": "wait",
    "events": "events",
    "screen": "screen",
    "write": "write",
    "send-keys": "send_keys",
    "submit": "submit",
    "paste": "paste",
    "resize": "resize",
    "kill": "kill",
    "list": "list",
    "tag set": "tag_set",
    "notify set": "notify_set",
    "clear": "clear",
    "remove": "remove",
    "restart": "restart",
    "gc": "gc",
    "install": "install",
    "uninstall": "uninstall",
    "token add": "token_add",
    "token list": "token_list",
    "token revoke": "token_revoke",
    "schema": "schema",
    "doctor": "doctor",
}
ALIASES = {"exec": "run", "spawn": "run"}


def names() -> list[str]:
    return [*MODULES]  # not list(): loading `verbs.list` sets that name in this package


def canonical(name: str) -> str | None:
    """The verb that `name` means: hyphens, underscores and one space are the same; None if there is none."""
    wanted = ALIASES.get(name, name)
    flat = wanted.replace("_", " ").replace("-", " ")
    for known in MODULES:
        if known.replace("-", " ") == flat:
            return known
    return None


def load(name: str) -> Verb:
    """The declaration of a verb, by its canonical name."""
    # Not importlib.import_module: `-X importtime` does not show what that loads, and a test looks there
    module = __import__(f"outlive.verbs.{MODULES[name]}", fromlist=("VERB",))
    verb: Verb = module.VERB
    return verb
