"""All jobs on one screen, with keys: what they print, what they ask, their ends."""

from __future__ import annotations

from outlive.part import Part


class Top(Part):
    name = "top"
    needs = ("terminal", "approvals")
    verbs = {"top": "outlive.parts.top.verbs:TOP"}


PART = Top()
