"""The screen of a job's terminal, keys on it, and the person who sits at it."""

from __future__ import annotations

from outlive.core.ids import short_id
from outlive.part import Hold, Inspection, JobDir, Output, Part, Screen

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

    after_waits = ("outlive.parts.terminal.drawing", "outlive.parts.terminal.keyboard")

    def screen(self, inspection: Inspection, output: Output, end: int | None) -> Screen:
        from outlive.parts.terminal import drawing

        return drawing.of_job(inspection, output, end)

    def keyboard(self, job: JobDir) -> Hold | None:
        if not job.has(KEYBOARD):
            return None
        from outlive.parts.terminal import keyboard

        return keyboard.holder(job)

    def how_to_answer(self, inspection: Inspection, *, hidden: bool) -> str:
        if hidden:
            return (
                "It asks for a password (what is typed is not shown). Have a person type it: "
                f"`outlive attach {short_id(inspection.definition.job_id)}` in a terminal; submit types one that you were given."
            )
        return "Answer with submit (types text and Enter) or send-keys (C-c, Up, q); screen shows the terminal."


PART = Terminal()
