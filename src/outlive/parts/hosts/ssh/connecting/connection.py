"""One connection to another machine: ssh(1) as the user has configured it, and our end behind it."""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import time
from collections.abc import Iterator, Mapping

from outlive.config import HostSettings
from outlive.errors import OutliveError
from outlive.parts.hosts.findings import visible
from outlive.parts.hosts.ssh.connecting import wire
from outlive.parts.hosts.ssh.connecting.bundle import ARGUMENTS, Bundle, first_line, refusal
from outlive.parts.hosts.ssh.connecting.words import greeting
from outlive.system import fds, own_programs, process, spawn, splice

PROGRAM = "ssh"
DEFAULT_PYTHON = "python3"
# Nobody is there to answer a question. A forwarding of the user's configuration would fail from the
# second connection on, and what the user lets run there would run in our place
# Nothing leads back: neither what -oClearAllForwardings names nor (-a, -x) an agent or a screen
_OURS = ("-T", "-a", "-x", "-oBatchMode=yes", "-oClearAllForwardings=yes", "-oRemoteCommand=none", "-oEscapeChar=none")
_NOISE_BYTES = 65_536  # what the profile of a login shell may print before our end speaks, and what is kept of stderr
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 16  # what comes behind it of a run of a log is moved, and not read
# Within a long run of a log: ssh writes 32 KiB at a time, and each wake-up costs more than that
_GATHER_S = 0.002
_SAID_BYTES, _SAID_LINES = 4_096, 3
_NO_COMMAND = 127  # sh(1)
_END_S = 1.0


class Broken(Exception):
    """The connection has ended, or never began. The text says why, in ssh's own words."""


def words(settings: HostSettings) -> list[str]:
    """Return the argv of ssh for a host with these settings."""
    python = settings.python or DEFAULT_PYTHON
    program = f"~/{shlex.quote(python[2:])}" if python.startswith("~/") else shlex.quote(python)
    return [PROGRAM, *(settings.options or ()), *_OURS, "--", settings.target or "", f"{program} {ARGUMENTS}"]


