"""The tokens that open the HTTP door."""

from __future__ import annotations

from outlive.store.tokens import Tokens
from outlive.verbs.spec import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def token_list(ctx: Context) -> dict[str, Any]:
    """Errors: config_error, io_error."""
    return {"root": ctx.store.path, "tokens": [token.shown() for token in Tokens(ctx.store).all()]}


VERB = Verb(
    "token list",
    "The tokens of this root, without their secrets.",
    token_list,
    result="root tokens",
    mcp=False,
)
