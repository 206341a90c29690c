"""The verbs by name.

Each is loaded when it is asked for: a call of the command line needs one of them. What a server
offers too is declared apart from its function (`declarations`).
"""

from __future__ import annotations

from outlive.answers import Field
from outlive.core.libraries import named
from outlive.verbs.spec import Verb

# Name as typed → the module of its declaration, and the declaration's name there. The order is that
# of `--help`.
VERBS = {
    "run": ("declarations.run", "VERB"),
    "create": ("declarations.create", "VERB"),
    "start": ("declarations.start", "VERB"),
    "status": ("declarations.status", "VERB"),
    "usage": ("declarations.usage", "VERB"),
    "poll": ("declarations.poll", "VERB"),
    "log": ("declarations.log", "VERB"),
    "tail": ("declarations.tail", "VERB"),
    "wait": ("declarations.wait", "VERB"),
    "events": ("declarations.events", "VERB"),
    "screen": ("declarations.screen", "VERB"),
    "write": ("declarations.write", "VERB"),
    "send-keys": ("declarations.send_keys", "VERB"),
    "submit": ("declarations.submit", "VERB"),
    "paste": ("declarations.paste", "VERB"),
    "resize": ("declarations.resize", "VERB"),
    "attach": ("attach", "VERB"),
    "ui": ("ui", "VERB"),
    "kill": ("declarations.kill", "VERB"),
    "list": ("declarations.list", "VERB"),
    "tag set": ("declarations.tag_set", "VERB"),
    "notify set": ("declarations.notify_set", "VERB"),
    "clear": ("declarations.clear", "VERB"),
    "remove": ("declarations.remove", "VERB"),
    "restart": ("declarations.restart", "VERB"),
    "gc": ("declarations.gc", "VERB"),
    "help": ("declarations.help", "VERB"),
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
    "host list": ("declarations.host", "LIST"),
    "host check": ("host", "CHECK"),
    "host setup": ("host", "SETUP"),
    "completion": ("completion", "VERB"),
    "schema": ("schema", "VERB"),
    "doctor": ("doctor", "VERB"),
    "demo": ("demo", "VERB"),
}
# These are not offered over MCP, whose list of tools is made without loading them
COMMAND_LINE_ONLY = frozenset(name for name, (module, _) in VERBS.items() if not module.startswith("declarations."))
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
    module, declaration = VERBS[name]
    verb: Verb = named(f"outlive.verbs.{module}:{declaration}")
    return verb


def fields_of(type_: str) -> dict[str, Field]:
    """Return the fields of the answers of a type, by name; none of a type that no verb has, as those of the page."""
    name = canonical(_NAMES.get(type_, type_))
    record = load(name).result if name else None
    return record.flat() if record else {}
