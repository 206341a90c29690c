"""What a screen is shown as, to a model and to a person."""

from __future__ import annotations

from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.members import Members, number_of, object_of, texts_of
from outlive.core.quoted import visible
from outlive.core.records import FINISHED
from outlive.mcp.tools import sentences
from outlive.render.plain_text import readable
from outlive.render.screen import folded


def for_model(answer: Members) -> tuple[str, list[str]]:
    """Return the rows, and the lines about them."""
    about = [f"{answer.get('cols')}x{answer.get('rows')}", *sentences.cursor(object_of(answer, "cursor"))]
    about += ["alternate screen"] if answer.get("alternate_screen") else []
    about += [f"title: {answer['title']}"] if answer.get("title") else []
    lines = [f"{answer.get('state')}; {'; '.join(about)}", *texts_of(answer, "warnings")]
    if answer.get("state") in FINISHED:
        lines.append(f"The job has ended ({answer['state']}): this is how it left its terminal.")
    elif answer.get("waiting_for_input"):
        lines.append("It is waiting for input.")
    rows = folded(texts_of(answer, "lines"), number_of(answer, "first_row"))
    lines += sentences.hint(answer)
    return rows, lines if rows else [*lines, "(an empty screen)"]


def for_person(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return the rows, and what is to be said of them; with `verbose` above them the fields."""
    rows = [readable(row).rstrip() for row in texts_of(answer, "lines")]
    while rows and not rows[-1]:
        rows.pop()
    said = [human.fields(answer, style)] if verbose else []
    said.append("".join(f"{row}\n" for row in rows) or "(the screen is empty)\n")
    said += [] if verbose else [f"({visible(one)})\n" for one in texts_of(answer, "warnings")]
    return "\n".join([*said, *([hint] if (hint := human.hint(answer)) else [])])
