"""The mirror's connection: made, lost, and made again, with growing pauses, and in turn.

sshd(8) drops logins beyond 10 at a time at random (`MaxStartups`). The mirrors of a job root
therefore log in a few at a time: each holds a lock on one byte of a file meanwhile. The kernel gives
the turn of a killed mirror back.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

from outlive.config import HostSettings
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.connecting.bundle import Bundle
from outlive.parts.hosts.ssh.connecting.connection import Broken, Connection, is_crowded
from outlive.supervisor.event_loop import EventLoop
from outlive.system import locks

AT_ONCE = 5  # other programs log in too
_NAME = ".logins-"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Turns:
    """The turns of one mirror at the machine with these settings. `on_wait()` is called when it is
    the turn of others."""

    def __init__(self, root: str, settings: HostSettings, on_wait: Callable[[], None]) -> None:
        words = [settings.target or "", *(settings.options or ())]
        self._path = os.path.join(root, f"{_NAME}{zlib.crc32(chr(0).join(words).encode()):08x}")
        self._fd = -1
        self._on_wait = on_wait

    def take(self) -> bool:
        """Return whether this mirror may log in now. Where no file can be written, each may."""
        if self._fd >= 0:
            return True
        try:
            fd = os.open(self._path, _FLAGS, 0o600)
        except OSError:
            return True
        try:
            if any(locks.take(fd, byte) for byte in range(AT_ONCE)):
                self._fd = fd
                return True
        except OSError:  # a file system without locks
            os.close(fd)
            return True
        os.close(fd)
        self._on_wait()
        return False

    def give_back(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class User(Protocol):
    """Who has the connections (mirror.py)."""

    def up(self) -> None:
        """Our end there answers."""

    def take(self, kind: int, at: int, data: wire.Content) -> None:
        """Take what it sends. An OSError ends the connection."""

    def down(self, why: str) -> None:
        """A connection has ended, or did not come about."""


_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 60.0
_LONGEST_TURN_S, _LONGEST_CROWDED_S = 1.0, 5.0
_HELLO_S = 25.0  # less than limits.LAUNCH_S: the caller of a start is told why


class Link:
    """One connection after the other."""

    def __init__(
        self, loop: EventLoop, settings: HostSettings, env: Mapping[str, str], bundle: Bundle, turns: Turns, user: User
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._env = env
        self._bundle = bundle
        self._turns = turns
        self._turn_s = _FIRST_PAUSE_S
        self._user = user
        self._connection: Connection | None = None
        self._next_connection = loop.timer(self.connect)
        self._hello = loop.timer(self.drop, f"no answer within {_HELLO_S:.0f} s")
        self._next_beat = loop.timer(self._beat)
        self._pause = _FIRST_PAUSE_S
        self._waits_for_room = False
        self._heard = 0.0
        self.is_up = False

    def connect(self) -> None:
        """Connect now, unless there is a connection or one in the making."""
        if self._connection is not None:
            return
        self._next_connection.cancel()
        if not self._turns.take():
            self._turn_s = min(_LONGEST_TURN_S, self._turn_s * 2)
            self._next_connection.after(self._turn_s * _spread())
            return
        self._turn_s = _FIRST_PAUSE_S
        try:
            self._connection = Connection(self._settings, self._env, self._bundle)
        except Broken as error:
            self._turns.give_back()
            self._later(str(error))
            return
        self._loop.read(self._connection.fileno(), self._receive)
        self._hello.after(_HELLO_S)
        self._push()

    def send(self, data: bytes) -> None:
        """Send this. Without a connection it is dropped: the next one begins anew."""
        if self._connection is not None and self.is_up:
            self._connection.send(data)
            self._push()

    def works(self) -> None:
        """Note that the connection did something: the next one is not waited for long."""
        self._pause = _FIRST_PAUSE_S

    def _push(self) -> None:
        connection = self._connection
        if connection is None:
            return
        connection.flush()
        if connection.wants_room and not self._waits_for_room:
            self._loop.write(connection.out, self._push)
        elif not connection.wants_room and self._waits_for_room:
            self._loop.forget(connection.out)
        self._waits_for_room = connection.wants_room

    def _receive(self) -> None:
        connection = self._connection
        assert connection is not None
        self._heard = time.monotonic()
        try:
            for kind, at, data in connection.messages():
                self._greet()
                self._user.take(kind, at, data)
                if self._connection is not connection:  # it was closed over this message
                    return
            self._greet()
            self._push()
        except Broken as error:
            self.drop(str(error))
        except wire.Nonsense as error:
            self.drop(f"what answers there does not talk as outlive does: {error}")
        except OSError as error:
            self.drop(f"what came could not be written here: {os.strerror(error.errno or 0)}")

    def _greet(self) -> None:
        connection = self._connection
        if connection is not None and connection.facts is not None and not self.is_up:
            self.is_up = True
            self._turns.give_back()
            self._hello.cancel()
            self._beat()
            self._user.up()

    def _beat(self) -> None:
        """Say that this end lives, and end a connection whose other end does not."""
        silent = time.monotonic() - self._heard
        if silent > wire.SILENCE_S:
            self.drop(f"nothing was heard for {silent:.0f} s")
            return
        self.send(words.Beat().packed())
        self._next_beat.after(wire.BEAT_S)

    def drop(self, why: str) -> None:
        """End the connection, and make another one after a pause."""
        self.close()
        self._later(why)

    def _later(self, why: str) -> None:
        self._next_connection.after(self._pause * _spread())
        longest_s = _LONGEST_CROWDED_S if is_crowded(why) else _LONGEST_PAUSE_S
        self._pause = min(longest_s, self._pause * 2)
        self._user.down(why)

    def close(self) -> None:
        """End the connection, and make no other one."""
        for timer in (self._next_connection, self._hello, self._next_beat):
            timer.cancel()
        connection, self._connection = self._connection, None
        self._turns.give_back()
        self.is_up = False
        if connection is None:
            return
        self._loop.forget(connection.fileno())
        if self._waits_for_room:
            self._loop.forget(connection.out)
            self._waits_for_room = False
        connection.close()


def _spread() -> float:
    """Return a factor around 1: 200 mirrors that wait together do not all come back together."""
    return 0.5 + int.from_bytes(os.urandom(1), "little") / 255
