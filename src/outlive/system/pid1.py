"""Process 1 of a container: it inherits every process that loses its parent, and has to reap them."""

from __future__ import annotations

import os
import signal

from outlive.system import fds

_PASSED_ON = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)


def go_on_as_child() -> None:
    """Go on as a child, if this is process 1. The process that stays at 1 reaps all others, passes
    signals on to the child, and ends with its status.

    Call it before there are threads, or open files whose closing another process waits for.
    """
    if os.getpid() != 1:
        return
    child = os.fork()
    if child == 0:
        return
    try:
        fds.null_stdio()  # a reader of the child's output must see it close
        fds.close_others(set())
        # Process 1 has no default dispositions: without a handler TERM would have no effect
        for number in _PASSED_ON:
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = _wait_for(child)
    except BaseException:  # noqa: BLE001 - the stack above is the server's, which must not be unwound here
        code = 70  # EX_SOFTWARE
    os._exit(code)


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
