"""MCP over HTTP: streamable and SSE, for clients that have a token."""

from outlive.part import Part


class Http(Part):
    name = "http"
    verbs = {
        "serve": "outlive.parts.http.verbs:SERVE",
        "token add": "outlive.parts.http.verbs:TOKEN_ADD",
        "token list": "outlive.parts.http.verbs:TOKEN_LIST",
        "token revoke": "outlive.parts.http.verbs:TOKEN_REVOKE",
    }
    for_person = {"token_list": "outlive.parts.http.verbs:tokens"}
    checks = {"serving": "outlive.parts.http.check:serving"}


PART = Http()
