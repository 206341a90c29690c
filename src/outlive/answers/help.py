"""The answer of help."""

from __future__ import annotations

from outlive.answers import ALWAYS, Answer, field


class Help(Answer):  # of process help
    actions: dict[str, str] = field("What each action of process does, and its arguments.", brief=ALWAYS)
