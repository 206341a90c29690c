"""Turn a plan into a job that runs. What its caller is told then is in answer.py.

The order that must hold: directory and locks, definition, rename, start.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import Any

import outlive
from outlive import limits, parts
from outlive.core.env_files import read_env_files
from outlive.core.members import parse_json
from outlive.core.records import LOCAL, Definition, State
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, lookup, programs
from outlive.jobs import definition as definition_module
from outlive.jobs.context import Context, Principal
from outlive.jobs.control_client import received, refused
from outlive.jobs.definition import masked_lines
from outlive.jobs.starting import boundary, gate
from outlive.jobs.starting.plan import Plan
from outlive.launch import configured, engines
from outlive.store import atomic_file
from outlive.store.job_dir import META, SCRIPT, STDIN_DATA, JobDir, Locks
from outlive.store.new_job import NewJob
from outlive.supervisor.request import Request
from outlive.system import fault_points, fds, own_programs, process
from outlive.system.fds import Closing
from outlive.system.interpreter import without_site
from outlive.system.waiting import pause

AGAIN = "Look at what stands there now, and run the command anew."
_ANEW_S = 0.005  # between two looks at a start that a guardian makes again


def make(ctx: Context, plan: Plan, *, live: bool) -> NewJob:
    """Make the job's directory, complete and visible, with its locks held.

    Errors: denied, io_error; nothing is left then.
    """
    gate.require(ctx, plan, hold=live)
    held = gate.of(plan.definition)
    new: NewJob | None = None
    ctx.job_id = plan.definition.job_id  # an interrupted caller can say which job goes on
    try:
        new = NewJob(ctx.store, plan.definition.job_id)
        if plan.stdin_data is not None:
            _write_new(new.dir, STDIN_DATA, plan.stdin_data)
        if plan.script is not None:
            _write_new(new.dir, SCRIPT, plan.script)
            plan.script = None  # it is long, and a plan may wait for a person
        _write_new(new.dir, META, atomic_file.dump(plan.definition.to_dict()))
        fault_points.at("make_meta")
        if live:
            ctx.store.mark_live(plan.definition.job_id)
        if not live or held is not None or plan.definition.host is not None:
            new.dir.make_logs()
            new.dir.reserve()  # a supervisor does it for a job that it starts now
            new.dir.write_state(State(job_id=plan.definition.job_id, state="created", phase="created"))
        if held is not None:
            held.note_held(new.dir, plan.definition)
        if ctx.inbox is not None:
            ctx.inbox.add(plan.definition.job_id)
            lookup.remember(ctx.caller, plan.definition.job_id, plan.definition)
        fault_points.at("make_live")
        new.publish()
    except OSError as error:
        unmake(ctx, new)
        raise from_os(f"creating the job directory under {ctx.store.path}", error, on="root") from error
    return new


def unmake(ctx: Context, new: NewJob | None) -> None:
    """Delete a job that this call made and has not started."""
    if ctx.inbox is not None and ctx.job_id is not None:
        ctx.inbox.forget(ctx.job_id)
    if new is not None:
        new.discard()
    ctx.job_id = None


def _write_new(job: JobDir, name: str, data: bytes) -> None:
    """Write a file in a directory that is not visible yet, so it needs no rename."""
    with Closing(job.open_file(name, os.O_WRONLY | os.O_CREAT)) as fd:
        fds.write_all(fd, data)


def hand_over(
    ctx: Context, plan: Plan, job: JobDir, locks: Locks, *, created: bool = False, awaited: bool = False
) -> socket.socket | None:
    """Hand the job to a supervisor, or to the engine of its host, and return the socket on which
    the start is reported; None for a job that waits for its start there. `awaited`: the caller
    waits for the end.

    Errors: launch_failed, and those of a part that refuses it.
    """
    definition = plan.definition
    doing = "start" if created else "restart" if definition.restarted_from else "run"
    if definition.host is not None:
        plan.close()  # a node opens the file by its name
        if not _waits_here(ctx, definition):
            return _handed_over(ctx, plan, job, locks, doing)
    request = request_of(ctx.caller, plan, created=created, awaited=awaited)
    acts.about_to_start(ctx, doing, plan)
    own = None
    try:
        own = parts.launcher(ctx.caller, definition)
        fault_points.at("send_request")
        here = send(own or ctx.caller.launcher, request, locks, plan.files)
        fault_points.at("send_done")
        with suppress(OSError):  # while the supervisor wakes up, which makes them or reports why it cannot
            job.make_logs()
        return here
    except OSError as error:
        raise from_os("starting a supervisor", error, code="launch_failed", on="process") from error
    finally:
        if own is not None:
            own.close()
        plan.close()


def send(launcher: Any, request: Request, locks: Locks, files: dict[str, int]) -> socket.socket:
    """Have a launcher give a job to a supervisor, with its locks and these open files, by their names. Return the socket on
    which the supervisor reports. The message itself holds the locks until the supervisor takes it. Errors: OSError."""
    here, there = fds.pair()
    try:
        with there, Closing(request.to_file()) as memory:
            sent = {"request": memory, "lock0": locks.fds[0], "lock1": locks.fds[1], "waiter": there.fileno()}
            locks.are_given = True
            launcher.send(sent | files)
    except BaseException:
        here.close()
        raise
    return here


def _waits_here(ctx: Context, definition: Definition) -> bool:
    """Return whether a job of a host waits on this machine before the host gets it. Errors: invalid_argument."""
    if not parts.waits_here(definition.kept):
        return False
    host = engines.host_of(ctx.config, str(definition.host))
    return not host.engine.holds(ctx.caller, host, definition)


def _handed_over(ctx: Context, plan: Plan, job: JobDir, locks: Locks, doing: str) -> socket.socket | None:
    """Hand the job to the engine of its host (`hand_over`)."""
    definition = plan.definition
    if engines.of_job(job, definition) is not None:  # another process has done it
        return None
    acts.about_to_start(ctx, doing, plan)
    host = engines.host_of(ctx.config, str(definition.host))
    return host.engine.submit(ctx.caller, host, job, plan, locks)


def request_of(caller: Principal, plan: Plan, *, created: bool = False, awaited: bool = False) -> Request:
    """Return the request for the supervisor of a job. `created`, `awaited`: as of `hand_over`."""
    definition = plan.definition
    is_of_host = definition.host is not None
    # What gives a job to its host knows all: the job gets the environment that the host has for it
    inherited = caller.env if is_of_host else boundary.inherited(definition, caller.env)
    return Request(
        root=caller.store.path,
        job_id=definition.job_id,
        definition=definition,
        environment=inherited,
        overrides=plan.overrides,
        stages=programs.stage_variables(definition, {**inherited, **plan.overrides}),
        masked=masked_lines(definition.mask, {**caller.env, **plan.overrides}),
        umask=process.umask(),
        awaited=awaited,
        created=created,
        shell_path="" if is_of_host else _shell_path(caller, plan),
        at_turn=without_site(parts.AT_TURN, "main", os.path.dirname(outlive.DIRECTORY)) if is_of_host else [],
        **configured.for_request(caller, definition),
    )


def _shell_path(caller: Principal, plan: Plan) -> str:
    """Return the path of a job's shell, which is not the job's own program: it is none that an earlier
    job in a sandbox wrote. "" for a job without a shell, and in a sandbox."""
    if not plan.definition.shell or plan.definition.sandbox is not None:
        return ""
    path = own_programs.shell(plan.definition.shell, {**caller.env, **plan.overrides})[0]
    return path if "/" in path else ""


def await_start(job: JobDir, sock: socket.socket | None, locks: Locks) -> None:
    """Wait until the supervisor reports that it started the command, and leave the locks to it.
    Without a socket the job starts later, on another host.

    Errors: launch_failed; nothing ran then. After any error the socket is closed.
    """
    if sock is None:
        locks.close()
        return
    try:
        sock.setblocking(False)
        deadline = time.monotonic() + limits.LAUNCH_S
        while time.monotonic() < deadline:
            message = received(sock)
            if message is None:
                pause((sock.fileno(),), deadline)
                continue
            if message[:1] == b"{":
                failed = parse_json(message)
                if "error" in failed:  # on another host
                    raise refused(failed["error"])
                if failed.get("sandbox"):
                    raise boundary.of_part().not_set_up(failed["failed"])
                if failed.get("changed"):
                    raise OutliveError("denied", f"{failed['failed']}; nothing was run", hint=AGAIN)
                error = OSError(failed["errno"], failed["failed"], failed.get("path"))
                raise from_os("starting the command", error, code="launch_failed", on="process")
            locks.close()
            fault_points.at("send_answered")
            if message or _goes_on(job, deadline):
                return
            raise OutliveError(
                "launch_failed", "the supervisor ended before it could start the command", retryable=True
            )
        raise OutliveError(
            "launch_failed",
            f"no supervisor answered within {limits.LAUNCH_S:.0f} s",
            retryable=True,
            hint="The machine is very busy; try again.",
        )
    except BaseException:
        sock.close()
        raise


def _goes_on(job: JobDir, deadline: float) -> bool:
    """Wait until a guardian has made the start anew, after the connection broke. Return whether there
    is a record of it: without one nothing ran."""
    try:
        while True:
            supervised, state = job.is_supervised(), job.read_state()
            if not supervised or (state is not None and state.phase not in ("created", "spawning")):
                return state is not None
            if time.monotonic() >= deadline:
                return True
            pause((), time.monotonic() + _ANEW_S)
    except (OSError, OutliveError):
        return False


def plan_of_created(caller: Principal, job: JobDir) -> Plan:
    """Return the plan of a job that is started later than it was made, with the variables and the
    input that are on disk. Errors: invalid_argument, not_supported, io_error, config_error, sandbox_unavailable."""
    definition = job.read_meta()
    definition = Definition.replace(definition, sandbox=boundary.renewed(caller, definition))
    definition_module.check_parts(definition)
    host = definition_module.host_of(caller, definition.host or LOCAL)
    definition_module.directory_on(caller, host, definition.cwd)
    return plan_of(job, definition, {})


def plan_of(job: JobDir, definition: Definition, env: dict[str, str]) -> Plan:
    """Return the plan of a stored job that is to start with this definition: the variables and the input that are on disk,
    and the variables that the call gives. Errors: denied, invalid_argument, io_error."""
    check = boundary.reading_in(definition.sandbox)
    overrides = {**read_env_files(definition.env_files, check), **definition.env, **env}
    data, path = job.read_stdin_data(), definition.stdin_path
    stdin_fd = None if path is None else definition_module.open_stdin(path, check)
    return Plan(definition=definition, overrides=overrides, stdin_data=data, stdin_fd=stdin_fd)


def script(job: JobDir, definition: Definition) -> bytes | None:
    """Return the script that a job was defined with; None if it has none. Errors: io_error."""
    try:
        return job.read_script(definition)
    except OSError as error:
        raise from_os(f"reading {job.path}/{SCRIPT}", error) from error
