"""One GET of a wait for a web server: bounded, whatever the server does."""

from __future__ import annotations

import socket
import ssl
import time
from urllib.parse import SplitResult, quote, urlsplit

import h11  # http.client has a time-out for each byte only: a server that drips would keep the thread for ever

from outlive.parts import tcp
from outlive.parts.outside.http_answer import HTTP_S, HttpAnswer

_PRINTABLE = "".join(map(chr, range(33, 127)))  # what a caller encoded stays as it is


def status_of(url: str, wanted: int | None = None) -> HttpAnswer:
    """Return what one GET was answered: by the first address of the host that gives the status `wanted`, or without one a
    success or a redirect; else by the first that answers. Takes up to HTTP_S for each address.

    No redirect is followed, no proxy used and no certificate checked, because only the status
    counts.
    """
    refusals: list[HttpAnswer] = []
    answers: list[HttpAnswer] = []
    try:
        parts = urlsplit(url)
        for target in tcp.targets(parts.hostname or "", _port(parts)):
            try:
                status, address = _get(url, target, time.monotonic() + HTTP_S)
            except (OSError, h11.ProtocolError) as error:
                refusals.append(HttpAnswer(f"{url}: {error or type(error).__name__}"))
                continue
            fits = status == wanted if wanted else 200 <= status < 400
            answers.append(HttpAnswer(f"{url} answered with status {status}", status, address, fits))
            if fits:
                return answers[-1]
    except (OSError, ValueError) as error:
        refusals.append(HttpAnswer(f"{url}: {error or type(error).__name__}"))
    return [*answers, *refusals, HttpAnswer(f"{url}: it has no address")][0]


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _get(url: str, where: tcp.Target, until: float) -> tuple[int, str]:
    """Return the status of the first final answer (not 1xx), and the address of the server.

    Errors: OSError, h11.ProtocolError, ValueError.
    """
    parts = urlsplit(url)
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PRINTABLE)
    host = parts.netloc.rpartition("@")[2]
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    headers = [("Host", host), ("User-Agent", "outlive"), ("Accept", "*/*"), ("Connection", "close")]
    talk = h11.Connection(our_role=h11.CLIENT)
    question = talk.send(h11.Request(method="GET", target=target, headers=headers)) or b""
    question += talk.send(h11.EndOfMessage()) or b""
    with _connected(parts, where, until) as sock:
        sock.sendall(question)
        while True:
            event = talk.next_event()
            if isinstance(event, h11.Response):
                return int(event.status_code), tcp.peer_of(sock)
            if event is h11.NEED_DATA:
                sock.settimeout(_left(until))
                talk.receive_data(sock.recv(65_536))
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("it closed the connection without an answer")
            _left(until)


def _connected(parts: SplitResult, where: tcp.Target, until: float) -> socket.socket:
    sock = where.connect(_left(until))
    if parts.scheme != "https":
        return sock
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        sock.settimeout(_left(until))
        return context.wrap_socket(sock, server_hostname=parts.hostname)
    except BaseException:
        sock.close()
        raise


def _left(until: float) -> float:
    """Return the seconds left. Errors: TimeoutError."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
