"""Completion of command lines with TAB, in bash, zsh and fish: the scripts, and what they ask."""

from __future__ import annotations

from outlive.part import Part


class Completion(Part):
    name = "completion"
    verbs = {"completion": "outlive.parts.completion.verbs:COMPLETION"}


PART = Completion()
