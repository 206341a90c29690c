"""A server that ends waits for what it started, and leaves no file behind, whether its client goes or a signal comes."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import pytest

from support.cli import Cli
from support.serve import Served
from support.tiers import first


@pytest.mark.parametrize("number", first(1, [signal.SIGTERM, signal.SIGINT]))
def test_a_signal_ends_a_server_over_http_and_deletes_its_socket(number: int, cli: Cli, place: Path) -> None:
    path = place / "socket"
    with Served(cli, place / "serve.log", "--socket", str(path)) as served:
        assert path.is_socket()
        served.process.send_signal(number)
        assert served.process.wait(60) in (-number, 128 + number)
    assert not path.exists()


IN_THE_LOOP = """import asyncio, os
from outlive.parts.http import serving
real = serving._until_stopped
async def late(*args):
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), 15)
    await asyncio.sleep(0.05)
    await real(*args)
serving._until_stopped = late"""


def test_a_signal_that_comes_before_uvicorn_waits_for_it_ends_a_server_over_http(cli: Cli, place: Path) -> None:
    path = place / "socket"
    with Served(cli, place / "serve.log", "--socket", str(path), patch=IN_THE_LOOP) as served:
        assert served.process.wait(60) == -signal.SIGTERM
    assert not path.exists()


def test_sigterm_before_a_server_over_http_listens_deletes_its_socket_too(cli: Cli, place: Path) -> None:
    path = place / "socket"
    early = "from outlive.parts.http import greeting; import os; greeting.greet = lambda *_: os.kill(os.getpid(), 15)"
    served = Served(cli, place / "serve.log", "--socket", str(path), patch=early)
    with contextlib.ExitStack() as stack:
        with pytest.raises(AssertionError, match="ended with -15"):
            stack.enter_context(served)
        served.__exit__()
    assert not path.exists()
