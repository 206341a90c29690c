"""Our end on another machine: one process for each connection of a mirror.

It starts the job there as a command line would, passes requests on to the job's supervisor, and
sends everything that is new in the job's directory. It holds nothing that would be missed: when the
connection breaks, it ends, and the job goes on.
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from outlive import __version__
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption
from outlive.jobs.context import Context
from outlive.jobs.control_client import received
from outlive.parts.hosts.far import orphans
from outlive.parts.hosts.far.source import Source
from outlive.parts.hosts.far.starting import context, forget_marks, mark_absent, start
from outlive.parts.hosts.far.step import used
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.connecting.words import Follow, Word
from outlive.parts.sandbox.confinement import bubblewrap
from outlive.store import delete
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.root import Store
from outlive.supervisor.control_requests import GetUsage, Write
from outlive.supervisor.event_loop import EventLoop
from outlive.system import fds, machine, own_programs, systemd

DEFAULT_ROOT = "~/.local/share/outlive/remote-jobs"
_LOOK_S = 1.0  # without a supervisor that tells; with one it is only a precaution
_LOOK_AGAIN_S = 10.0
_QUIET_S = 60.0  # a mirror says something more often than this, or it is gone
_TRIES, _TRY_S = 40, 0.05  # of a request while a guardian takes over
_TOLD = 1 << 16
_PIPE_BYTES = 1 << 20
_FILL_S = 0.002  # sshd takes less than the pipe in this time
_MOST_KEPT = 1_000


def main() -> int:
    """Serve one connection on stdin and stdout until it ends."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    out = os.dup(1)
    os.set_inheritable(out, False)
    os.dup2(2, 1)  # what anything else prints here is no message
    Peer(0, out).run()
    return 0


