"""Take a token back."""

from __future__ import annotations

from outlive.store.tokens import Tokens
from outlive.verbs.spec import Verb
from outlive.verbs.token_add import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def token_revoke(ctx: Context, *, name: str) -> dict[str, Any]:
    """Errors: invalid_argument, config_error, io_error."""
    return {**Tokens(ctx.store).revoke(name).shown(), "revoked": True}


VERB = Verb(
    "token revoke",
    "Take a token back.",
    token_revoke,
    args=(NAME,),
    result="name scope created_at revoked",
    mcp=False,
    detail="Running servers refuse it at once, and end the streams that it has open within seconds. Its jobs stay; a new "
    "token of the same scope sees them.",
)
