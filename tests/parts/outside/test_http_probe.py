"""One GET of a wait for a web server: bounded, whatever the server does."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from outlive.parts.outside import http_get
from outlive.parts.outside.http_get import status_of


@contextlib.contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Answers one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError), listener.accept()[0] as line:
                answer(line)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(60)
        assert not thread.is_alive()


def _continues(line: socket.socket) -> None:
    while True:
        line.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def _drips(line: socket.socket) -> None:
    gone = threading.Event()
    while True:
        line.sendall(b"H")
        gone.wait(0.01)


@pytest.mark.parametrize("answer", [_continues, _drips])
def test_a_server_that_never_comes_to_its_answer_keeps_nobody(
    answer: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_get, "HTTP_S", 0.2)
    with server(answer) as url:
        assert status_of(url).status is None


def test_the_status_after_a_provisional_one_counts_and_the_body_is_not_waited_for() -> None:
    parts = [b"HTTP/1.1 103 Early\r\nLink: x\r\n", b"\r\nHTTP/1.", b"1 204 No Content\r\n\r\n"]

    def answer(line: socket.socket) -> None:
        for part in parts:
            line.sendall(part)
        line.recv(4096)
        line.recv(1)  # until it hangs up

    with server(answer) as url:
        assert status_of(url).status == 204


def test_letters_that_no_request_line_holds_are_sent_encoded() -> None:
    got: list[bytes] = []

    def answer(line: socket.socket) -> None:
        got.append(line.recv(4096))
        line.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

    with server(answer) as url:
        assert status_of(url + "é?a=%20b").status == 200
    assert got[0].startswith(b"GET /%C3%A9?a=%20b HTTP/1.1\r\n")
