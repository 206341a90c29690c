"""Press keys in a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.errors import argument, invalid
from outlive.jobs import adoption, keys, lookup, stdin
from outlive.verbs.shared_args import WRITE_RESULT, WRITE_TIMEOUT
from outlive.verbs.spec import JOB, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def send_keys(
    ctx: Context,
    *,
    job: str,
    keys_: Sequence[str] = (),
    hex_: Sequence[str] = (),
    literal: str | None = None,
    timeout_ms: int = limits.WRITE_MS,
) -> Waiting[dict[str, Any]]:
    """Send `literal`, then `hex`, then `keys`, in one write.

    Errors: not_a_pty, invalid_argument, as for write.
    """
    plain = (literal or "").encode("utf-8", "surrogateescape") + keys.from_hex(hex_)
    with lookup.open_job(ctx, job) as found_job:
        stdin.require_pty(adoption.inspect_and_adopt(ctx, found_job))
        facts = yield from stdin.ask(found_job, {"op": "terminal"})
        pressed, warnings = keys.encode(
            keys_,
            application_cursor=facts["application_cursor"],
            application_keypad=facts["application_keypad"],
        )
        if not plain + pressed:
            hint = f"Give {argument('keys_')}, {argument('hex_')} or {argument('literal')}."
            raise invalid("keys_", "there are no keys to send", hint=hint)
        answer = yield from stdin.deliver(ctx, found_job, plain + pressed, timeout_ms=timeout_ms, field="literal")
    warnings = [*answer.get("warnings", []), *warnings]
    return answer | ({"warnings": warnings} if warnings else {})


VERB = Verb(
    "send-keys",
    "Press keys in the terminal of a pty job.",
    send_keys,
    args=(
        JOB,
        Arg("keys_", STRS, "Keys as in tmux: C-c, M-x, S-Tab, Enter, Up, F5; a character is itself.", default=(),
            cli="KEY", mcp="keys", metavar="KEY", mcp_help="as in tmux: C-c, M-x, S-Tab, Enter, Up, F5"),
        Arg("hex_", STRS, "Bytes in hex, such as 1b.", default=(), cli="--hex", mcp="hex", hidden="mcp", metavar="HEX"),
        Arg("literal", STR, "Text to type as it is, before the keys.", metavar="TEXT", mcp_help="text to type before the keys"),
        WRITE_TIMEOUT,
    ),
    result=WRITE_RESULT,
    detail="Modifiers C- (or ^), M- and S- in any order. Names: Enter Tab Escape Space BSpace Up Down Left Right Home "
    "End PageUp PageDown Insert Delete F1-F12 KP0-KP9 KPEnter and more. Cursor keys follow the mode the program set.",
)  # fmt: skip
