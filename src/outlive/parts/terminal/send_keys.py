"""Press keys in a job's terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from outlive.answers.writing import Written
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import stdin
from outlive.parts.terminal import keys
from outlive.store.inspection.inspection import Inspection


def send_keys(
    ctx: Context,
    *,
    job: str,
    keys_: Sequence[str] = (),
    hex_: Sequence[str] = (),
    literal: str | None = None,
    **how: Any,
) -> Written:
    """Send `literal`, then `hex`, then `keys`, in one write. Errors: not_a_pty, invalid_argument, as for write."""
    plain = (literal or "").encode("utf-8", "surrogateescape") + keys.from_hex(hex_)
    with lookup.open_job(ctx, job) as job_dir:
        _require_pty(adoption.inspect_and_adopt(ctx, job_dir), keys_)
        facts = ask(job_dir, {"op": "terminal"})
        pressed, warnings = keys.encode(
            keys_,
            application_cursor=bool(facts.get("application_cursor")),
            application_keypad=bool(facts.get("application_keypad")),
        )
        if not plain + pressed:
            hint = f"Give {argument('keys_')}, {argument('hex_')} or {argument('literal')}."
            raise invalid("keys_", "there are no keys to send", hint=hint)
        answer = stdin.deliver(ctx, job_dir, stdin.Input(plain, "literal", keys=pressed), **how)
    answer.warnings = [*(answer.warnings or ()), *warnings] or None
    return answer


# What a key does in a terminal, for a job that has none
_INSTEAD = {
    "C-c": "`kill` with signal INT interrupts it.",
    "C-\\": "`kill` with signal QUIT does what C-\\ does.",
    "C-z": "`kill` with signal STOP stops it, CONT continues it.",
    "C-d": "`write` with eof ends its input, if its stdin is open.",
}


def _require_pty(inspection: Inspection, pressed: Sequence[str]) -> None:
    """Raise not_a_pty if the job has no terminal, with the call that does the same without one."""
    try:
        stdin.require_pty(inspection)
    except OutliveError as error:
        meant = [_INSTEAD[name] for name in map(_name, pressed) if name in _INSTEAD]
        if error.code == "not_a_pty" and meant:
            error.hint = f"{meant[0]} {error.hint}"
        raise


def _name(key: str) -> str:
    """Return ^C and c-C as C-c."""
    return f"C-{key[-1].lower()}" if len(key) > 1 and key[:-1].upper() in ("^", "C-") else key
