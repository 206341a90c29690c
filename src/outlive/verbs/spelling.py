"""Errors name an argument as the caller spells it: `workdir` over MCP, `--cwd` on the command line.

What jobs/ raises names an argument by the parameter of the verb's function: in `details.field` as it is, in a message
or a hint as a mark made by `errors.argument`. Each face passes its errors through `spelled`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from outlive.errors import FACES, MARK, OutliveError
from outlive.verbs import load
from outlive.verbs.spec import Arg

CLI, MCP = "cli", "mcp"


def spelled(
    error: OutliveError,
    face: str,
    args: Iterable[Arg],
    written: Mapping[str, str] | None = None,
    *,
    texts: bool = True,
) -> OutliveError:
    """Return the error with every argument named as on this face. `args` are the arguments of the verb that was called,
    `written` tells for parameters that the caller named otherwise, by an alias or in camelCase, how it wrote them. Without
    `texts` what else differs by the face is left to a later call."""
    details = error.details or {}
    if "field" not in details and MARK[0] not in f"{error.message}{error.hint}":
        return error
    own = {**_names(face, args), **(written or {})}
    names = {**_names(face, load("run").args), **own}  # a hint may say how to start the job another time
    shown = face if texts else None
    error.message = _replaced(error.message, names, shown)
    error.hint = None if error.hint is None else _replaced(error.hint, names, shown)
    if "field" in details:
        field = _replaced(str(details["field"]), own, shown)
        error.details = {**details, "field": own.get(field, field)}
    return error


def _names(face: str, args: Iterable[Arg]) -> dict[str, str]:
    """Return the names on this face by parameter. A positional of the command line is named in lower case."""
    names = {}
    for arg in args:
        name = arg.mcp if face == MCP else arg.cli if arg.cli.startswith("-") else arg.cli.lower()
        if name:
            names[arg.name] = name
    return names


def _replaced(text: str, names: dict[str, str], face: str | None) -> str:
    if MARK[0] not in text:
        return text
    named = re.sub(f"{MARK[0]}([a-z_]+){MARK[1]}", lambda mark: names.get(mark[1], mark[1]), text)
    if face is None:
        return named
    texts = f"{MARK[0]}([^{MARK}]*){FACES}([^{MARK}]*){MARK[1]}"
    return re.sub(texts, lambda mark: mark[2 if face == MCP else 1], named)
