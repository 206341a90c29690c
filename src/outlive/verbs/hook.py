"""Answer the hooks of an agent host."""

from __future__ import annotations

from outlive.verbs.spec import STR, Arg, Verb

VERB = Verb(
    "hook",
    "Answer a hook of an agent host with what happened to its session's jobs.",
    args=(
        Arg("host", STR, "The host that calls.", required=True, cli="HOST", choices=("claude-code", "codex", "gemini")),
    ),
    mcp=False,
    program=True,
    detail="The host writes what happens to it on stdin, as JSON; the answer is JSON in the host's own form, or nothing. The "
    "notices are added to the conversation; at a stop the agent goes on with them. The exit status is always 0: "
    "a hook that fails would hold up the host.",
)
