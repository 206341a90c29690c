"""`serve`, and the tokens of its clients: add, list, revoke."""

from __future__ import annotations

import os

from outlive import limits
from outlive.answers import TIME, Answer, Fields, field, inline
from outlive.answers.job import HINT
from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.members import Members, entries_of
from outlive.core.real_path import real_path
from outlive.core.records import CONTROL, EXEC, GIT, NETWORKS, READ, RIGHTS, SANDBOXES
from outlive.core.units import duration_ms
from outlive.errors import argument, invalid
from outlive.jobs import acts
from outlive.jobs.context import Context
from outlive.parts.http.tokens import EVERYTHING, Tokens
from outlive.verbs.spec import ANSWERS, BOOL, INT, PATH, STR, STRS, TOOLS, Arg, Verb

_SHOWN_ONCE = "The token is shown this once, and stored as a hash. Clients send it as: Authorization: Bearer TOKEN"
_NAME = Arg("name", STR, "Name of the token: the client that it is for.", required=True, cli="NAME")


class Token(Fields):
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
    about: NamedToken = inline(NamedToken)
    token: str = field("The secret, shown this once.")
    hint: str = field("What to do next.", human=HINT.human)


class TokenRevoked(Answer):  # of token revoke
    about: NamedToken = inline(NamedToken)
    revoked: bool = field("Does it open nothing any more?")
    hint: str | None = HINT


class TokenList(Answer):  # of token list
    root: str = field("The job root.")
    tokens: list[Token] = field("The tokens.")


def token_add(
    ctx: Context,
    *,
    name: str,
    scope: str | None = None,
    read_only: bool = False,
    no_exec: bool = False,
    workdir: str | None = None,
    sandbox: str | None = None,
    network: str | None = None,
    git: str | None = None,
    approves: bool = False,
    expires: str | None = None,
) -> TokenAdded:
    """Make a token. Errors: invalid_argument, config_error, io_error."""
    level = READ if read_only else CONTROL if no_exec else EXEC
    if level != EXEC:
        for field, value in (("workdir", workdir), ("sandbox", sandbox), ("approves", approves or None)):
            if value is not None:
                raise invalid(field, f"a token that runs no commands needs no {argument(field)}", usage=True)
    for field, value in (("network", network), ("git", git)):
        if value is not None and sandbox is None:
            raise invalid(field, f"{argument(field)} goes with {argument('sandbox')}", usage=True)
    if workdir is not None and not os.path.isdir(workdir):
        raise invalid("workdir", f"not a directory: {workdir}", usage=True)
    lifetime_ms = None if expires is None else duration_ms(expires, argument("expires"), bare_unit=None)
    if lifetime_ms == 0:
        raise invalid("expires", "a token that expires at once opens nothing", usage=True)
    named = {"mode": sandbox, "network": network, "git": git}
    ceiling = {key: value for key, value in named.items() if value} or None
    workdir = None if workdir is None else real_path(workdir)
    facts = {"name": name, "scope": scope or name, "level": level, "workdir": workdir, "expires": expires}
    acts.about_to(ctx, "token add", None, **facts, sandbox=ceiling, approves=approves)
    made, secret = Tokens(ctx.store).add(
        name, scope, level=level, workdir=workdir, sandbox=ceiling, approves=approves, lifetime_ms=lifetime_ms
    )
    return TokenAdded(about=NamedToken(**made.shown()), token=secret, hint=_SHOWN_ONCE)


def token_list(ctx: Context) -> TokenList:
    """Return the tokens without their secrets. Errors: config_error, io_error."""
    return TokenList(root=ctx.store.path, tokens=[Token(**token.shown()) for token in Tokens(ctx.store).all()])


