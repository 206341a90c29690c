"""Starts a job for a caller on another machine, in the environment of a login here."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from outlive.config import Config
from outlive.core.real_path import real_path
from outlive.core.records import Definition, GrantedSandbox, Sandbox
from outlive.errors import OutliveError, misconfigured
from outlive.jobs.context import Context, Principal
from outlive.jobs.definition import working_directory
from outlive.jobs.starting import making
from outlive.jobs.starting.plan import Plan
from outlive.launch.from_cli import Launcher
from outlive.parts.hosts.far import orphans
from outlive.parts.sandbox.confinement import access, bubblewrap, gitconfig
from outlive.parts.sandbox.settings import Settings
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system import interpreter, own_programs

_LOGIN_S = 10.0
_MARK = "--outlive-environment--"
_PRINT = f"import json,os,sys;sys.stdout.write({_MARK!r}+json.dumps(dict(os.environ))+{_MARK!r})"
# They lead back along the connection, which the job outlives
_OF_CONNECTION = frozenset({"SSH_AUTH_SOCK", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"})
_SHELL = ("sh", "-lc")
_ABSENT = ".absent-"  # and the id of a job of which a mirror was told that it is not here
_KEPT_S = 86_400  # so long no connection of before lives


def context(store: Store, env: dict[str, str], owner: str = "cli") -> Context:
    caller = Principal(
        store,
        Config({}, None),
        face="cli",
        owner=owner,
        client=None,
        cwd=os.path.expanduser("~"),
        env=env,
        launcher=Launcher(),
        shell_words=_SHELL,
    )
    return Context(caller)


def start(store: Store, said: dict[str, Any], is_wanted: Callable[[], bool], origin: str | None = None) -> None:
    """Start a job unless it was started before, by a connection that broke then.

    `said` has its definition, the variables on top of the inherited ones, and its input.
    `is_wanted` is asked right before: an end of the connection means that another one may ask.
    `origin` is the name of the job root that the job is mirrored to.
    Errors: OutliveError; nothing runs then.
    """
    wanted: Definition = Definition.of(said["definition"])
    if is_there(store, wanted.job_id):
        return
    own_programs.know([real_path(os.path.expanduser(wanted.cwd))])  # jobs of before may have written there
    env = login_environment()
    ctx = context(store, env, wanted.owner)
    cwd = working_directory(ctx.caller, os.path.expanduser(wanted.cwd))
    definition = Definition.replace(
        wanted,
        cwd=cwd,
        root=store.path,
        shell=_shell(wanted.shell, env),
        sandbox=_sandbox(store, said.get("sandbox"), cwd, env),
    )
    data, script = (
        None if text is None else text.encode("latin-1") for text in (said.get("stdin_data"), said.get("script"))
    )
    plan = Plan(definition=definition, overrides=said["overrides"], stdin_data=data, script=script)
    if not is_wanted():
        raise OutliveError("launch_failed", "the connection was closed before the job was started", retryable=True)
    try:
        new = making.make(ctx, plan, live=True)
    except OutliveError:
        if is_there(store, wanted.job_id):  # another connection was faster
            return
        raise
    assert new.locks is not None
    try:
        orphans.note(new.dir, origin)
        # Only now that the directory can be seen: either this sees the mark, or the connection that
        # left it saw the job
        if _ABSENT + wanted.job_id in os.listdir(store.fd):
            message = "the mirror of the job was told meanwhile that it is not there; nothing was run"
            raise OutliveError("launch_failed", message)
        sock = making.hand_over(ctx, plan, new.dir, new.locks)
        assert sock is not None  # it runs on this machine
        making.await_start(new.dir, sock, new.locks)
        sock.close()
    except (OSError, OutliveError):
        new.discard()
        raise
    new.close()


def mark_absent(store: Store, job_id: str) -> None:
    """Keep a job that is not here from being started from now on: a mirror that was killed may have
    asked for it over a connection that is cut, and not ended yet. Look for the job again after
    this. Errors: OSError."""
    os.close(os.open(_ABSENT + job_id, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=store.fd))


def forget_marks(store: Store) -> None:
    """Delete the marks that are older than a day."""
    now = time.time()
    for name in os.listdir(store.fd):
        if name.startswith(_ABSENT):
            try:
                if now - os.stat(name, dir_fd=store.fd).st_mtime > _KEPT_S:
                    os.unlink(name, dir_fd=store.fd)
            except FileNotFoundError:  # another connection was faster
                continue


def is_there(store: Store, job_id: str) -> bool:
    """Return whether the job was started before. Errors: OutliveError if its directory is the
    mirror's own."""
    try:
        with JobDir.open(store, job_id) as job:
            definition = job.read_meta()
    except (OSError, OutliveError):
        return False
    if definition.host is not None:
        message = f"the job root there, {store.path}, is the job root here"
        raise OutliveError("config_error", message, hint="Set `root` in the [hosts.NAME] section to another directory.")
    return True


