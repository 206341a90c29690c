"""What a client gets of an answer: the text, the object, or both. It depends on what the client
shows to its model (docs/reference/mcp.md has the table).

Nothing here needs the SDK: the list of tools, which depends on this, is made before that is
imported.
"""

from __future__ import annotations

TEXT, JSON, BOTH = "text", "json", "both"
OPENCLAW = "openclaw-bundle-mcp"
ANSWER = "outlive/answer"  # in the _meta of a result
# These show the object where there is one, and drop the text or show both again and again
_SHOW_THE_OBJECT = frozenset({"claude-code", "codex-mcp-client", OPENCLAW})
_GEMINI = "gemini-cli-mcp-client"  # and a hyphen and the name of the server


def answers_of(client: str | None, asked: str | None = None) -> str:
    """Return what a client of this name gets. `asked` is the value of `--answers`."""
    return asked or (TEXT if client in _SHOW_THE_OBJECT else BOTH)


def error_of(client: str | None, asked: str | None = None) -> str:
    """Return what a client of this name gets of an error. Gemini CLI shows its model the whole result of a call that
    failed, and with it the text and the object."""
    return TEXT if asked is None and (client or "").startswith(_GEMINI) else answers_of(client, asked)


def has_output_schema(client: str | None, asked: str | None = None) -> bool:
    """Return whether tools are listed with an output schema: it promises the object."""
    return answers_of(client, asked) != TEXT


def in_meta(client: str | None) -> bool:
    """Return whether a client that gets the text alone gets the object in `_meta`, under ANSWER: it was seen to show
    its model nothing of that, and to hand it to programs."""
    return client in _SHOW_THE_OBJECT


def job_word(client: str | None) -> str | None:
    """Return what this client calls the id of a job; None for our own word."""
    return "sessionId" if client == OPENCLAW else None
