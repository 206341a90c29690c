"""A plugin of pytest: servers, and clients that are connected to them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import preloaded
from support.cli import Cli
from support.face import Face
from support.mcp_client import ERAS, McpSession, RawMcp
from support.serve import Served
from support.surroundings import change, settle_in


@pytest.fixture(scope="module", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """A test that uses this, or a fixture that does, runs once for each era of the protocol."""
    found: str = request.param
    return found


@pytest.fixture
def mcp_connect(era: str, place: Path) -> Iterator[Callable[..., McpSession]]:
    """`mcp_connect(client_name=…, args=…, env=…, cwd=…)` starts a server and connects the SDK's client to it."""
    with contextlib.ExitStack() as stack:

        def connect(**how: Any) -> McpSession:
            return stack.enter_context(McpSession(**{"log": place / "mcp.log", "era": era, **how}))

        yield connect


@pytest.fixture
def serve(cli: Cli, place: Path) -> Iterator[Callable[..., Served]]:
    """`serve(*args)` starts `outlive serve` on a free port of this machine, with a token named tests."""
    with contextlib.ExitStack() as stack:
        started = 0

        def start(*args: str, **how: Any) -> Served:
            nonlocal started
            started += 1
            return stack.enter_context(Served(cli, place / f"serve{started}.log", *args, **how))

        yield start


@pytest.fixture
def mcp_session(mcp_connect: Callable[..., McpSession]) -> McpSession:
    """A server with the SDK's client connected to it, in each era."""
    return mcp_connect()


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers live that tests of this module share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    """What the client of a module's shared server has beyond the usual; a module overrides it."""
    return {}


@pytest.fixture(scope="module")
def shared_where(shared_place: Path) -> dict[str, Any]:
    """Environment and directory of a server that tests of this module share."""
    return {"env": settle_in(shared_place), "cwd": shared_place / "work"}


@pytest.fixture(scope="module")
def shared_server(
    era: str, shared_place: Path, shared_where: dict[str, Any], shared_options: dict[str, Any]
) -> Iterator[McpSession]:
    with McpSession(log=shared_place / "mcp.log", era=era, **shared_where, **shared_options) as session:
        yield session


@pytest.fixture
def shared_session(shared_server: McpSession, place: Path) -> Iterator[McpSession]:
    """One server for all tests of a module: starting one for each costs more than what most of them do. It has no job
    when a test begins, and the directories are empty. A module whose tests leave the server as it is says so once:
    its `mcp_session` is this one (and a mark that sets `era` is `indirect`)."""
    yield from _lent(shared_server, place)


@pytest.fixture(scope="module")
def face_server(
    shared_place: Path, shared_where: dict[str, Any], shared_options: dict[str, Any]
) -> Iterator[McpSession]:
    """Which era carries an answer makes no difference to it: heart/mcp/test_tools.py runs in both."""
    with McpSession(log=shared_place / "mcp.log", **shared_where, **shared_options) as session:
        yield session


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, face_server: McpSession, place: Path) -> Iterator[Face]:
    """The command line, and then the tools, with one server for all tests of a module. All jobs are removed after each test."""
    for session in _lent(face_server, place):
        yield Face(request.param, cli, session)


def _lent(server: McpSession, place: Path) -> Iterator[McpSession]:
    server.messages.clear()
    yield server
    _clear(server, place)


def _clear(server: McpSession | RawMcp, place: Path) -> None:
    while jobs := server.call("process", action="list", all=True, limit=0)["jobs"]:  # a long list is answered in parts
        for job in jobs:
            assert server.call("process", action="remove", job_id=job["job_id"])["ok"]
    for path in (place / "work").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def shared_raw_options() -> dict[str, Any]:
    """What the server and the client of `shared_raw` have beyond the usual; a module overrides it."""
    return {}


@pytest.fixture(scope="module")
def shared_raw_server(
    era: str, shared_place: Path, shared_where: dict[str, Any], shared_raw_options: dict[str, Any]
) -> Iterator[RawMcp]:
    with RawMcp(log=shared_place / "raw.log", era=era, **shared_where, **shared_raw_options) as raw:
        yield raw.start()


@pytest.fixture
def shared_raw(shared_raw_server: RawMcp, place: Path) -> Iterator[RawMcp]:
    """Lines of JSON-RPC to one server for all tests of a module. When a test begins, there is no job, no open request
    and no message, as with `shared_session`."""
    yield shared_raw_server
    shared_raw_server.cancel_all()
    _clear(shared_raw_server, place)
    shared_raw_server.others.clear()


@pytest.fixture(scope="module")
def shared_serve(shared_place: Path) -> Iterator[Served]:
    """One `outlive serve -v`, started for real, for tests of a module that leave it as it is."""
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(preloaded, "allowed", False)
            change(monkeypatch, settle_in(shared_place))
            served = Served(Cli(shared_place / "jobs"), shared_place / "serve.log", "-v")
            stack.enter_context(served)
        yield served


@pytest.fixture
def raw_mcp(place: Path) -> Iterator[Callable[..., RawMcp]]:
    """`raw_mcp(era="modern", …)` starts a server and gives a line of JSON-RPC to it, hands shaken (`start=False`: not)."""
    with contextlib.ExitStack() as stack:

        def connect(*, start: bool = True, **how: Any) -> RawMcp:
            raw = stack.enter_context(RawMcp(**{"log": place / "mcp.log", **how}))
            return raw.start() if start else raw

        yield connect