def _sandbox(store: Store, asked: dict[str, Any] | None, cwd: str, env: Mapping[str, str]) -> Sandbox | None:
    """Return the sandbox of a job as it is stored; None for a job without. What it may be was decided where
    the job was asked for, and what it shows of this machine is decided here. `env`: the variables of a login, with which the
    user works here; ours are those of the connection.

    Writable are the configured directory of the host and what the configuration names, never the
    directory that a call asks for. Errors: sandbox_unavailable, invalid_argument.
    """
    if asked is None:
        return None
    workdir = asked.get("workdir")
    secret = [store.path, *access.of_variables(os.environ), *access.of_variables(env)]
    sandbox = access.resolved(
        granted=GrantedSandbox(asked["mode"], asked["network"], asked["git"]),
        environment=env,
        settings=Settings(
            write=asked["write"] or (),
            hide=asked["hide"] or (),
            show=asked["show"] or (),
            environment=asked["environment"] or (),
        ),
        workspace=_workspace(workdir) if workdir else None,
        homes=[os.path.expanduser("~")],
        ours=access.Ours(secret, [*interpreter.installed(), bubblewrap.PROGRAM], bubblewrap.find(None)),
    )
    own_programs.know(sandbox.roots)
    access.require_visible(sandbox, cwd, "cwd")
    for variables in (os.environ, env):  # the next connection looks where its own say
        access.note(sandbox, variables)
        sandbox = gitconfig.noted(sandbox, variables)
    return sandbox


def _workspace(workdir: str) -> str:
    """Return the directory of a host that its jobs may write. Errors: config_error for one behind a link, unless the home
    is: an earlier job may have made that."""
    home = real_path(os.path.expanduser("~"))
    path = os.path.normpath(os.path.join(home, workdir[2:]) if workdir.startswith("~") else workdir)
    real = real_path(path)
    if real != path:
        message = f"the `workdir` of the host is a link there, or lies behind one: {path}; nothing was run"
        raise misconfigured(message, f"Name the directory itself: {real}.")
    return path


def _shell(wrapper: list[str] | None, env: dict[str, str]) -> list[str] | None:
    """Return the wrapper of a shell string; sh where the shell of the other machine is missing."""
    if wrapper is None or shutil.which(wrapper[0], path=env.get("PATH")):
        return wrapper
    return ["sh", *wrapper[1:]]


def login_environment() -> dict[str, str]:
    """Return the variables of a login shell of this user, our own ones if there is no such shell."""
    own = dict(os.environ)
    shell = pwd.getpwuid(os.getuid()).pw_shell
    given = own_programs.environment(own)  # the programs that its profile calls
    variables = _printed(shell, given) if own_programs.is_safe(shell, own) else None
    variables = own if variables is None else _with_all(variables, given, own)
    return {name: value for name, value in variables.items() if name not in _OF_CONNECTION and name != "_"}


def _with_all(printed: dict[str, str], given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a login shell printed, which was given less than ours: a job gets the whole."""
    kept = {name for name in own_programs.unsafe(own) if printed.get(name) == given.get(name)}
    path = (
        {"PATH": printed["PATH"].replace(given["PATH"], own["PATH"], 1)} if "PATH" in printed and "PATH" in own else {}
    )
    return {**printed, **{name: own[name] for name in kept}, **path}


def _printed(shell: str, own: dict[str, str]) -> dict[str, str] | None:
    command = f"exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(_PRINT)}"
    try:
        done = subprocess.run(
            # A shell whose name begins with - is a login shell; not every one has a flag for it
            [f"-{os.path.basename(shell)}", "-c", command],
            executable=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=own,
            cwd=os.path.expanduser("~"),
            timeout=_LOGIN_S,
            start_new_session=True,
            check=False,
        )
        text = done.stdout.decode("utf-8", "surrogateescape").split(_MARK)[1]
        variables = json.loads(text)
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return None
    return {str(name): str(value) for name, value in variables.items()}
