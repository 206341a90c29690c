"""Start the server of an entry as its client would, and ask it for its tools."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence

from outlive.client_config.registry import Client

LIMIT_S = 30  # a busy machine needs 3
_OF_A_DESKTOP = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # where no shell has read its start files
_KEPT_BY_A_DESKTOP = ("HOME", "LANG", "LOGNAME", "SHELL", "TMPDIR", "USER", "XDG_RUNTIME_DIR")
_SHOWN = 300


class Start:
    """What a client starts: the words, and the whole environment of the server."""

    __slots__ = ("env", "words")

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.words = tuple(words)
        self.env = tuple(sorted(env.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Start) and (self.words, self.env) == (other.words, other.env)

    def __hash__(self) -> int:
        return hash((self.words, self.env))


def start_of(client: Client, words: Sequence[str], own: Mapping[str, str], env: Mapping[str, str]) -> Start:
    """Return how this client starts a server.

    `own`: the variables that the entry sets; `env`: those of this shell, from which a client in a
    terminal would be started.
    """
    given = {name: env[name] for name in _KEPT_BY_A_DESKTOP if name in env} if client.desktop else dict(env)
    if client.desktop:
        given |= _OF_A_DESKTOP
    if client.passes is not None:
        given = {name: value for name, value in given.items() if name in client.passes}
    return Start(words, {**given, **own})


def tools(starts: Sequence[Start], cwd: str | None) -> dict[Start, list[str] | str]:
    """Start all of these servers at once; return for each the names of its tools, or what went
    wrong."""
    import anyio

    answers: dict[Start, list[str] | str] = {}

    async def ask(start: Start) -> None:
        answers[start] = await _asked(start, cwd)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for start in set(starts):
                group.start_soon(ask, start)

    anyio.run(ask_all)
    return answers


async def _asked(start: Start, cwd: str | None) -> list[str] | str:
    import anyio
    from mcp.client.client import Client as Session
    from mcp.client.stdio import StdioServerParameters, stdio_client

    how = StdioServerParameters(command=start.words[0], args=list(start.words[1:]), env=dict(start.env), cwd=cwd)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            with anyio.fail_after(LIMIT_S):
                async with Session(stdio_client(how, errlog=log)) as session:
                    return [tool.name for tool in (await session.list_tools()).tools]
        except TimeoutError:
            return f"it did not answer within {LIMIT_S} s"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the client would meet
            log.seek(0)
            said = log.read().strip().splitlines()
            return f"it does not answer: {(said[-1] if said else _reason(error))[:_SHOWN]}"


def _reason(error: BaseException) -> str:
    """Return the first of the errors that a task group has gathered."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
