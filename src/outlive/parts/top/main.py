"""`outlive top`: what it needs, and its start. The screen itself needs urwid, which this call alone imports."""

from __future__ import annotations

import os
from typing import Any

from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.verbs.spec import GlobalOptions, Verb

_INSTEAD = "`outlive list --human --follow` needs neither keys nor a package."


def main(ctx: Context, _verb: Verb, _options: GlobalOptions, **_args: Any) -> int:
    """Return 0 when the person has left. Errors: invalid_argument, invalid_state."""
    if not (os.isatty(0) and os.isatty(1)):
        raise OutliveError(
            "invalid_argument", "top needs a terminal, and stdin or stdout is none", hint="In a script use list."
        )
    if os.environ.get("TERM") == "dumb":
        message = "top draws on your terminal, which cannot be drawn on: TERM is dumb"
        raise OutliveError("invalid_argument", message, hint=_INSTEAD)
    try:
        from outlive.parts.top.screen import Screen  # late: 60 ms, of urwid, which may be missing
    except ModuleNotFoundError as error:
        if error.name != "urwid":
            raise
        hint = f"Install it with `pip install 'outlive[top]'`. {_INSTEAD}"
        raise OutliveError("invalid_state", "top needs the package urwid, which is not installed", hint=hint) from None
    Screen(ctx).run()
    return 0
