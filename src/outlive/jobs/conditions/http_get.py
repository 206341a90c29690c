"""One GET of a wait for a web server: bounded, whatever the server does."""

from __future__ import annotations

import socket
import ssl
import time
from urllib.parse import SplitResult, quote, urlsplit

import h11  # http.client has a time-out for each byte only: a server that drips would keep the thread for ever

from outlive import limits
from outlive.jobs.conditions.condition import Answered
from outlive.system import ports

_PRINTABLE = "".join(map(chr, range(33, 127)))  # what a caller encoded stays as it is


def status_of(url: str) -> Answered:
    """Return what one GET was answered.

    No redirect is followed, no proxy used and no certificate checked, because only the status
    counts.
    """
    try:
        status, address = _get(url, time.monotonic() + limits.HTTP_S)
    except (OSError, h11.ProtocolError, ValueError) as error:
        return Answered(f"{url}: {error or type(error).__name__}")
    return Answered(f"{url} answered with status {status}", status, address)


def _get(url: str, until: float) -> tuple[int, str]:
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
    with _connected(parts, until) as sock:
        sock.sendall(question)
        while True:
            event = talk.next_event()
            if isinstance(event, h11.Response):
                return int(event.status_code), ports.peer_of(sock)
            if event is h11.NEED_DATA:
                sock.settimeout(_left(until))
                talk.receive_data(sock.recv(65_536))
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("it closed the connection without an answer")
            _left(until)


def _connected(parts: SplitResult, until: float) -> socket.socket:
    secure = parts.scheme == "https"
    sock = socket.create_connection((parts.hostname or "", parts.port or (443 if secure else 80)), _left(until))
    if not secure:
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
