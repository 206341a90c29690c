"""The text of an answer that has no sentences of its own in answers.py: its declaration says it all."""

from __future__ import annotations

from outlive import verbs
from outlive.core.members import Members, text_of
from outlive.render import events
from outlive.verbs import brief


def lines(answer: Members) -> list[str]:
    """Return the sentence that the record of the answer declares, else each member that brief has by its name; nothing of
    an answer that no verb declares."""
    record = verbs.record_of(text_of(answer, "type"))
    if record is None:
        return []
    fields = verbs.fields_of(text_of(answer, "type"))
    if record.TEXT:
        return [record.TEXT.format_map({name: _word(answer.get(name)) for name in fields})]
    said = brief.besides(brief.of(dict(answer), fields), fields, ())
    return [f"{name}: {value}" for name, value in said.items()]


def _word(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else events.word(value)
