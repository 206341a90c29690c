"""The screen of a job's terminal, keys on it, and the person who sits at it."""

from __future__ import annotations

from outlive.part import Part


class Terminal(Part):
    name = "terminal"
    verbs = {"attach": "outlive.parts.terminal.verbs:ATTACH"}


PART = Terminal()
