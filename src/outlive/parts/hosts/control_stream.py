"""Carry a job's control connection over a pair of byte streams, files in messages included.

The control socket of a job (supervisor/control_server.py) takes whole messages with open files;
what leads to another machine carries bytes. Each message becomes a frame: a line of JSON with the
sizes of the message and of its files, then their bytes.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from outlive import limits
from outlive.core.members import parse_json
from outlive.system import fds

_LINE_BYTES = 4096
_MOST_BYTES = limits.MAX_STDIN_WRITE_BYTES + limits.CONTROL_BYTES
_SHUT_RD = 0  # sys/socket.h


def write_frame(out: IO[bytes], message: bytes, files: list[bytes]) -> None:
    """Errors: OSError."""
    sizes = [len(message), *map(len, files)]
    out.write(b"".join((json.dumps(sizes).encode(), b"\n", message, *files)))
    out.flush()


def read_frame(source: IO[bytes]) -> tuple[bytes, list[bytes]] | None:
    """Return a message and the contents of its files; None at the end of the stream, or if what
    comes is no frame."""
    try:
        sizes = parse_json(source.readline(_LINE_BYTES))
        if not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) > _MOST_BYTES:
            return None
        parts = [source.read(size) for size in sizes]
    except (OSError, ValueError, TypeError):
        return None
    if not parts or [len(part) for part in parts] != sizes:
        return None
    return parts[0], parts[1:]


def carry(
    sock: socket.socket,
    source: IO[bytes],
    out: IO[bytes],
    *,
    answered: Callable[[bytes], bytes | None] | None = None,
    abandoned: Callable[[], None] | None = None,
) -> bool:
    """Carry messages both ways until one side ends. Return whether any came from `source`.

    `answered` gets each message from `source`: what it returns is sent back, and the socket does
    not get that message. `abandoned` is called if the socket ends before any message came.
    """
    came = threading.Event()

    def from_socket() -> None:
        try:
            while True:
                message, files = fds.receive(sock, limits.CONTROL_BYTES)
                contents = [fds.read_all(fd) for fd in files]
                for fd in files:
                    os.close(fd)
                if not message:
                    break
                write_frame(out, message, contents)
        except (OSError, ValueError):
            pass
        with suppress(OSError):
            out.close()
        if abandoned is not None and not came.is_set():
            abandoned()

    threading.Thread(target=from_socket, daemon=True).start()
    while (frame := read_frame(source)) is not None:
        message, contents = frame
        came.set()
        if answered is not None and (answer := answered(message)) is not None:
            write_frame(out, answer, [])
            continue
        files = [fds.memory_file("relayed", content) for content in contents]
        try:
            fds.send(sock, message, tuple(files))
        except OSError:
            break
        finally:
            for fd in files:
                os.close(fd)
    with suppress(OSError):
        sock.shutdown(_SHUT_RD)
    return came.is_set()
