"""The verbs by name.

Each is loaded when it is asked for: a call of the command line needs one of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.answers import Field
    from outlive.verbs.spec import Verb

# Name as typed → the module of its declaration, and the declaration's name there. The order is that
# of `--help`.
VERBS = {
    "run": ("run", "VERB"),
    "create": ("create", "VERB"),
    "start": ("start", "VERB"),
    "status": ("status", "VERB"),
    "usage": ("usage", "VERB"),
    "poll": ("poll", "VERB"),
    "log": ("log", "VERB"),
    "tail": ("tail", "VERB"),
    "wait": ("wait", "VERB"),
    "events": ("events", "VERB"),
    "screen": ("screen", "VERB"),
    "write": ("write", "VERB"),
    "send-keys": ("send_keys", "VERB"),
    "submit": ("submit", "VERB"),
    "paste": ("paste", "VERB"),
    "resize": ("resize", "VERB"),
    "attach": ("attach", "VERB"),
    "ui": ("ui", "VERB"),
    "kill": ("kill", "VERB"),
    "list": ("list", "VERB"),
    "tag set": ("tag_set", "VERB"),
    "notify set": ("notify_set", "VERB"),
    "clear": ("clear", "VERB"),
    "remove": ("remove", "VERB"),
    "restart": ("restart", "VERB"),
    "gc": ("gc", "VERB"),
    "help": ("help", "VERB"),
    "notices": ("notices", "VERB"),
    "hook": ("hook", "VERB"),
    "install": ("install", "INSTALL"),
    "uninstall": ("install", "UNINSTALL"),
    "mcp": ("mcp", "VERB"),
    "serve": ("serve", "VERB"),
    "token add": ("tokens", "ADD"),
    "token list": ("tokens", "LIST"),
    "token revoke": ("tokens", "REVOKE"),
    "audit": ("audit", "VERB"),
    "inbox": ("inbox", "VERB"),
    "top": ("top", "VERB"),
    "approve": ("approve", "APPROVE"),
    "deny": ("approve", "DENY"),
    "policy check": ("policy", "CHECK"),
    "policy list": ("policy", "LIST"),
    "policy forget": ("policy", "FORGET"),
    "host list": ("host", "LIST"),
    "host check": ("host", "CHECK"),
    "host setup": ("host", "SETUP"),
    "completion": ("completion", "VERB"),
    "schema": ("schema", "VERB"),
    "doctor": ("doctor", "VERB"),
    "demo": ("demo", "VERB"),
}
# These are not offered over MCP, whose list of tools is made without loading them
COMMAND_LINE_ONLY = frozenset(
    "attach approve audit completion deny notices hook install uninstall mcp serve schema doctor demo ui inbox top".split()
    + [
        "token add",
        "token list",
        "token revoke",
        "policy check",
        "policy list",
        "policy forget",
        "host check",
        "host setup",
    ]
)
ALIASES = {"exec": "run", "spawn": "run"}
_NAMES = {"hosts": "host list"}  # type → name, where they differ


def names() -> list[str]:
    return [*VERBS]  # not list(): loading `verbs.list` sets that name in this package


def canonical(name: str) -> str | None:
    """Return the verb that `name` means, or None.

    Hyphens, underscores and one space are the same.
    """
    wanted = ALIASES.get(name, name)
    flat = wanted.replace("_", " ").replace("-", " ")
    for known in VERBS:
        if known.replace("-", " ") == flat:
            return known
    return None


def load(name: str) -> Verb:
    """Return the declaration of a verb, by its canonical name."""
    # Not importlib.import_module: `importlib` is two modules more to load for each call
    module, declaration = VERBS[name]
    verb: Verb = getattr(__import__(f"outlive.verbs.{module}", fromlist=(declaration,)), declaration)
    return verb


def fields_of(type_: str) -> dict[str, Field]:
    """Return the fields of the answers of a type, by name; none of a type that no verb has, as those of the page."""
    name = canonical(_NAMES.get(type_, type_))
    record = load(name).result if name else None
    return record.flat() if record else {}
