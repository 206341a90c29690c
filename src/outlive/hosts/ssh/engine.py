"""The engine for one machine that ssh(1) reaches. The functions are those of hosts/engines.py."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time

from outlive import fastjson, limits
from outlive.errors import OutliveError, argument
from outlive.hosts import findings
from outlive.hosts.findings import finding
from outlive.hosts.ssh import wire
from outlive.hosts.ssh.bundle import Bundle
from outlive.hosts.ssh.connection import Broken, Connection, hint_for
from outlive.store import engine_record, inspect
from outlive.store.job_dir import MASKS, SUPERVISOR_BYTE
from outlive.supervisor.request import Request
from outlive.system import fds, locks, tree
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from outlive.core.records import Definition
    from outlive.hosts.engines import Host
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir, Locks

SHARES_FILES, MIRRORS = False, True
TELLS_USE = ("status", "usage")
_CHECK_S = 60.0
_LISTENS_S = _ANSWERS_S = 5.0
_HOME = "~"
_FEW_BYTES = 1 << 30
_AGENT = "SSH_AUTH_SOCK"
_PORT_S = 0.02


# --- before the start -----------------------------------------------------------------------------


def directory(_ctx: Any, host: Host, given: str | None) -> str:
    """Return the working directory there, which our end there checks."""
    wanted = given if given is not None else str(host.settings.get("workdir") or _HOME)
    if wanted == _HOME or wanted.startswith(("~/", "/")):
        return os.path.normpath(wanted)
    raise OutliveError(
        "invalid_argument",
        f"not an absolute path: {wanted!r}; nothing was run",
        hint=f"{argument('cwd')} is a directory on host {host.name}: absolute, or below ~/.",
        details={"field": "cwd"},
    )


def planned(_ctx: Any, host: Host, definition: Definition) -> Definition:
    """Errors: not_supported."""
    if definition.stdin in ("file", "caller"):
        raise OutliveError(
            "not_supported",
            f"a job on host {host.name!r} cannot read a file of this machine as its stdin",
            hint=f"Give the input with {argument('stdin_data')}, or {argument('stdin')} open and write.",
        )
    return definition


# --- handing over ---------------------------------------------------------------------------------


def submit(ctx: Any, host: Host, job: JobDir, plan: Any, locks_: Locks) -> Any:
    """Start the mirror, which starts the job there and reports it."""
    yield None  # a process is waited for
    definition: Definition = plan.definition
    record = {"kind": "ssh", "settings": host.settings, "cwd": definition.cwd}
    if ctx.env.get(_AGENT):  # a reader that starts the mirror again may know no agent
        record["agent"] = ctx.env[_AGENT]
    try:
        engine_record.write(job, record)
        if definition.mask:
            for name in MASKS:  # first of all: without these files output is shown as it is
                os.close(job.open_file(name, os.O_RDWR | os.O_CREAT))
    except OSError as error:
        raise OutliveError("io_error", f"while writing the record of job {job.job_id}: {error.strerror}") from error
    start = {
        "definition": _there(definition).to_dict(),
        "overrides": plan.overrides,
        "sandbox": _sandbox(ctx, host, definition),
        "stdin_data": None if plan.stdin_data is None else plan.stdin_data.decode("latin-1"),
    }
    here, there = fds.pair()
    try:
        _spawn(ctx, job, definition, locks_.fds[0], start, there.fileno())
    except BaseException:
        here.close()
        os.unlink(engine_record.ENGINE, dir_fd=job.fd)
        raise
    finally:
        there.close()
    return here


def _there(definition: Definition) -> Definition:
    """Return the definition of the job there: the mirror watches and tells here."""
    return definition.replace(
        host=None,
        machine=None,
        env_files=[],
        notification={},
        progress_every_ms=0,
        dedupe_key=None,
        scope=None,
        sandbox=None,  # that of its commands here; our end there makes its own
        approval=None,
        restarted_from=None,
        systemd_scope=False,
    )


def _sandbox(ctx: Any, host: Host, definition: Definition) -> dict[str, Any] | None:
    """Return what our end there makes the sandbox of, None for a job without."""
    if definition.sandbox is None:
        return None
    given = {name: ctx.config.get("sandbox", name) for name in ("write", "hide", "show", "environment")}
    asked = {name: definition.sandbox[name] for name in ("mode", "network")}
    return {**given, **asked, "workdir": host.settings.get("workdir")}


def _spawn(
    ctx: Any, job: JobDir, definition: Definition, lock: int, start: dict[str, Any] | None, waiter: int = -1
) -> None:
    """Start a mirror, which holds a copy of `lock` when this returns. With `start`, return when it
    runs. Errors: OutliveError."""
    environment = dict(ctx.env)
    environment.pop(tree.COOKIE, None)
    request = Request(
        root=ctx.store.path,
        job_id=job.job_id,
        definition=definition.to_dict(),
        environment=environment,
        sink_shell=list(definition.shell or ctx.shell),
        audit=ctx.config.audit(ctx.env),
    )
    content = fastjson.dumps({"request": request.to_dict(), "start": start}, ensure_ascii=True).encode()
    memory = fds.memory_file("request", content)
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "outlive.hosts.ssh.mirror", str(lock), str(waiter)],
            stdin=memory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[fd for fd in (lock, waiter) if fd >= 0],
            cwd="/",
            env=dict(os.environ),
        )
    except OSError as error:
        raise OutliveError("launch_failed", f"while starting the mirror of a job: {error.strerror}") from error
    finally:
        os.close(memory)
    if start is None:  # this is one of many looks at the job, and a server makes it in its event loop
        threading.Thread(target=process.communicate, daemon=True).start()
        return
    _, said = process.communicate()
    if process.returncode:
        lines = said.decode("utf-8", "replace").strip().splitlines() or ["it ended at once"]
        raise OutliveError("launch_failed", f"while starting the mirror of a job: {lines[-1]}", retryable=True)


# --- afterwards -----------------------------------------------------------------------------------


def resumed(ctx: Any, job: JobDir, found: Inspection) -> Inspection:
    """Start a mirror if there is none."""
    if found.supervised:
        return found
    lock = job.open_lock()
    try:
        if not locks.take(lock, SUPERVISOR_BYTE):  # another reader was faster
            return found
        state = job.read_state()
        if state is not None and state.finished and not ctx.store.is_marked_live(job.job_id):
            return inspect.inspect_job(ctx.store, job)
        _spawn(ctx, job, found.definition, lock, None)
    finally:
        os.close(lock)
    return inspect.inspect_job(ctx.store, job)


def connect(job: JobDir) -> socket.socket:
    """Connect to the mirror: it passes requests on."""
    deadline = time.monotonic() + _LISTENS_S
    while True:
        try:
            return job.connect()
        except OSError as error:
            if time.monotonic() >= deadline:  # it is being started
                raise OutliveError(
                    "io_error", f"the mirror of job {job.job_id} does not answer: {error.strerror}", retryable=True
                ) from error
        time.sleep(_PORT_S)


def cancelled(ctx: Any, job: JobDir, found: Inspection) -> Any:
    """Ask the mirror, which alone knows whether the other machine was asked for the start. Errors:
    io_error."""
    yield None  # the mirror may be starting
    asked = {"op": "kill", "signal": signal.SIGTERM, "by": ctx.owner}
    answer, sock = None, connect(job)
    try:
        sock.settimeout(_ANSWERS_S)
        fds.send(sock, fastjson.dumps(asked).encode())
        while (message := sock.recv(limits.CONTROL_BYTES)) and message[:1] != b"{":
            continue  # a hint
        answer = fastjson.loads(message) if message else None
    except OSError:  # it ended meanwhile, or does not answer
        pass
    finally:
        sock.close()
    if answer is not None and not answer["ok"]:
        raise OutliveError(answer["code"], answer["message"], retryable=bool(answer.get("retryable")))
    after = inspect.inspect_job(ctx.store, job)
    if answer is None and not after.state.finished:
        raise OutliveError(
            "io_error",
            f"whether job {job.job_id} was started on host {found.definition.host!r} is not known yet",
            retryable=True,
            hint="Try again when the host can be reached.",
        )
    return after


def forget(job: JobDir) -> None:
    """Check that the other machine can be reached: the mirror deletes the job there first. Errors:
    OutliveError."""
    record = engine_record.read(job) or {}
    if record.get("unreachable_since"):
        definition = job.read_meta()
        raise OutliveError(
            "io_error",
            f"job {job.job_id} cannot be deleted: its host {definition.host!r} is out of reach since "
            f"{record['unreachable_since']}, and has a copy of it",
            retryable=True,
            hint=f"Try again when it is back. If that machine is gone for good: rm -r {job.path}",
        )


# --- the host -------------------------------------------------------------------------------------


def checked(ctx: Any, host: Host, *, setup: bool = False) -> list[dict[str, Any]]:
    """Connect, which also carries our end there; with `setup` the root is made too."""
    began = time.monotonic()
    try:
        connection = Connection(host.settings, ctx.env, Bundle())
        try:
            facts, said = _asked(ctx, connection, host)
        finally:
            connection.close()
    except Broken as error:
        return [finding("reach", "fail", str(error), hint_for(str(error)))]
    took_ms = (time.monotonic() - began) * 1000
    name = facts["machine"]["name"]
    root_left, word = said["free_bytes"], "ready"
    found = [
        finding("reach", "ok", f"{host.settings['target']} is {name}, reached in {took_ms:.0f} ms."),
        finding("python", "ok", f"{said['python']}; outlive {facts['version']} is there."),
        finding("root", "ok", f"{said['root']} is {word}: {root_left / 1e9:.1f} GB free.")
        if root_left >= _FEW_BYTES
        else finding("root", "warn", f"{said['root']} has {root_left / 1e6:.0f} MB left.", "Free some space there."),
        finding("workdir", "ok", f"Jobs run in {said['workdir']}.")
        if said["workdir_exists"]
        else finding("workdir", "fail", f"{said['workdir']} does not exist there.", "Make it, or change `workdir`."),
    ]
    if (sandbox := said["sandbox"]) is not None:
        found.append(findings.of_sandbox("there", sandbox))
    if said["lingers"] is False:
        found.append(
            finding(
                "logout",
                "warn",
                "Where systemd ends a user's processes at logout, jobs end with the connection.",
                "There: loginctl enable-linger",
            )
        )
    return found


def _asked(ctx: Any, connection: Connection, host: Host) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what our end there says of itself, and of its machine. Errors: Broken."""
    deadline, asked = time.monotonic() + _CHECK_S, False
    while (left_s := deadline - time.monotonic()) > 0:
        poller = select.poll()
        poller.register(connection.fileno(), select.POLLIN)
        if connection.wants_room:
            poller.register(connection.out, select.POLLOUT)
        poller.poll(left_s * 1000)
        connection.flush()
        for _, _, data in connection.messages():
            assert isinstance(data, bytes)  # a word: no job is followed
            said = fastjson.loads(data)
            if "refused" in said:
                raise Broken(str(said["error"]["message"]))
            if "checked" in said:
                return connection.facts or {}, said["checked"]
        if connection.facts is not None and not asked:
            asked = True
            connection.send(wire.word(do="open", root=host.settings.get("root")))
            sandboxed = findings.is_sandboxed(ctx, host.name)
            connection.send(wire.word(do="check", workdir=host.settings.get("workdir"), sandbox=sandboxed))
    raise Broken(f"no answer within {_CHECK_S:.0f} s")
