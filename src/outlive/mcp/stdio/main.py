"""`outlive mcp`: the MCP server of one client over stdin and stdout."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any

from outlive import config
from outlive.jobs.context import note_workspaces
from outlive.mcp.introduction import current_directory
from outlive.mcp.job_environment import job_directory
from outlive.mcp.stdio.session import Session, Settings, log
from outlive.mcp.stdio.wire import Wire
from outlive.mcp.tools.offer import offered
from outlive.system import pid1
from outlive.verbs.spec import GlobalOptions

_GONE = (
    "outlive was updated or removed while this server waited for its first call, and what a call needs cannot be "
    "loaded any more ({}). Start the server again. Jobs are not affected."
)


def main(values: dict[str, Any], options: GlobalOptions) -> int:
    """Serve until the client closes stdin, and return 0. Errors: invalid_argument, config_error, io_error."""
    names = ("channel", "isolate", "answers")
    settings = Settings(offered(values["tools"]), options.root, **{name: values[name] for name in names})
    configuration = config.load(os.environ, options.config)
    for line in configuration.ignored:
        log(line)
    note_workspaces(configuration, os.environ, job_directory(os.environ), current_directory())
    pid1.go_on_as_child()
    # Until the first request nothing needs a clean-up
    for number in Session.ENDING:
        signal.signal(number, signal.SIG_DFL)
    session = Session(settings, configuration, Wire.of_stdio())
    try:
        if session.serve_first():
            _serve_rest(session)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the client went away during a write: an end like any other
    finally:
        session.close()
    sys.stdout.flush()
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1:  # the interpreter would wait for a slow action that was abandoned
        os._exit(0)
    return 0


def _serve_rest(session: Session) -> None:
    session.prepare()
    gc.disable()  # the imports make half a million objects and keep them: collecting in between costs 50 ms
    try:
        from outlive.mcp.stdio import serving  # late: half a second, the SDK
    except Exception as error:  # noqa: BLE001 - files that are being replaced: whatever comes of that
        session.refuse(_GONE.format(f"{type(error).__name__}: {error}"))
    else:
        gc.enable()
        gc.freeze()
        serving.serve(session)
