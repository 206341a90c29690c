"""Make a token that opens the HTTP door."""

from __future__ import annotations

from outlive.store.tokens import EVERYTHING, Tokens
from outlive.verbs.spec import STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

NAME = Arg("name", STR, "What the token is called: the client that it is for.", required=True, cli="NAME")
SHOWN_ONCE = "The token is shown this once, and stored as a hash. Clients send it as: Authorization: Bearer TOKEN"


def token_add(ctx: Context, *, name: str, scope: str | None = None) -> dict[str, Any]:
    """Errors: invalid_argument, config_error, io_error."""
    made, secret = Tokens(ctx.store).add(name, scope)
    return {**made.shown(), "token": secret, "hint": SHOWN_ONCE}


VERB = Verb(
    "token add",
    "Make a token for a client of `outlive serve`.",
    token_add,
    args=(
        NAME,
        Arg(
            "scope",
            STR,
            f"Whose jobs it sees and touches. Tokens of one scope share their jobs; {EVERYTHING} sees all jobs of the "
            "root. Default: its own name.",
            metavar="SCOPE",
        ),
    ),
    result="name scope created_at token hint",
    mcp=False,
    detail="The answer holds the token, this once: what is stored is its hash. Running servers know it at once.",
)
