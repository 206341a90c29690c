"""Turn the arguments of run and create into a definition.

Every mistake is found before anything is made.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Callable, Sequence
from typing import Any

from outlive import limits, parts
from outlive.core.env_files import check_env, is_env_name, read_env_files
from outlive.core.ids import sha256
from outlive.core.labels import check_tags
from outlive.core.quoted import one_line
from outlive.core.real_path import real_path
from outlive.core.records import EXEC, LOCAL, Definition, Notification, Sandbox, Script
from outlive.core.units import timestamp
from outlive.errors import OutliveError, argument, from_os, invalid, shortened
from outlive.jobs import command as command_module
from outlive.jobs import watch_spec
from outlive.jobs.context import Context, Principal
from outlive.jobs.programs import name_of
from outlive.jobs.starting import boundary, gate
from outlive.jobs.starting.plan import Plan
from outlive.jobs.told import ownership
from outlive.launch import engines
from outlive.launch.engines import Host
from outlive.system import fds, machine

_EXISTING = "Name an existing directory."
_WHERE = f"Give an absolute path with {argument('cwd')}."


def plan(ctx: Context, job_id: str, *, start_now: bool, **args: Any) -> Plan:
    """Check the arguments of run or create and return the plan.

    Errors: invalid_argument, invalid_tag, io_error.
    """
    given = command_module.given_in(args)
    words, shell, script = command_module.words_of(ctx.caller, given, args.get("shell"))
    host = host_of(ctx.caller, args.get("host"))
    cwd = directory_on(ctx.caller, host, args.get("cwd"))
    env = check_env(args.get("env") or {})
    mask = _mask(args.get("mask") or ())
    env_files = [os.path.abspath(os.path.join(ctx.cwd or "/", path)) for path in args.get("env_file") or ()]
    sandbox = boundary.of_call(ctx.caller, host, cwd, args)
    check = boundary.reading_in(sandbox)
    from_files = read_env_files(env_files, check)  # also for create: a file that cannot be read is found now
    if mask:
        _warn_of_masks(ctx, mask, {**ctx.env, **from_files, **env})
    masked = {name for name in mask if name in env}
    if masked and not start_now:
        raise invalid(
            "env",
            f"the values of {', '.join(sorted(masked))} are masked, and create would have to store them",
            hint="Start the job at once instead"
            + (f", or put them into a file for {argument('env_file')}." if ctx.face == "cli" else "."),
        )
    stdin, data, stdin_fd, stdin_path = _stdin(ctx.caller, args, check, start_now=start_now)
    tags = check_tags(list(args.get("tags") or ()))
    title = _title(args.get("title")) or _title((args.get("description") or "")[: limits.MAX_TITLE_CHARS])
    watches = watch_spec.parsed(ctx.caller, args, []) or None
    definition = Definition(
        job_id=job_id,
        command=words,
        script=None if script is None else Script(bytes=len(script), sha256=sha256(script)),
        shell=shell,
        cwd=cwd,
        caller_cwd=ctx.cwd if host is not None and host.engine.mirrors else None,
        env={name: value for name, value in env.items() if name not in mask},
        env_files=env_files,
        mask=mask,
        masked_env=sorted(masked),
        timeout_ms=args.get("timeout_ms") or 0,
        idle_timeout_ms=args.get("idle_timeout_ms") or 0,
        kill_after_ms=args.get("kill_after_ms") or 0,
        progress_every_ms=args.get("progress_every_ms") or 0,
        pty=bool(args.get("pty")),
        stdin=stdin,
        stdin_path=stdin_path,
        tags=tags,
        title=title,
        name=title or name_of(words),
        owner=ctx.caller.owner,
        scope=ctx.caller.scope,
        session=ownership.session_of(ctx.caller),
        notification=Notification.replace(
            notification(ctx.caller, args.get("notify_command"), args.get("notify_file")), watches=watches
        ),
        quota_bytes=_quota(ctx.caller, args.get("quota_bytes")),
        dedupe_key=args.get("dedupe_key"),
        sandbox=sandbox,
        elevated=bool(args.get("elevated")),
        systemd_scope=host is None
        and not args.get("no_systemd_scope")
        and bool(args.get("systemd_scope") or ctx.config.get("exec", "systemd_scope")),
        host=None if host is None else host.name,
        machine=machine.here(),
        created_at=timestamp(),
        root=ctx.store.path,
        kept=parts.kept(ctx, args),
    )
    require_possible(ctx.caller, definition, host)
    unneeded = args.get("elevated") and not (ctx.config.uses("sandbox") or ctx.caller.rights.sandbox)
    hints = ["elevated has no effect: no sandbox is configured."] if unneeded else []
    hints += _milliseconds_meant(ctx.caller, definition.timeout_ms)
    hints += command_module.lost_with_its_shell(ctx.caller, words, shell)
    if ctx.face == "cli":  # a server says it once on its stderr: no model can mend its environment
        hints += [f"{line}." for line in ctx.config.ignored]
    hint = " ".join(hints) or None
    return Plan(
        definition=definition,
        overrides={**from_files, **env},
        stdin_data=data,
        stdin_fd=stdin_fd,
        script=script,
        hint=hint,
    )


def require_possible(caller: Principal, definition: Definition, host: Host | None) -> None:
    """Check that a job that is to be made, or made again, can do what it asks for, on this host or (None) this machine.
    Errors: denied, invalid_argument, not_supported, and those of the host."""
    boundary.require_sinks(caller, definition)
    check_parts(definition)
    if host is not None:
        host.engine.check(host, definition)


def check_parts(definition: Definition) -> None:
    """Let each part refuse a job that could not do what it asks for. Errors: invalid_argument; not_supported if a part is
    not installed without which the job would run otherwise than it was made."""
    missing = parts.required(definition.of_parts)
    if missing:
        raise OutliveError("not_supported", f"the job was made with {parts.not_there(missing)}; nothing was run")
    for one in parts.of_job(definition).values():
        one.check()


def host_of(caller: Principal, name: str | None) -> Host | None:
    """Return the host of a job for which the caller names this one; None for this machine. Errors:
    invalid_argument, not_supported."""
    wanted = caller.config.get("exec", "host") if name is None else name
    if wanted == LOCAL:
        return None
    return engines.host_of(caller.config, wanted)


def directory_on(caller: Principal, host: Host | None, given: str | None) -> str:
    """Return the directory that a job runs in. Errors: those of `working_directory`, and of the
    host."""
    there = None if host is None else host.engine.directory(host, given)
    if there is None:
        return working_directory(caller, given)
    caller.rights.require_here(there)
    return there


def working_directory(caller: Principal, given: str | None) -> str:
    """Return the absolute directory that a job runs in.

    Errors: invalid_argument if it cannot be entered, denied if the caller has no right to it.
    """
    if given is None:
        if caller.cwd is None:
            why, hint = _deleted() if caller.face == "cli" else ("this server has none for jobs", _WHERE)
            raise invalid("cwd", f"no directory was named, and {why}; nothing was run", hint=hint)
        given = caller.cwd
    if given == "~" or given.startswith("~/"):  # as on hosts: models write it
        given = os.path.join(caller.env.get("HOME", "~"), given[2:])
    if not given.strip():
        raise invalid("cwd", f"not a directory: {given!r}; nothing was run")
    if caller.cwd is None and not os.path.isabs(given):
        raise invalid("cwd", f"not an absolute path: {given!r}; nothing was run", hint=_WHERE)
    path = os.path.normpath(os.path.join(caller.cwd or "/", given))
    if gate.decides(caller.config):  # it decides about what is there, which no link may change
        path = real_path(path)
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError:
        raise invalid("cwd", f"the directory {path} {_not_entered(path)}; nothing was run") from None
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened: {error.strerror}"
        raise invalid("cwd", f"the directory {path} {what}; nothing was run", hint=_EXISTING) from None
    if not is_directory:
        raise invalid("cwd", f"{path} is not a directory; nothing was run", hint=_EXISTING)
    if not os.access(path, os.X_OK):
        raise invalid("cwd", f"the directory {path} may not be entered; nothing was run")
    caller.rights.require_inside(path)
    return path


def _deleted() -> tuple[str, str]:
    """Say which current directory was deleted, and what can be done. A shell stays in the deleted one
    when another is made at its path."""
    path = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
    again = f"Another one is there now: cd {shlex.quote(path)}" if os.path.isdir(path) else _WHERE
    return f"the current one, {path}, was deleted", again


def _not_entered(path: str) -> str:
    names = path.split("/")
    above = ("/".join(names[:count]) or "/" for count in range(1, len(names)))
    closed = next((folder for folder in above if not os.access(folder, os.X_OK)), "a directory above it")
    return f"cannot be reached: {closed} may not be entered"


def require_input(ctx: Context, definition: Definition) -> None:
    """Check that a caller over MCP writes into no job that may do more than the caller's new jobs may, whosever it is: whose
    a job is, its client says, and a token of the same name may have had more rights. Errors: denied, sandbox_unavailable."""
    if ctx.face == "mcp" and not ctx.caller.at_terminal and boundary.applies(ctx.caller):
        boundary.require(ctx.caller, definition, "write into")


def require_sandbox(caller: Principal, definition: Definition, doing: str) -> None:
    """Check that a stored job is still within this caller's ceiling, and that its sandbox can be
    set up. Errors: denied, sandbox_unavailable, invalid_argument."""
    boundary.require(caller, definition, doing)
    boundary.require_usable(caller, definition)


def renewed(caller: Principal, definition: Definition, doing: str) -> Sandbox | None:
    """Return the sandbox that a stored job starts in now, if this caller may do that. Errors: as require_sandbox,
    config_error."""
    boundary.require(caller, definition, doing)
    sandbox = boundary.renewed(caller, definition)
    boundary.require_usable(caller, Definition.replace(definition, sandbox=sandbox))
    return sandbox


def _milliseconds_meant(caller: Principal, timeout_ms: int) -> list[str]:
    """Return a warning about a time limit in seconds that looks like one in milliseconds."""
    configured = timeout_ms == round(caller.config.get("exec", "timeout_sec") * 1000)
    if caller.face != "mcp" or configured or timeout_ms < limits.LOOKS_LIKE_MS_S * 1000:
        return []
    seconds = timeout_ms / 1000
    return [
        f'timeout is in seconds: {seconds:g} ends the job after {seconds / 3600:.1f} h. For milliseconds write "{seconds:g}ms".'
    ]


def _mask(names: Sequence[str]) -> list[str]:
    for name in names:
        if not is_env_name(name):
            raise invalid(
                "mask", f"not the name of a variable: {name!r}", hint=f"{argument('mask')} takes names, not values."
            )
    return list(dict.fromkeys(names))


def masked_lines(names: list[str], env: dict[str, str]) -> list[str]:
    """Return what is masked in the output of a job: the lines of the values of these variables,
    without those that are too short."""
    lines = {line for name in names for line in env.get(name, "").splitlines()}
    return sorted(line for line in lines if len(line) >= limits.MASKED_CHARS)


def _warn_of_masks(ctx: Context, names: list[str], env: dict[str, str]) -> None:
    unknown = [name for name in names if name not in env]
    short = [name for name in names if name in env and not masked_lines([name], env)]
    if unknown:
        ctx.warnings.append(shortened(f"mask names no variable of the job: {', '.join(unknown)}."))
    if short:
        values = "value of {} is" if len(short) == 1 else "values of {} are"
        which = values.format(", ".join(short))
        ctx.warnings.append(f"The {which} too short to be masked in output (under {limits.MASKED_CHARS} characters).")


def _stdin(
    caller: Principal, args: dict[str, Any], check: Callable[[int, str, str], None] | None, *, start_now: bool
) -> tuple[str, bytes | None, int | None, str | None]:
    """Return (kind, data to keep, descriptor to pass on, path of a file)."""
    given, data = args.get("stdin") or "closed", args.get("stdin_data")
    if data is not None and given not in ("open", "closed"):
        raise invalid("stdin_data", f"{argument('stdin_data')} goes with {argument('stdin')} open or closed only")
    if data is not None:
        encoded = data.encode("utf-8", "surrogateescape")
        if len(encoded) > limits.MAX_STDIN_WRITE_BYTES:
            message = f"{argument('stdin_data')} is longer than {limits.MAX_STDIN_WRITE_BYTES:,} bytes"
            raise invalid("stdin_data", message, hint="Put it into a file, and let the command read that.")
        return ("open" if given == "open" else "data"), encoded, None, None
    if given in ("open", "closed"):
        return given, None, None, None
    if given.startswith("@") and caller.face == "cli":
        if not given[1:]:
            raise invalid("stdin", "@ names no file", hint=f"Write {argument('stdin')} @FILE.")
        path = os.path.abspath(given[1:])
        return "file", None, open_stdin(path, check), path
    if given == "-" and caller.face == "cli":
        if not start_now:
            raise invalid(
                "stdin", "create cannot keep this command's own stdin", hint=f"Use {argument('stdin')} @FILE."
            )
        if os.isatty(0):
            raise invalid(
                "stdin",
                "stdin is a terminal",
                hint=f"Pipe something into it, or use {argument('stdin')} open and write.",
            )
        return "caller", None, os.dup(0), None
    known = "open, closed, - or @FILE" if caller.face == "cli" else "open or closed"
    hint = f"Text for the command to read goes into {argument('stdin_data')}."
    raise invalid("stdin", f"{argument('stdin')} is {known}, not {given!r}", hint=hint)


def open_stdin(path: str, check: Callable[[int, str, str], None] | None) -> int:
    """Open the file that a job reads. Errors: io_error, and those of `check`."""
    try:
        # It is looked at before it is opened: a link may lead to a device that begins something then
        with fds.Closing(os.open(path, os.O_PATH | os.O_CLOEXEC)) as there:
            if stat.S_ISDIR(os.fstat(there).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if check is not None:
                check(there, path, "stdin")
            # Opening a FIFO without a writer would block
            fd = os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(fd, True)
        return fd
    except OSError as error:
        raise from_os(f"opening {path} for the job's stdin", error) from error


def _quota(caller: Principal, given: int | None) -> int:
    """Return the quota in bytes; 0 keeps everything."""
    count: int = caller.config.get("exec", "quota_bytes") if given is None else given
    if 0 < count < limits.MIN_QUOTA_BYTES:
        raise invalid(
            "quota_bytes",
            f"{argument('quota_bytes')} is at least {limits.MIN_QUOTA_BYTES:,}, not {count:,}; 0 keeps everything",
        )
    return count


def _title(given: str | None) -> str | None:
    if given is None:
        return None
    text = one_line(given)
    if len(text) > limits.MAX_TITLE_CHARS:
        raise invalid("title", f"the title is longer than {limits.MAX_TITLE_CHARS} characters")
    return text or None


def notification(
    caller: Principal,
    command: str | None,
    file: str | None,
    *,
    fields: tuple[str, str] = ("notify_command", "notify_file"),
    before: Notification | None = None,
) -> Notification:
    """Return the notification `before` with this command and file, as far as they are given.

    `fields` are the caller's names of the two. Errors: invalid_argument, denied.
    """
    changed = before or Notification()
    if command is not None or file is not None:  # a shell may read the file later
        caller.rights.require(EXEC, fields[1] if command is None else fields[0])
    if command is not None:
        if not command.strip():
            raise invalid(fields[0], "the notification command is empty")
        changed = Notification.replace(changed, notify_command=command)
    if file is not None:
        if not file.strip():
            raise invalid(fields[1], "the notification file is empty")
        changed = Notification.replace(changed, notify_file=watch_spec.sink_file(caller, file, fields[1]))
    return changed