def tokens(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return the list of tokens for a person."""
    found = entries_of(answer, "tokens")
    return human.table_of(found, style) if found else "There are no tokens: `outlive token add NAME` makes one.\n"


def token_revoke(ctx: Context, *, name: str) -> TokenRevoked:
    """Delete a token. Errors: invalid_argument, config_error, io_error."""
    acts.about_to(ctx, "token revoke", name=name)
    return TokenRevoked(about=NamedToken(**Tokens(ctx.store).revoke(name).shown()), revoked=True)


TOKEN_ADD = Verb(
    "token add",
    "Make a token for a client of `outlive serve`.",
    token_add,
    group="Serve",
    args=(
        _NAME,
        Arg(
            "scope",
            STR,
            f"Whose jobs the client sees. Tokens of one scope share their jobs; {EVERYTHING} sees all jobs of the root. "
            "Default: the name of the token.",
            metavar="SCOPE"
        ),
        Arg("read_only", BOOL, "The client only reads: output, states and events, and it waits for them.", default=False),
        Arg("no_exec", BOOL, "The client reads and controls jobs (write, kill, remove, …), and runs no commands: no exec, "
            "create, start or restart, no command or file that is notified.", default=False),
        Arg("workdir", PATH, "The client's jobs run in this directory or below it, by default in it.", metavar="DIR"),
        Arg("sandbox", STR, "The most that the client's jobs may do: they run in this sandbox or a stricter one.",
            choices=SANDBOXES[:-1]),
        Arg("network", STR, "The most that the network of this sandbox may be (default: the configuration's, else loopback).",
            choices=NETWORKS),
        Arg("git", STR, "The most that its jobs may do to git repositories there (default: read).", choices=GIT),
        Arg("approves", BOOL, "The client may be sent forms that approve and deny the commands it runs: give it only where a "
            "person answers them. Without it `outlive approve` does.", default=False),
        Arg("expires", STR, "The token opens nothing after this long, such as 12h or 30d (default: it does not expire).",
            metavar="DURATION"),
    ),
    result=TokenAdded,
    detail="The answer shows the token once; only its hash is stored. Running servers accept it at once. A call beyond "
    "its rights is the error denied. A running shell obeys what is written to it, so a token that may write to one can run "
    "commands in it; a command can leave the directory in which it starts.",
)  # fmt: skip
TOKEN_LIST = Verb(
    "token list",
    "List the tokens of this root, without their secrets.",
    token_list,
    group="Serve",
    result=TokenList,
)
TOKEN_REVOKE = Verb(
    "token revoke",
    "Revoke a token: servers refuse it from now on.",
    token_revoke,
    group="Serve",
    args=(_NAME,),
    result=TokenRevoked,
    detail="Running servers refuse the token at once and end its open streams within seconds. Its jobs stay; a new token "
    "of the same scope sees them.",
)
SERVE = Verb(
    "serve",
    "Serve MCP over HTTP, to clients that have a token.",
    group="Serve",
    program="outlive.parts.http.serve:main",
    args=(
        Arg("host", STR, "Address to listen on (default: 127.0.0.1). Any address but this machine's own needs --certfile "
            "or --plaintext.", metavar="ADDRESS"),
        Arg("port", INT, f"Port to listen on (default: {limits.SERVE_PORT}); 0 takes a free one and prints it.", minimum=0,
            maximum=65_535),
        Arg("socket", STR, "Listen on a Unix socket (mode 0600) instead of a port.", metavar="PATH"),
        Arg("certfile", PATH, "Serve HTTPS with this certificate (PEM, with its chain)."),
        Arg("keyfile", PATH, "Private key of the certificate, if it is in a file of its own."),
        Arg("plaintext", BOOL, "Listen on other addresses without TLS. Everyone on the network can then read every token: "
            "only for a network that encrypts, or behind a proxy on another machine.", default=False),
        Arg("allow_host", STRS, "Name under which clients address this server, besides localhost and the address itself. "
            "NAME:PORT allows that port only.", default=(), metavar="NAME"),
        Arg("prefix", STR, "Beginning of the URL path that a reverse proxy removes, such as /outlive.", default="",
            metavar="PATH"),
        Arg("workdir", PATH, "Directory for jobs that name none. Without it every job has to name one.", metavar="DIR"),
        TOOLS,
        ANSWERS,
        Arg("stateless", BOOL, "Keep no sessions for clients of protocols before 2026-07-28. Several servers over one root "
            "can then share these clients, but the clients cannot subscribe to resources.", default=False),
    ),
    detail="Streamable HTTP is served at /mcp, SSE at /sse, the page of `outlive ui` at /ui. Every request needs a token, as `Authorization: Bearer TOKEN`. "
    "The first start makes the first token; `outlive token add NAME` makes more. Jobs outlive the server.\n\n"
    "With -v each request is logged on stderr, without its token.",
)  # fmt: skip
