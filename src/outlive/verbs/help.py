"""List the actions of the tool `process`."""

from __future__ import annotations

from outlive import verbs
from outlive.answers.listing import Help
from outlive.jobs.context import Context
from outlive.verbs.spec import DETAIL, Verb


def help_(ctx: Context) -> Help:
    """Return what each action does that the caller may use, and its arguments."""
    offered = [verbs.load(name) for name in verbs.offered() if name != "run"]
    allowed = [verb for verb in offered if ctx.caller.rights.allows(verb.right)]
    return Help(actions={verb.action: _line(verb) for verb in allowed})


def _line(verb: Verb) -> str:
    names = [arg.mcp for arg in verb.args if arg.mcp and arg.hidden is not True and arg is not DETAIL]
    return f"{verb.help} Arguments: {', '.join(names)}." if names else verb.help
