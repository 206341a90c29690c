"""Being process 1 of a container: whatever loses its parent there becomes ours, and stays a zombie if nobody waits for it."""

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


def leave_it() -> None:
    """If this is process 1, go on as its child; what is left at 1 waits for everybody, passes signals on, and ends as the
    child does. Call it before there are threads or open files that somebody has to see closed."""
    if os.getpid() != 1:
        return
    child = os.fork()
    if child == 0:
        return
    try:
        fds.null_stdio()  # whoever reads our child's output must see it close
        fds.close_others(set())
        for number in _PASSED_ON:  # process 1 has no default dispositions: without a handler TERM would mean nothing
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = _wait_for(child)
    except BaseException:  # noqa: BLE001 - the stack above is the server's, and not ours to unwind
        code = 70  # EX_SOFTWARE
    os._exit(code)


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