class Peer:
    """One connection, and the job it is about."""

    def __init__(self, source: int, out: int) -> None:
        self._in = source
        self._out = out
        self._pause_s = _FILL_S if fds.set_pipe_size(out, _PIPE_BYTES) else 0.0
        self._loop = EventLoop()
        self._next_beat = self._loop.timer(self._beat)
        self._next_look = self._loop.timer(self._look)
        self._next_turn = self._loop.timer(self._turn)
        self._parser = wire.Parser()
        self._data = b""
        self._heard = time.monotonic()
        self._store: Store | None = None
        self._ctx: Context | None = None
        self._origin: str | None = None
        self._job: JobDir | None = None
        self._source: Source | None = None
        self._hints: socket.socket | None = None
        self._was_over = False
        self._said_over = False
        # What a mirror says → what is done about it. A beat says nothing else
        self._actions: dict[type[Word], Callable[[Any, bytes], None]] = {
            words.Open: self._open,
            words.Check: self._check,
            words.Start: self._start,
            words.Follow: self._follow,
            words.Ask: self._ask,
            words.Drop: self._drop,
            words.Forget: self._forget,
        }

    def run(self) -> None:
        facts = {"version": __version__, "python": sys.version.split()[0], "machine": machine.here().to_dict()}
        os.write(self._out, wire.HELLO + json.dumps(facts).encode() + b"\n")
        self._loop.read(self._in, self._receive)
        self._beat()
        try:
            self._loop.run()
        except (BrokenPipeError, ConnectionError):  # the mirror is gone
            return

    def _say(self, word: Word) -> None:
        self._write(word.packed())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._out, view) :]

    def _beat(self) -> None:
        if time.monotonic() - self._heard > _QUIET_S:
            self._loop.stop()
            return
        self._say(words.Beat())
        self._next_beat.after(wire.BEAT_S)

    # --- what the mirror says ---

    def _receive(self) -> None:
        data = os.read(self._in, _TOLD)
        if not data:
            self._loop.stop()
            return
        self._heard = time.monotonic()
        for kind, _, content in self._parser.feed(data):
            if kind == wire.DATA:
                self._data += content
            else:
                word = words.unpacked(content)
                data, self._data = self._data, b""
                self._obey(word, data)

    def _obey(self, word: Word, data: bytes) -> None:
        name = type(word).__name__
        try:
            if (action := self._actions.get(type(word))) is not None:
                action(word, data)
        except OSError as error:
            if isinstance(error, (BrokenPipeError, ConnectionError)):
                raise
            self._refuse(name, from_os(f"{name.lower()} on the host", error, on="store"))
        except OutliveError as error:
            self._refuse(name, error)

    def _refuse(self, name: str, error: OutliveError) -> None:
        self._say(words.Refused(refused=name, error=words.Error.of(error.to_dict())))

    def _open(self, word: words.Open, _data: bytes) -> None:
        own_programs.know(map(os.path.expanduser, word.workspaces))
        path = os.path.expanduser(word.root or DEFAULT_ROOT)
        self._store = Store.open(path, os.environ)
        self._ctx = context(self._store, dict(os.environ))
        forget_marks(self._store)
        self._say(words.Opened(root=self._store.path))
        self._origin = word.origin
        if candidates := orphans.candidates(self._store, self._origin):
            self._say(words.Kept(jobs=candidates[:_MOST_KEPT]))

    def _check(self, word: words.Check, _data: bytes) -> None:
        assert self._store is not None
        room = os.statvfs(self._store.path)
        workdir = os.path.expanduser(word.workdir or "~")
        self._say(
            words.Checked(
                root=self._store.path,
                free_bytes=room.f_bavail * room.f_frsize,
                workdir=workdir,
                workdir_exists=os.path.isdir(workdir),
                python=f"{sys.version.split()[0]} ({sys.executable})",
                lingers=_lingers(),
                sandbox=bubblewrap.trial() if word.sandbox else None,
            )
        )

    def _start(self, _word: words.Start, data: bytes) -> None:
        assert self._store is not None
        start(self._store, json.loads(data), self._is_connected, self._origin)
        self._say(words.Started())

    def _is_connected(self) -> bool:
        return not fds.poll(self._in, 0)

    def _follow(self, word: Follow, _data: bytes) -> None:
        assert self._store is not None
        if self._job is None:
            self._job = _opened(self._store, word.job)
        if self._job is None:
            mark_absent(self._store, word.job)
            self._job = _opened(self._store, word.job)
        if self._job is None:
            self._say(words.Gone())
            return
        definition = self._job.read_meta()
        own_programs.know([definition.cwd, *(definition.sandbox.roots if definition.sandbox else ())])
        self._source = Source(self._job, word, definition.quota_bytes)
        self._say(words.Followed(cwd=definition.cwd))
        self._look()

    def _drop(self, word: words.Drop, _data: bytes) -> None:
        assert self._store is not None
        orphans.drop(self._store, self._origin, word.jobs)

    def _ask(self, word: words.Ask, data: bytes) -> None:
        if word.request["op"] == GetUsage.op:
            self._say(words.Answer(id=word.id, content=self._used()))
            return
        self._pass_on(word, data, _TRIES)

    def _forget(self, _word: words.Forget, _data: bytes) -> None:
        """Errors: OutliveError, OSError."""
        assert self._store is not None
        assert self._job is not None
        try:
            delete.delete(self._store, self._job)
        except FileNotFoundError:
            pass
        except BlockingIOError as error:
            raise OutliveError("invalid_state", "the job is still held there", retryable=True) from error
        self._say(words.Forgotten())
        self._loop.stop()

    def _used(self) -> dict[str, object]:
        inspection = self._inspect()
        if inspection is None or self._job is None:
            return {"ok": True}
        return {"ok": True, **used(inspection, self._job)}

    # --- requests to the supervisor ---

    def _connected(self) -> socket.socket | None:
        assert self._job is not None
        try:
            return self._job.connect(wait=False)
        except OSError:
            return None

    def _pass_on(self, word: words.Ask, data: bytes, tries: int) -> None:
        if self._job is None:
            self._say(words.Answer(id=word.id))
            return
        sock, request = self._connected(), word.request
        with fds.Closing(fds.memory_file("request", data)) as memory:
            if sock is not None and _is_sent(sock, request, (memory,) if request["op"] == Write.op else ()):
                self._loop.read(sock.fileno(), lambda: self._answered(word.id, sock))
                return
        self._inspect()  # adopts the job if both of its processes were killed
        if tries:
            self._loop.timer(self._pass_on, word, data, tries - 1).after(_TRY_S)
        else:
            self._say(words.Answer(id=word.id))

    def _answered(self, number: int, sock: socket.socket) -> None:
        message = received(sock)
        if message is None or message[:1] not in (b"", b"{"):  # a hint
            return
        self._loop.forget(sock.fileno())
        sock.close()
        self._say(words.Answer(id=number, content=json.loads(message) if message else None))

    # --- what is new ---

    def _inspect(self) -> Inspection | None:
        assert self._ctx is not None
        assert self._job is not None
        try:
            return adoption.inspect_and_adopt(self._ctx, self._job)
        except OutliveError as error:
            if error.code == "job_not_found":
                self._say(words.Gone())
                self._source = None
            return None

    def _look(self) -> None:
        """Look at the job, and send what is new."""
        if self._source is None:
            return
        if self._hints is None:
            self._hear()
        inspection = self._inspect()
        if inspection is None:
            if self._source is not None:  # it is there, and no process or file was to be had
                self._next_look.after(_LOOK_S)
            return
        # What was written before the locks were free is complete, so what this look sees is all
        self._was_over = inspection.state.finished and not inspection.supervised
        self._source.look(inspection.state)
        self._turn()

    def _turn(self) -> None:
        assert self._source is not None
        parts: list[bytes] = []
        size = 0
        for data in self._source.turn():
            if isinstance(data, tuple):
                self._write(b"".join(parts))
                parts, size = [], 0
                self._send_piece(*data)
                continue
            parts.append(data)
            size += len(data)
            if size >= _TOLD:
                self._write(b"".join(parts))
                parts, size = [], 0
        self._write(b"".join(parts))
        if self._source.is_behind:
            self._next_turn.after(0)
            return
        if self._was_over and not self._said_over:
            self._said_over = True
            self._say(words.Over())
        self._next_look.after(_LOOK_S if self._hints is None else _LOOK_AGAIN_S)

    def _send_piece(self, stream: int, offset: int, count: int) -> None:
        """Send bytes of a log. Where another program cut them out, zeros stand in their place."""
        assert self._job is not None
        with fds.Closing(self._job.open_file(LOGS[stream])) as log:
            while count:
                sent = os.sendfile(self._out, log, offset, count)
                if not sent:
                    self._write(bytes(count))
                    return
                offset, count = offset + sent, count - sent
                if count:  # the pipe is full. Else each read of sshd would wake this process
                    time.sleep(self._pause_s)

    def _hear(self) -> None:
        """Listen to the hints of the job's supervisor."""
        sock = self._connected()
        if sock is not None and _is_sent(sock, {"op": "watch", "output": True}, ()):
            self._hints = sock
            self._loop.read(sock.fileno(), self._hinted)

    def _hinted(self) -> None:
        assert self._hints is not None
        message = received(self._hints)
        if message is None:
            return
        if not message:
            self._loop.forget(self._hints.fileno())
            self._hints.close()
            self._hints = None
        if not self._next_turn.is_set:
            self._next_look.after(0)


def _opened(store: Store, job_id: str) -> JobDir | None:
    """Return the job; None if it is not there. Errors: OutliveError."""
    try:
        job = JobDir.open(store, job_id)
        job.read_meta()
    except OSError:
        return None
    except OutliveError as error:
        if error.code == "job_not_found":
            return None
        raise
    return job


def _is_sent(sock: socket.socket, request: dict[str, object], files: tuple[int, ...]) -> bool:
    """Send a request with these open files. Return False if its reader was killed."""
    try:
        fds.send(sock, json.dumps(request).encode(), files)
    except OSError:
        sock.close()
        return False
    return True


def _lingers() -> bool | None:
    """Return whether processes of this user survive the end of its last session (loginctl(1));
    None where it cannot be told."""
    if os.geteuid() == 0:
        return True
    try:
        return systemd.lingers(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        return None
