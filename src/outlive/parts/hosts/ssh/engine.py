"""The engine for one machine that ssh(1) reaches."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from typing import Any

from outlive import limits, parts
from outlive.core.records import Definition, Notification
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs.starting import gate
from outlive.launch import configured
from outlive.launch.engine import Caller, Engine, Finding, Host, Start
from outlive.parts.hosts import findings
from outlive.parts.hosts.findings import finding
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.connecting.bundle import Bundle
from outlive.parts.hosts.ssh.connecting.connection import Broken, Connection, hint_for
from outlive.parts.hosts.ssh.record import AGENT, SshRecord
from outlive.parts.sandbox.settings import sandbox_of
from outlive.store.inspection import handed_over, inspect, unseen_end
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import MASKS, SUPERVISOR_BYTE, JobDir, Locks
from outlive.supervisor.request import Request
from outlive.system import fault_points, fds, own_programs, tree
from outlive.system import locks as record_locks
from outlive.system.interpreter import isolated

_CHECK_S = 60.0
_LISTENS_S = _ANSWERS_S = 5.0
_HOME = "~"
_FEW_BYTES = 1 << 30
_PORT_S = 0.02


class SshEngine(Engine):
    """Jobs on one machine that ssh(1) reaches."""

    mirrors = True
    tells_use = ("status", "usage")

    def directory(self, host: Host, given: str | None) -> str:
        wanted = given if given is not None else host.settings.workdir or _HOME
        if wanted == _HOME or wanted.startswith(("~/", "/")):
            path = os.path.normpath(f"/{wanted.lstrip('/')}" if wanted[0] == "/" else wanted)
            return path if path.startswith(("~", "/")) else wanted  # above the home: no path without .. is known here
        hint = f"{argument('cwd')} is a directory on host {host.name}: absolute, or below ~/."
        raise invalid("cwd", f"not an absolute path: {wanted!r}; nothing was run", hint=hint)

    def check(self, host: Host, definition: Definition) -> None:
        if definition.stdin in ("file", "caller"):
            raise OutliveError(
                "not_supported",
                f"a job on host {host.name!r} cannot read a file of this machine as its stdin",
                hint=f"Give the input with {argument('stdin_data')}, or {argument('stdin')} open and write.",
            )

    def submit(
        self, caller: Caller, host: Host, job: JobDir, start: Start, locks: Locks, *, awaited: bool = True
    ) -> socket.socket | None:
        """Start the mirror, which starts the job there and reports it."""
        definition = start.definition
        # A reader that starts the mirror again may know no agent
        agent = caller.env.get(AGENT) or None
        record = SshRecord(settings=host.settings, cwd=definition.cwd, agent=agent, written=_written(caller))
        try:
            script = job.read_script(definition)
            handed_over.write(job, record)
            if definition.mask:
                for name in MASKS:  # first of all: without these files output is shown as it is
                    os.close(job.open_file(name, os.O_RDWR | os.O_CREAT))
        except OSError as error:
            raise OutliveError("io_error", f"while writing the record of job {job.job_id}: {error.strerror}") from error
        fault_points.at("host_recorded")
        asked: dict[str, object] = {
            "definition": _there(definition).to_dict(),
            "overrides": start.overrides,
            "sandbox": _sandbox(caller, host, definition),
            "stdin_data": None if start.stdin_data is None else start.stdin_data.decode("latin-1"),
            "script": None if script is None else script.decode("latin-1"),
        }
        here, there = fds.pair()
        try:
            _spawn(caller, job, definition, locks.fds[0], asked, there.fileno() if awaited else -1)
        except BaseException:
            here.close()
            handed_over.delete(job)
            raise
        finally:
            there.close()
        fault_points.at("host_handed")
        if awaited:
            return here
        here.close()
        return None

    def resumed(self, caller: Caller, job: JobDir, inspection: Inspection) -> Inspection:
        """Start a mirror if there is none. A job whose start no mirror has asked for never ran."""
        if inspection.supervised:
            return inspection
        if inspection.state.state == "created" and _is_unasked(job):
            return unseen_end.end_unasked(job, inspection, _is_unasked)
        with fds.Closing(job.open_lock()) as lock:
            if not record_locks.take(lock, SUPERVISOR_BYTE):  # another reader was faster
                return inspection
            state = job.read_state()
            if state is not None and state.finished and not job.is_marked_live():
                return inspect.inspect_job(job)
            _spawn(caller, job, inspection.definition, lock, None)
        return inspect.inspect_job(job)

    def connect(self, job: JobDir) -> socket.socket:
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

    def cancelled(self, job: JobDir, inspection: Inspection, by: str) -> Inspection:
        """Ask the mirror, which alone knows whether the other machine was asked for the start. Errors:
        io_error."""
        asked = {"op": "kill", "signal": signal.SIGTERM, "by": by}
        answer, sock = None, self.connect(job)
        try:
            sock.settimeout(_ANSWERS_S)
            fds.send(sock, json.dumps(asked).encode())
            while (message := sock.recv(limits.CONTROL_BYTES)) and message[:1] != b"{":
                continue  # a hint
            answer = json.loads(message) if message else None
        except OSError:  # it ended meanwhile, or does not answer
            pass
        finally:
            sock.close()
        if answer is not None and not answer["ok"]:
            raise OutliveError(answer["code"], answer["message"], retryable=bool(answer.get("retryable")))
        after = inspect.inspect_job(job)
        if answer is None and not after.state.finished:
            raise OutliveError(
                "io_error",
                f"whether job {job.job_id} was started on host {inspection.definition.host!r} is not known yet",
                retryable=True,
                hint="Try again when the host can be reached.",
            )
        return after

    def forget(self, job: JobDir) -> None:
        """Check that the other machine can be reached: the mirror deletes the job there first. Errors:
        OutliveError."""
        record = handed_over.read(job)
        if record is not None and record.unreachable_since is not None:
            definition = job.read_meta()
            raise OutliveError(
                "io_error",
                f"job {job.job_id} cannot be deleted: its host {definition.host!r} is out of reach since "
                f"{record.unreachable_since}, and has a copy of it",
                retryable=True,
                hint=f"Try again when it is back. If that machine is gone for good: rm -r {job.path}",
            )

    def checked(self, caller: Caller, host: Host) -> list[Finding]:
        """Connect, which also carries our end there and makes the root."""
        began = time.monotonic()
        try:
            with contextlib.closing(Connection(host.settings, caller.env, Bundle())) as connection:
                facts, there = _asked(caller, connection, host)
        except Broken as error:
            return [finding("reach", "fail", str(error), hint_for(str(error)))]
        except wire.Nonsense as error:
            why = f"what answers there does not talk as outlive does: {error}"
            return [finding("reach", "fail", why, hint_for(why))]
        took_ms = (time.monotonic() - began) * 1000
        name = facts["machine"]["name"]
        root_left = there.free_bytes
        checks = [
            finding("reach", "ok", f"{host.settings.target} is {name}, reached in {took_ms:.0f} ms."),
            finding("python", "ok", f"{there.python}; outlive {facts['version']} is there."),
            finding("root", "ok", f"{there.root} is ready: {root_left / 1e9:.1f} GB free.")
            if root_left >= _FEW_BYTES
            else finding("root", "warn", f"{there.root} has {root_left / 1e6:.0f} MB left.", "Free some space there."),
            finding("workdir", "ok", f"Jobs run in {there.workdir}.")
            if there.workdir_exists
            else finding("workdir", "fail", f"{there.workdir} does not exist there.", "Make it, or change `workdir`."),
        ]
        if (sandbox := there.sandbox) is not None:
            checks.append(findings.of_sandbox("there", sandbox))
        if there.lingers is False:
            text = "Where systemd ends a user's processes at logout, jobs end with the connection."
            checks.append(finding("logout", "warn", text, "There: loginctl enable-linger"))
        return checks


ENGINE = SshEngine()


def _there(definition: Definition) -> Definition:
    """Return the definition of the job there: the mirror watches and tells here."""
    return Definition.replace(
        gate.anew(definition).without(parts.WAIT_HERE),
        host=None,
        machine=None,
        caller_cwd=None,
        env_files=[],
        notification=Notification(),
        progress_every_ms=0,
        dedupe_key=None,
        scope=None,
        sandbox=None,  # that of its commands here; our end there makes its own
        restarted_from=None,
        systemd_scope=False,
    )


def _sandbox(caller: Caller, host: Host, definition: Definition) -> dict[str, object] | None:
    """Return what our end there makes the sandbox of, None for a job without."""
    if definition.sandbox is None:
        return None
    ours = sandbox_of(caller.config)
    given = {"write": ours.write, "hide": ours.hide, "show": ours.show, "environment": ours.environment}
    return {**given, **definition.sandbox.shown, "workdir": host.settings.workdir}


def _written(caller: Caller) -> list[str]:
    return list(sandbox_of(caller.config).write or ())


def _spawn(
    caller: Caller, job: JobDir, definition: Definition, lock: int, start: dict[str, object] | None, waiter: int = -1
) -> None:
    """Start a mirror, which holds a copy of `lock` when this returns. With `start`, return when it
    runs. Errors: OutliveError."""
    environment = dict(caller.env)
    environment.pop(tree.COOKIE, None)
    request = Request(
        root=caller.store.path,
        job_id=job.job_id,
        definition=definition,
        environment=environment,
        **configured.for_request(caller, definition),
    )
    asked = {"request": request.to_dict(), "start": start}
    content = json.dumps(asked, ensure_ascii=True).encode()
    memory = fds.memory_file("request", content)
    try:
        process = subprocess.Popen(
            [*isolated("outlive.parts.hosts.ssh.mirror_process"), str(lock), str(waiter)],
            stdin=memory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[fd for fd in (lock, waiter) if fd >= 0],
            cwd="/",
            env=own_programs.of_ours(os.environ),
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


def _is_unasked(job: JobDir) -> bool:
    """Return whether the other machine was certainly not asked for the start."""
    record = handed_over.read_as(SshRecord, job)
    return record is not None and not record.asked


def _asked(caller: Caller, connection: Connection, host: Host) -> tuple[dict[str, Any], words.Checked]:
    """Return what our end there says of itself, and of its machine. Errors: Broken."""
    deadline, asked = time.monotonic() + _CHECK_S, False
    while (left_s := deadline - time.monotonic()) > 0:
        poller = select.poll()
        poller.register(connection.fileno(), select.POLLIN)
        if connection.wants_room:
            poller.register(connection.out, select.POLLOUT)
        poller.poll(left_s * 1000)
        connection.flush()
        for kind, _, data in connection.messages():
            if kind != wire.WORD or not isinstance(data, bytes):  # no job is followed
                raise wire.Nonsense("it sends the output of a job that was not asked for")
            word = words.unpacked(data)
            if isinstance(word, words.Refused):
                raise Broken(word.error.message)
            if isinstance(word, words.Checked):
                return connection.facts or {}, word
        if connection.facts is not None and not asked:
            asked = True
            connection.send(words.opening(host.settings, _written(caller)).packed())
            sandboxed = findings.is_sandboxed(caller.config, host.name)
            connection.send(words.Check(workdir=host.settings.workdir, sandbox=sandboxed).packed())
    raise Broken(f"no answer within {_CHECK_S:.0f} s")
