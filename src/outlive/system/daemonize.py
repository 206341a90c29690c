"""Detach from the process that started us, so that its end does not end us."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable

from outlive import errors
from outlive.system import fds, prctl, signals


def fork_into(body: Callable[[], int], keep: set[int], title: str, *, clean: bool = False) -> int:
    """Fork a child that runs `body` with only the fds of `keep` (0-2 are /dev/null) and ends with
    its result.

    The child first leaves what it inherited, in this order: session, stdio, fds, directory,
    dispositions, mask, name. Return its pid. `clean`: the caller was itself forked in this way, so
    most of that is done; it saves half a millisecond.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 70  # EX_SOFTWARE
    try:
        os.setsid()
        leave(keep, title, clean=clean)
        gc.freeze()  # what was there before the fork stays shared: no collection touches it again
        code = body()
    except BaseException as error:  # noqa: BLE001 - nothing above us but the parent's stack
        _last_words(error)
    finally:
        os._exit(code)


def leave(keep: set[int], title: str, *, clean: bool = False) -> None:
    """Leave behind what this process inherited, as the child of `fork_into` does."""
    if clean:
        fds.close_others(keep)
        signals.forget_wakeup()
    else:
        fds.null_stdio()
        fds.close_others(keep)
        os.chdir("/")
        signals.clean_slate()
    prctl.rename(title)


def fork_away(body: Callable[[], int], keep: set[int], title: str) -> None:
    """Fork a grandchild that runs `body` as in `fork_into`, below PID 1 or the next subreaper: a client that walks
    its server's tree does not find it. Errors: OSError of fork(2)."""
    middle = os.fork()
    if middle == 0:
        code = errno.EAGAIN
        try:
            fork_into(body, keep, title)
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    try:
        _, status = os.waitpid(middle, 0)
    except ChildProcessError:
        # Our own caller ignores SIGCHLD, so the kernel has reaped it (wait(2))
        return
    if status:  # its exit code is an errno; killed, it was too many or too large
        code = os.waitstatus_to_exitcode(status)
        raise OSError(code if code > 0 else errno.EAGAIN, "a detached process could not be forked")


def _last_words(error: BaseException) -> None:
    """OUTLIVE_DEBUG_FILE gets the traceback of a detached process that should never have one."""
    path = os.environ.get("OUTLIVE_DEBUG_FILE")
    if not path:
        return
    with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(errors.traceback_of(error))
