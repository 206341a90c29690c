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
from outlive.supervisor.handover import AHEAD, LEND, Pair, read
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
        _give(spare, *read(message, numbers), sock)
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
        _give(None, *read(message, numbers), None)
        crash.at("scope_given")
    os._exit(0)


def _fork() -> Pair | None:
    try:
        return fork_pair(away=False, spare=True)
    except OSError:
        return None


def _give(spare: Pair | None, files: dict[str, int], words: list[str], server: socket.socket | None) -> None:
    """Hand the job on; if there is no pair, one is forked now, and if that fails its launcher is told why. `server`: where
    to lend it, if that is among the words; None: there is none, and we end now."""
    try:
        if spare is not None:
            try:
                _send(spare, files, words, server)
                return
            except (BrokenPipeError, ConnectionResetError):  # it was killed while it waited: nothing was taken
                pass
        pair = fork_pair(away=server is None)
        try:
            _send(pair, files, words, server)
        finally:
            pair.close()
    except OSError as error:
        waiter = socket.socket(fileno=os.dup(files["waiter"]))
        fds.send(waiter, json.dumps({"failed": error.strerror or str(error), "errno": error.errno or 0}).encode())
        waiter.close()


def _send(pair: Pair, files: dict[str, int], words: list[str], server: socket.socket | None) -> None:
    pair.send(files, ahead=AHEAD in words)
    if server is not None and LEND in words:
        with contextlib.suppress(OSError):  # one that is not taken now ends with its job
            pair.lend(server)


def _reap() -> None:
    """Guardians whose job is over."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
