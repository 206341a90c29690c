"""What a person at a terminal gets in place of an object, or besides it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from outlive.answers import Answer
from outlive.core.place import resolve_name
from outlive.jobs.context import Context
from outlive.verbs import envelope
from outlive.verbs.spec import Verb

# These print text, so their errors are sentences at a terminal without --human too
_TEXTS = frozenset({"attach", "completion", "demo", "top", "ui"})
_FOLLOWING = frozenset({"log", "run", "start", "restart"})  # with --follow; `list --follow` prints JSON


def is_asked(verb: Verb) -> bool:
    """Return whether this verb asks the person at this terminal, instead of printing an object."""
    return verb.at_terminal and os.isatty(0) and os.isatty(1)


def reads_sentences(verb: Verb, argv: list[str]) -> bool:
    """Return whether an error of this call is shown as sentences though --human was not given."""
    prints_text = verb.name in _TEXTS or (verb.name in _FOLLOWING and not {"-f", "--follow"}.isdisjoint(argv))
    return (prints_text and os.isatty(2)) or is_asked(verb)


def answered(verb: Verb, values: dict[str, Any], *, human: bool) -> Callable[[Context], dict[str, object]]:
    """Return what runs the verb and gives its full answer. A person gets more: the question of `approve` at a terminal,
    and with --human the last lines of the output with `status`. A person is shown the job's name and id in any case."""

    def plain(ctx: Context) -> dict[str, object]:
        answer: Answer = verb.run(ctx, **values)
        return envelope.full(verb.type, answer, ctx, titles=not human or verb.name == "log")

    if verb.confirm and os.isatty(0) and os.isatty(2):

        def asked(ctx: Context) -> dict[str, object]:
            resolve_name(verb.confirm)(ctx, **values)
            return plain(ctx)

        return asked
    if verb.name != "status" or not human:
        return plain
    from outlive.cli import summary  # late: 2 ms, for a person

    def with_last_lines(ctx: Context) -> dict[str, object]:
        answer = plain(ctx)
        shown = summary.last_lines(ctx, str(answer["job_id"]))
        return answer if shown is None else answer | {"snippet": shown}

    return with_last_lines
