"""Serve MCP to many clients over HTTP."""

from __future__ import annotations

from outlive import limits
from outlive.verbs.spec import ANSWERS, BOOL, INT, PATH, STR, STRS, TOOLS, Arg, Verb

VERB = Verb(
    "serve",
    "Serve MCP over HTTP, to clients that have a token.",
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
    mcp=False,
    program=True,
    detail="Streamable HTTP is served at /mcp, SSE at /sse, the page of `outlive ui` at /ui. Every request needs a token, as `Authorization: Bearer TOKEN`. "
    "The first start makes the first token; `outlive token add NAME` makes more. Jobs outlive the server.\n\n"
    "With -v each request is logged on stderr, without its token.",
)  # fmt: skip
