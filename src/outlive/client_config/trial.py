"""How the client of an entry would start its server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from outlive.client_config.registry import Client

_OF_A_DESKTOP = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # where no shell has read its start files
_KEPT_BY_A_DESKTOP = ("HOME", "LANG", "LOGNAME", "SHELL", "TMPDIR", "USER", "XDG_RUNTIME_DIR")


class Start(NamedTuple):
    """What a client starts: the words, and the whole environment of the server."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


def start_of(client: Client, words: Sequence[str], own: Mapping[str, str], env: Mapping[str, str]) -> Start:
    """Return how this client starts a server. `own`: the variables that the entry sets; `env`: those of this shell,
    from which a client in a terminal would be started."""
    given = {name: env[name] for name in _KEPT_BY_A_DESKTOP if name in env} if client.desktop else dict(env)
    if client.desktop:
        given |= _OF_A_DESKTOP
    if client.passes is not None:
        given = {name: value for name, value in given.items() if name in client.passes}
    return Start(tuple(words), tuple(sorted({**given, **own}.items())))
