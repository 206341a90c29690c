"""What a person at a terminal gets in place of an object, or besides it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from outlive import config
from outlive.jobs.context import Context
from outlive.store.root import Store

if TYPE_CHECKING:
    from outlive.answers import Answer
    from outlive.verbs.spec import GlobalOptions, Verb


# These print text, so their errors are sentences at a terminal without --human too
_TEXTS = frozenset({"attach", "completion", "demo", "top", "ui"})
_FOLLOWING = frozenset({"log", "run", "start", "restart"})  # with --follow; `list --follow` prints JSON


def is_asked(verb: str) -> bool:
    """Return whether this verb asks the person at this terminal, instead of printing an object."""
    return verb == "inbox" and os.isatty(0) and os.isatty(1)


def reads_sentences(verb: str, argv: list[str]) -> bool:
    """Return whether an error of this call is shown as sentences though --human was not given."""
    prints_text = verb in _TEXTS or (verb in _FOLLOWING and not {"-f", "--follow"}.isdisjoint(argv))
    return (prints_text and os.isatty(2)) or is_asked(verb)


def open_context(options: GlobalOptions, verb: str) -> Context:
    """Return the context of a program that takes over this terminal; its caller closes the store. Errors: config_error,
    store_unsafe, io_error."""
    from outlive.launch.from_cli import Launcher

    env = dict(os.environ)
    settings = config.load(env, options.config)
    store = Store.open(options.root, env)
    owner, wrapper = env.get("OUTLIVE_OWNER") or "cli", ("sh", "-lc")
    how = {"face": "cli", "client": None, "cwd": None, "launcher": Launcher(), "verb": verb}
    return Context(store, settings, owner=owner, env=env, shell=wrapper, **how)  # type: ignore[arg-type]


def members(verb: Verb, values: dict[str, Any], *, human: bool) -> Callable[[Context], dict[str, Any]]:
    """Return what runs the verb and gives the members of its answer. A person gets more: the question of `approve` at
    a terminal, and with --human the last lines of the output with `status`."""

    def plain(ctx: Context) -> dict[str, Any]:
        answer: Answer = verb.run(ctx, **values)
        return answer.to_dict()

    if verb.name == "approve" and os.isatty(0) and os.isatty(2):
        from outlive.cli import ask

        def asked(ctx: Context) -> dict[str, Any]:
            ask.before_approving(ctx, values["job"])
            return plain(ctx)

        return asked
    if verb.name != "status" or not human:
        return plain
    from outlive.cli import summary

    return lambda ctx: summary.with_last_lines(ctx, plain(ctx))