class Connection:
    """A connection in the making, and then in use. `fileno` is readable when `messages` has
    something to do; `out` is writable when `flush` has. Nothing here waits. Close it after use."""

    def __init__(self, settings: HostSettings, env: Mapping[str, str], bundle: Bundle) -> None:
        """Start ssh. Errors: Broken."""
        self._bundle = bundle
        self._parser = wire.Parser(checked=True)
        self._lines = bytearray()  # until our end has said its first line
        self._noise = 0
        self._is_carried = False
        self._waiting = bytearray()  # what could not be written yet
        self.facts: dict[str, object] | None = None  # of our end, when it is there
        self._python = settings.python or DEFAULT_PYTHON
        self.pid = 0  # of ssh, while it runs
        self.status: int | None = None
        self._in = self.out = self._said = there_in = there_out = -1
        try:
            self._said = _bounded_file("ssh", _NOISE_BYTES)
            there_in, self.out = os.pipe2(os.O_CLOEXEC)
            self._in, there_out = os.pipe2(os.O_CLOEXEC)
            stdio = {0: there_in, 1: there_out, 2: self._said}
            own_programs.require_unwritten(settings.options or (), env, "the options of this host")
            argv = [own_programs.find(PROGRAM, env), *words(settings)[1:]]
            # A change of our directory would lead a server's other threads astray
            environment = own_programs.environment(env)
            self.pid = spawn.spawn(own_programs.elsewhere(argv, env), environment, stdio, spawn.How("."))
        except OutliveError as error:
            self.close()
            raise Broken(f"{error.message}. {error.hint}") from error
        except OSError as error:
            self.close()
            raise Broken(spawn.why_not(PROGRAM, env, "/", error)) from error
        finally:
            for fd in (there_in, there_out):
                if fd >= 0:
                    os.close(fd)
        self._gathers = fds.set_pipe_size(self._in, _PIPE_BYTES)
        os.set_blocking(self._in, False)
        os.set_blocking(self.out, False)
        self.send(first_line(bundle.name))  # the files are read while ssh connects

    def fileno(self) -> int:
        return self._in

    # --- what goes ---

    def send(self, data: bytes) -> None:
        """Send this, as far as there is room; `wants_room` says whether some is left."""
        self._waiting += data
        self.flush()

    @property
    def wants_room(self) -> bool:
        return bool(self._waiting)

    def flush(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self.out, self._waiting)]
        except BlockingIOError:
            return
        except OSError:  # EPIPE: ssh has ended, and what it printed says why
            self._waiting.clear()

    # --- what comes ---

    def messages(self) -> Iterator[tuple[int, int, wire.Content]]:
        """Yield what has come. Errors: Broken, wire.Nonsense."""
        if self._parser.run is not None and (there := splice.waiting_bytes(self._in)):
            kind, at, left = self._parser.run
            if self._gathers and left > _PIPE_BYTES // 4 > there:
                time.sleep(_GATHER_S)
            unread = wire.Unread(self._in, left)
            yield kind, at, unread
            self._parser.skip(unread.moved)
            return
        try:
            data = os.read(self._in, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise Broken(self._why())
        if self.facts is None:
            self._lines += data
            data = self._greeted()
        if self.facts is not None:
            yield from self._parser.feed(data)

    def _greeted(self) -> bytes:
        """Read lines up to the first word of our end. Return what stands behind it."""
        while b"\n" in self._lines:
            line, _, rest = bytes(self._lines).partition(b"\n")
            self._lines = bytearray(rest)
            self._noise += len(line)
            if line == wire.NEED:
                if self._is_carried:
                    raise wire.Nonsense("it asks again for what was sent there")
                self._is_carried = True
                data = self._bundle.zipped()
                self.send(len(data).to_bytes(8, "little") + data)
            elif line.startswith(wire.REFUSE):
                raise Broken(refusal(line))
            elif line.startswith(wire.HELLO):
                self.facts = greeting(line[len(wire.HELLO) :])
                return rest
        if self._noise + len(self._lines) > _NOISE_BYTES:
            raise Broken("what answers there is not ours: the login shell prints without end")
        return b""

    def _why(self) -> str:
        """Return why the connection ended, in the words of ssh or of the shell there."""
        status, until = self._reaped(), time.monotonic() + _END_S
        while self.pid and time.monotonic() < until:  # it has closed its stdout, so it is about to end
            time.sleep(0.005)
            status = self._reaped()
        size = os.lseek(self._said, 0, os.SEEK_CUR)  # the offset of ssh too
        text = os.pread(self._said, min(size, _SAID_BYTES), max(0, size - _SAID_BYTES)).decode("utf-8", "replace")
        lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
        said = visible("; ".join(lines[-_SAID_LINES:]))
        if status == _NO_COMMAND and self.facts is None:
            return f"there is no {self._python} there ({said})"
        return said or ("the connection was closed" if self.facts else f"{PROGRAM} ended with status {status}")

    # --- the end ---

    def _reaped(self, options: int = os.WNOHANG) -> int | None:
        if self.pid:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self.pid, self.status = 0, os.waitstatus_to_exitcode(status)
        return self.status

    def close(self) -> None:
        """End the connection, and ssh with it."""
        for fd in (self._in, self.out, self._said):
            if fd >= 0:
                os.close(fd)
        self._in = self.out = self._said = -1
        if self.pid:
            process.send_signal(self.pid, None, signal.SIGKILL)
            self._reaped(0)


def unreachable(name: str, why: str) -> OutliveError:
    """Return the error of a call that needs a machine that cannot be reached now."""
    return OutliveError("io_error", f"host {name!r} cannot be reached: {why}", retryable=True, hint=hint_for(why))


_HINTS = (
    ("has changed and you have requested", "The machine has another key than before: check why before you go on."),
    ("Host key verification failed", "Connect once by hand (`ssh TARGET`) and check the key; outlive accepts none."),
    ("Permission denied", "ssh must be able to log in without a question: a key without passphrase, or an agent."),
    ("Could not resolve hostname", "Check `target` in the [hosts.NAME] section of the configuration."),
    ("outlive needs Python", "Name a newer one with `python` in the [hosts.NAME] section of the configuration."),
    ("there is no ", "Name the interpreter with `python` in the [hosts.NAME] section of the configuration."),
)


# What ssh(1) says when sshd(8) drops a login beyond `MaxStartups`, a session beyond `MaxSessions`, or
# has no time for it: the same connection comes about a little later
_CROWDED = ("kex_exchange_identification", "banner exchange", "Connection reset", "Connection closed by",
    "Not allowed at this time", "session request failed", "Session open refused", "channel_by_id")  # fmt: skip


def is_crowded(why: str) -> bool:
    """Return whether a connection did not come about because the machine is busy with others."""
    return any(sign in why for sign in _CROWDED)


def hint_for(why: str) -> str:
    """Return what to do about a connection that does not come about."""
    advice = next((hint for sign, hint in _HINTS if sign in why), None)
    return advice or "Try again later; `ssh TARGET` by hand shows more."


def _bounded_file(name: str, size: int) -> int:
    """Return an fd of a file in memory that takes `size` bytes, whichever process writes into it: writes beyond
    fail (F_SEAL_GROW, memfd_create(2)). Its offset is how much was written. Errors: OSError."""
    if not hasattr(os, "memfd_create"):
        return fds.memory_file(name, b"")
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except BaseException:
        os.close(fd)
        raise
    return fd
