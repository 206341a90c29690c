"""The screen of a job's terminal, keys on it, and the person who sits at it."""

from __future__ import annotations

from outlive.part import Part

KEYBOARD = ".keyboard"  # in the directory of a job: who types into its terminal (keyboard.py)


class Terminal(Part):
    name = "terminal"
    actions = {
        "send-keys": "outlive.parts.terminal.verbs:SEND_KEYS",
        "paste": "outlive.parts.terminal.verbs:PASTE",
        "screen": "outlive.parts.terminal.verbs:SCREEN",
        "resize": "outlive.parts.terminal.verbs:RESIZE",
    }
    about_actions = "a pty job's terminal"
    for_model = {"screen": "outlive.parts.terminal.wording:for_model"}
    for_person = {"screen": "outlive.parts.terminal.wording:for_person"}
    verbs = {"attach": "outlive.parts.terminal.verbs:ATTACH"}
    screen = "outlive.parts.terminal.drawing:of_job"
    keyboard = {KEYBOARD: "outlive.parts.terminal.keyboard:holder"}
    how_to_answer = "outlive.parts.terminal.answering:how_to_answer"


PART = Terminal()
