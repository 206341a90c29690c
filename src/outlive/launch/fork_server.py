"""The process of a fork server: it keeps one warm pair, gives it the next job, and forks the next pair."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from contextlib import closing

from outlive.supervisor import large_code
from outlive.supervisor.fork_protocol import LEND, MESSAGE_BYTES, NOT_LENT, Pair, read, refuse
from outlive.supervisor.guardian import fork_pair
from outlive.supervisor.request import Request, report_fault
from outlive.system import cgroup, daemonize, fault_points, fds, machine, oom, signals, tree

_SPARE_PAIR_S = 0.012  # after a start, before the next pair is forked: the one that starts needs the cores
_SPARE_RETRY_S = 1.0  # where a fork failed, again at growing intervals up to this one

_SOCKET_FD = 3


def main() -> None:
    """Serve the server at the other end of the socket until it closes its end."""
    # What libraries would run in each pair that is forked, on 0.16 MB of its own; none of it is needed there (`random`)
    os.register_at_fork = lambda **_: None
    large_code.load()  # before `leave` closes the archive that our code is imported from
    daemonize.leave({_SOCKET_FD}, tree.FORK_SERVER)
    # What every pair would do again, and write to its own copy of a page for it
    oom.spare()
    machine.here()
    cgroup.record()
    rehearsal = Request().to_file()
    Request.from_file(rehearsal)  # works out the types in the records (core/record.py)
    os.close(rehearsal)
    gc.collect()
    gc.freeze()  # what is here now is shared with every pair
    sock = fds.socket_of(_SOCKET_FD)
    children = signals.wakeup_pipe((signal.SIGCHLD,))
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    poller.register(children, select.POLLIN)
    spare, pause_s = _fork(), _SPARE_PAIR_S
    while True:
        ready = {fd for fd, _ in poller.poll(None if spare else pause_s * 1000)}
        if spare is None and not ready:
            spare = _fork()
            # The user has too many processes: frequent attempts would not help
            pause_s = _SPARE_PAIR_S if spare else min(2 * pause_s, _SPARE_RETRY_S)
        if children in ready:
            os.read(children, 4096)
            _reap()
        if sock.fileno() not in ready:
            continue
        message, numbers = fds.receive(sock, MESSAGE_BYTES)
        if not message:
            break
        _give_or_report(spare, *read(message, numbers), sock)
        for fd in numbers:
            os.close(fd)
        if spare is not None:
            spare.close()
        spare = None  # the next one later: forking now would keep a core from the job that is being started
    if spare is not None:
        spare.close()
    os._exit(0)


def once() -> None:
    """Start one job in the scope that this process was put into (parts/limits/scope.py), and end."""
    large_code.load()
    sock = fds.socket_of(os.dup(0))
    daemonize.leave({sock.fileno()}, tree.FORK_SERVER)
    fds.send(sock, b"there")
    message, numbers = fds.receive(sock, MESSAGE_BYTES)
    if message:
        _give_or_report(None, *read(message, numbers), None)
    os._exit(0)


def _fork() -> Pair | None:
    try:
        return fork_pair(away=False)
    except OSError:
        return None


def _give_or_report(spare: Pair | None, files: dict[str, int], words: list[str], server: socket.socket | None) -> None:
    in_scope = server is None
    try:
        fault_points.at("scope_asked" if in_scope else "fork_server_asked")
        _give(spare, files, words, server)
        fault_points.at("scope_given" if in_scope else "fork_server_given")
    except Exception as error:
        report_fault(Request.from_file(files["request"]), "fork-server", error)
        raise


def _give(spare: Pair | None, files: dict[str, int], words: list[str], server: socket.socket | None) -> None:
    """Hand a job to the spare pair, or to one that is forked now. If that fails, tell the launcher why.
    `server` is the socket to which the pair is lent if that is among the words; None if this process
    ends now."""
    try:
        if spare is not None:
            try:
                _send(spare, files, words, server)
                return
            except (BrokenPipeError, ConnectionResetError):  # the pair was killed while it waited: nothing was taken
                pass
        with closing(fork_pair(away=server is None)) as pair:
            _send(pair, files, words, server)
    except OSError as error:
        _lend(None, words, server)
        waiter = fds.socket_of(files["waiter"])
        refuse(waiter, error)
        waiter.detach()  # the caller closes it


def _send(pair: Pair, files: dict[str, int], words: list[str], server: socket.socket | None) -> None:
    pair.send(files)
    _lend(pair, words, server)


def _lend(pair: Pair | None, words: list[str], server: socket.socket | None) -> None:
    """Answer a server that asked for a pair to use again, with `pair` or that there is none."""
    if server is None or LEND not in words:
        return
    try:
        if pair is None:
            fds.send(server, NOT_LENT, wait=False)
        else:
            pair.lend(server)
    except OSError:  # the server has ended
        return


def _reap() -> None:
    """Reap the guardians that have ended."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
