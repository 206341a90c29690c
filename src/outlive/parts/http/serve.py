"""`outlive serve`: the MCP server of many clients over HTTP, and the page at /ui."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from contextlib import ExitStack, closing, suppress
from types import FrameType
from typing import Any

from outlive import config, limits
from outlive.errors import invalid
from outlive.jobs.context import note_workspaces
from outlive.launch.fork_server_client import start
from outlive.mcp.introduction import current_directory
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.offer import offered
from outlive.parts.http import greeting
from outlive.parts.http.listener import Address, Settings, listen, more_files
from outlive.parts.http.tokens import Tokens
from outlive.store.root import Store
from outlive.system import pid1 as first_process
from outlive.verbs.spec import GlobalOptions


def main(values: dict[str, Any], options: GlobalOptions) -> int:
    """Serve until a signal ends the process. Errors: invalid_argument, config_error, io_error, store_unsafe."""
    settings = _checked(values, options)
    first_process.go_on_as_child()
    configuration = config.load(os.environ, settings.options.config)
    for line in configuration.ignored:
        greeting.log(line)
    note_workspaces(configuration, os.environ, settings.workdir, current_directory())
    ended_by: int | None = None
    try:
        with ExitStack() as stack:
            store = stack.enter_context(closing(Store.open(settings.options.root, os.environ)))
            tokens = Tokens(store)
            tokens.all()  # an error now, if they cannot be read
            listener = _listen(settings.address, stack)
            # Before the limit of open files is raised: jobs inherit the limit that we were given
            launcher = start()
            stack.callback(launcher.close)
            more_files()
            environment = JobEnvironment(os.environ)
            environment.start()
            gc.disable()  # as in `outlive mcp`
            from outlive.parts.http import (
                serving,  # late: loading the SDK takes long, and clients can connect meanwhile
            )

            gc.enable()
            gc.freeze()
            ended_by = serving.run(settings, configuration, store, tokens, listener, launcher, environment)
    except* _Terminated:
        ended_by = signal.SIGTERM
    sys.stderr.flush()
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    if ended_by is not None:
        signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
    os._exit(0)  # the interpreter would wait for a thread that walks thousands of files


def _checked(values: dict[str, Any], options: GlobalOptions) -> Settings:
    """Return the arguments, checked against each other and with defaults. Errors: invalid_argument."""
    for name in ("host", "socket", "allow_host"):
        given = values[name]
        if "" in (given if isinstance(given, list) else [given]):
            raise invalid(name, f"--{name.replace('_', '-')} has an empty value", usage=True)
    if values["socket"] and (values["host"] or values["port"] is not None):
        raise invalid("socket", "--socket goes without --host and --port", usage=True)
    if values["keyfile"] and not values["certfile"]:
        raise invalid("keyfile", "--keyfile needs --certfile", usage=True)
    prefix = values["prefix"]
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or "?" in prefix or "#" in prefix):
        raise invalid("prefix", f"not the beginning of a path: {prefix}", hint="For example /outlive.", usage=True)
    if values["workdir"] and not os.path.isdir(values["workdir"]):
        raise invalid("workdir", f"not a directory: {values['workdir']}", usage=True)
    port = limits.SERVE_PORT if values["port"] is None else values["port"]
    where = {name: values[name] for name in ("host", "socket", "certfile", "plaintext")}
    names = ("keyfile", "allow_host", "prefix", "workdir", "answers", "stateless")
    return Settings(
        address=Address(port=port, **where),
        tools=offered(values["tools"]),
        options=options,
        **{name: values[name] for name in names},
    )


class _Terminated(BaseException):
    """SIGTERM came while the server was being started."""


def _listen(address: Address, stack: ExitStack) -> socket.socket:
    """Return the listening socket; `stack` closes it and deletes its file, and from here on SIGTERM runs `stack`."""

    def terminated(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGTERM, terminated)
    try:
        listener = listen(address)
        if address.socket:
            stack.callback(_unlink, address.socket)
        stack.enter_context(listener)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return listener


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
