"""What a person reads of what was done to the configuration of an MCP client."""

from __future__ import annotations

import json

from outlive.cli.human import hint
from outlive.cli.text import Style
from outlive.core.members import Members, entries_of, text_of
from outlive.core.quoted import visible
from outlive.render.plain_text import readable

_CHANGES = {"added": "Added to", "updated": "Updated in", "removed": "Removed from", "none": "Nothing to do in"}


def for_person(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return what was done to the configuration of an MCP client, or what to do where nothing was written."""
    if "clients" in answer:
        text = "".join(
            for_person(one, style, verbose=verbose)
            if "path" in one
            else f"{visible(text_of(one, 'client'))}: {visible(text_of(one, 'hint'))}\n"
            for one in entries_of(answer, "clients")
        )
        return text + hint(answer)
    change = text_of(answer, "change")
    if answer["written"] or change == "none":
        text = f"{_CHANGES[change]} {visible(text_of(answer, 'path'))} (server {visible(text_of(answer, 'name'))}).\n"
        if answer.get("backup"):
            text += f"As it was before the first change: {visible(text_of(answer, 'backup'))}\n"
        text += "".join(
            f"  {visible(text_of(one, 'member'))} = {json.dumps(one['value'])}: {visible(text_of(one, 'why'))}\n"
            for one in entries_of(answer, "besides")
            if answer["written"]
        )
    else:
        would = f"would be {_CHANGES[change].lower()}" if change else "cannot be merged into"
        text = f"{visible(text_of(answer, 'name'))} {would} {visible(text_of(answer, 'path'))}; nothing was written.\n"
    if not answer["written"] and change != "none" and answer.get("fragment"):
        text += "\n" + readable(text_of(answer, "fragment"))
        text += f"\nOr: {visible(text_of(answer, 'own_command'))}\n" if answer.get("own_command") else ""
    return text + hint(answer)
