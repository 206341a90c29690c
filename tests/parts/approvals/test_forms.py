"""The form that asks about a job: a short one is shown whole by every client, however it breaks rows."""

from __future__ import annotations

import textwrap
from itertools import product

from outlive.core.records import Definition
from outlive.parts.approvals import elicitation
from outlive.parts.approvals.question_record import Approval, with_request

END = "; touch evil"
ROW = 70


def message(command: str) -> str:
    asked = Approval(rule="rule 1 (touch)")
    definition = Definition(command=[command], shell=["bash", "-c"], cwd="/")
    form = elicitation.question(with_request(definition, asked))
    assert form is not None
    return form.message


def test_a_form_that_does_not_say_that_it_may_be_cut_has_four_rows_wherever_they_are_broken() -> None:
    """A client may keep the blanks at the end of a row, drop them, or break rows anywhere."""
    short = 0
    for filled, behind, blanks in product(range(20, 140, 3), range(0, 60, 3), (1, 16)):
        shown = message(f"touch {'q' * filled}{' ' * blanks}{'z' * behind}{END}")
        if "anything is cut" in shown:
            continue
        short += 1
        hidden = [textwrap.wrap(shown, ROW, break_on_hyphens=False, drop_whitespace=one)[4:] for one in (True, False)]
        assert (hidden, shown[4 * ROW :]) == ([[], []], "")
    assert short


def test_blanks_are_not_taken_for_what_stands_for_them() -> None:
    assert "touch a␠×3 ; b" in message("touch a   ; b")
    assert "touch a␠×3 ; b  c" in message("touch a␠×3 ; b  c")
