"""The nursery's own process: keeps one pair ready, gives it the next job, forks the next pair."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket

from outlive import limits
from outlive.supervisor.handover import LEND, Pair
from outlive.supervisor.pair import fork_pair
from outlive.system import crash, fds, prctl, process, signals, tree

_SOCKET_FD = 3


def main() -> None:
    """Until the server's end of the socket is closed."""
    fds.close_others({_SOCKET_FD})
    os.chdir("/")
    signals.clean_slate()
    prctl.rename(tree.NURSERY)
    process.boot_id()  # known to every pair from here on
    gc.collect()
    gc.freeze()  # what is here now is shared with every pair
    sock = socket.socket(fileno=_SOCKET_FD)
    children = signals.wakeup_pipe((signal.SIGCHLD,))
    selector = selectors.DefaultSelector()
    selector.register(sock, selectors.EVENT_READ)
    selector.register(children, selectors.EVENT_READ)
    spare = _fork()
    while True:
        ready = {key.fd for key, _ in selector.select(None if spare else limits.SPARE_PAIR_S)}
        if spare is None and not ready:
            spare = _fork()
        if children in ready:
            os.read(children, 4096)
            _reap()
        if sock.fileno() not in ready:
            continue
        message, numbers = fds.receive(sock, limits.CONTROL_BYTES)
        if not message:
            break
        crash.at("nursery_asked")
        names = message.decode().split(",")
        _give(spare, dict(zip(names, numbers, strict=False)), borrower=sock if names[-1] == LEND else None)
        crash.at("nursery_given")
        for fd in numbers:
            os.close(fd)
        if spare is not None:
            spare.close()
        spare = None  # not now: forking would keep a core from the job that is being started
    if spare is not None:
        spare.close()
    os._exit(0)


def once() -> None:
    """One job, in the scope that we were put into (launch/scope.py); then it is done."""
    sock = socket.socket(fileno=os.dup(0))
    fds.null_stdio()
    fds.close_others({sock.fileno()})
    os.chdir("/")
    signals.clean_slate()
    prctl.rename(tree.NURSERY)
    fds.send(sock, b"there")
    message, numbers = fds.receive(sock, limits.CONTROL_BYTES)
    if message:
        crash.at("scope_asked")
        _give(None, dict(zip(message.decode().split(","), numbers, strict=False)), away=True)
        crash.at("scope_given")
    os._exit(0)


def _fork() -> Pair | None:
    try:
        return fork_pair(away=False)
    except OSError:
        return None


def _give(
    spare: Pair | None, files: dict[str, int], *, away: bool = False, borrower: socket.socket | None = None
) -> None:
    """Hand the job on; if there is no pair, one is forked now, and if that fails its launcher is told why. `borrower` gets
    the pair's lines."""
    try:
        if spare is not None:
            try:
                spare.send(files)
                _lend(spare, borrower)
                return
            except (BrokenPipeError, ConnectionResetError):  # it was killed while it waited: nothing was taken
                pass
        pair = fork_pair(away=away)
        try:
            pair.send(files)
            _lend(pair, borrower)
        finally:
            pair.close()
    except OSError as error:
        waiter = socket.socket(fileno=os.dup(files["waiter"]))
        fds.send(waiter, json.dumps({"failed": error.strerror or str(error), "errno": error.errno or 0}).encode())
        waiter.close()


def _lend(pair: Pair, borrower: socket.socket | None) -> None:
    """Without a borrower, or one that takes nothing now, it ends with its job."""
    if borrower is not None:
        with contextlib.suppress(OSError):
            pair.lend(borrower)


def _reap() -> None:
    """Guardians whose job is over."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
