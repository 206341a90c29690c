"""The answers of help, token, host, doctor and ui."""

from __future__ import annotations

from outlive.answers import ALWAYS, TIME, Answer, Part, field, part
from outlive.answers.job import HINT
from outlive.answers.named import OwnFinding
from outlive.core.records import NETWORKS, RIGHTS, SANDBOXES


class Help(Answer):  # of process help
    actions: dict[str, str] = field("What each action of process does, and its arguments.", brief=ALWAYS)


class Token(Part):
    """One token, without its secret."""

    name: str = field("The client it was made for.", human=9)
    scope: str = field("Whose jobs it sees and touches; * means all jobs.")
    rights: list[str] = field("What its client may do.", items={"enum": [*RIGHTS]})
    workdir: str | None = field("The directory in which, or below which, the client's jobs run; null: any.")
    sandbox: dict[str, object] | None = field(
        "The most that its client's jobs may do; null: what the configuration allows.",
        properties={"mode": {"enum": [*SANDBOXES[:-1]]}, "network": {"enum": [*NETWORKS]}},
        required=["mode"],
    )
    approves: bool = field("May forms of its client approve and deny the commands it runs?")
    created_at: str = field("When it was made.", format=TIME)
    expires_at: str | None = field("When it opens nothing any more; null: never.", format=TIME)
    expired: bool = field("Does it open nothing any more because of its age?")


class NamedToken(Token):
    """The token of an answer."""

    name: str = field("The client for which the token was made.", human=9)
    scope: str = field("Whose jobs the token sees and touches; * means all jobs.")
    created_at: str = field("When the token was made.", format=TIME)


class TokenAdded(Answer):  # of token add
    about: NamedToken = part(NamedToken)
    token: str = field("The secret, shown this once.")
    hint: str = field("What to do next.", human=HINT.human)


class TokenRevoked(Answer):  # of token revoke
    about: NamedToken = part(NamedToken)
    revoked: bool = field("Does it open nothing any more?")
    hint: str | None = HINT


class TokenList(Answer):  # of token list
    root: str = field("The job root.")
    tokens: list[Token] = field("The tokens.")


_CHECKS = "What was checked."


class Examined(Answer):  # of doctor
    healthy: bool = field("Did no check fail? Warnings do not count.")
    checks: list[OwnFinding] = field(_CHECKS)


class Ui(Answer):  # of ui
    url: str = field("A one-time link to the page.")
    root: str = field("The job root.")
    serves: bool = field("Whether this process serves the page; false if another one does.")
