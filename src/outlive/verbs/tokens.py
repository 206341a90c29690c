"""Tokens for the clients of `outlive serve`: add, list, revoke."""

from __future__ import annotations

from outlive.store.tokens import EVERYTHING, Tokens
from outlive.verbs.spec import STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

_SHOWN_ONCE = "The token is shown this once, and stored as a hash. Clients send it as: Authorization: Bearer TOKEN"
_NAME = Arg("name", STR, "Name of the token: the client that it is for.", required=True, cli="NAME")


def token_add(ctx: Context, *, name: str, scope: str | None = None) -> dict[str, Any]:
    """Make a token. Errors: invalid_argument, config_error, io_error."""
    made, secret = Tokens(ctx.store).add(name, scope)
    return {**made.shown(), "token": secret, "hint": _SHOWN_ONCE}


def token_list(ctx: Context) -> dict[str, Any]:
    """Return the tokens without their secrets. Errors: config_error, io_error."""
    return {"root": ctx.store.path, "tokens": [token.shown() for token in Tokens(ctx.store).all()]}


def token_revoke(ctx: Context, *, name: str) -> dict[str, Any]:
    """Delete a token. Errors: invalid_argument, config_error, io_error."""
    return {**Tokens(ctx.store).revoke(name).shown(), "revoked": True}


ADD = Verb(
    "token add",
    "Make a token for a client of `outlive serve`.",
    token_add,
    args=(
        _NAME,
        Arg(
            "scope",
            STR,
            f"Whose jobs the client sees. Tokens of one scope share their jobs; {EVERYTHING} sees all jobs of the root. "
            "Default: the name of the token.",
            metavar="SCOPE",
        ),
    ),
    result="name scope created_at token hint",
    mcp=False,
    detail="The answer shows the token once; only its hash is stored. Running servers accept it at once.",
)
LIST = Verb(
    "token list",
    "List the tokens of this root, without their secrets.",
    token_list,
    result="root tokens",
    mcp=False,
)
REVOKE = Verb(
    "token revoke",
    "Revoke a token: servers refuse it from now on.",
    token_revoke,
    args=(_NAME,),
    result="name scope created_at revoked",
    mcp=False,
    detail="Running servers refuse the token at once and end its open streams within seconds. Its jobs stay; a new token "
    "of the same scope sees them.",
)
