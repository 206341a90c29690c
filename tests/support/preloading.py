"""The process that has imported all code of outlive and forks a copy of itself for each start that a test asks for.

It is a program (`python preloading.py SOCKET PACKAGE…`), started by `preloaded.py`, which says why a copy is as good as
a real start, and when it is not. It has one thread and imports; only its copies run code of outlive.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import marshal
import os
import pkgutil
import resource
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MOST_FDS = 64
MOST_BYTES = 1 << 17
_OUT_OF_THE_WAY = 500  # where descriptors wait that get their numbers later; no test passes one as high
_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
_PR_GET_TID_ADDRESS = 40
_SYS_CLONE3 = 435  # the same on every architecture
MAIN = "import sys; from outlive.__main__ import main; sys.exit(main())"
# Reads the environment when it is imported, so a copy imports it again
_READS_ENVIRONMENT = "outlive.system.fault_points"

_SIGNALS = sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}))

_libc = ctypes.PyDLL(None, use_errno=True)  # holds the lock of the interpreter, as os.fork does


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    del sys.path[0]  # this folder; a copy has its directory there
    gc.disable()
    words = sys.argv[2].split(",")
    left_out = {word[1:] for word in words if word.startswith("-")}
    for word in words:
        if not word.startswith("-"):
            _import_all(word, left_out)
    large = {name for name in left_out if not name.startswith("outlive.")} & sys.modules.keys()
    assert not large, f"what imports {large} has to be left out too: each fork would cost more"
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in each copy"
    while True:
        data, numbers, _, _ = socket.recv_fds(sock, MOST_BYTES, MOST_FDS)
        if not data:
            return
        pid = _fork_sibling()
        if pid == 0:
            _become(sock, marshal.loads(data), numbers)
        sock.send(b"%d" % pid)
        for number in numbers:
            os.close(number)


def _import_all(name: str, left_out: set[str]) -> None:
    """Import a module, or a package with everything below it, but what is left out."""
    module = importlib.import_module(name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if found.name not in left_out and not found.name.endswith("__main__"):
            _import_all(found.name, left_out)


def _fork_sibling() -> int:
    """Fork as fork(2) does, but give the child our own parent (CLONE_PARENT, clone(2)), which can then wait for it as for
    any child. What os.fork and glibc's fork do around the system call is done here too. Return the pid; 0 in the child.
    Errors: OSError."""
    tid_address = ctypes.c_uint64()
    if _libc.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(tid_address), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_GET_TID_ADDRESS")
    flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID
    arguments = (ctypes.c_uint64 * 11)(flags, 0, tid_address.value)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = _libc.syscall(_SYS_CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return pid


def _become(sock: socket.socket, wanted: dict[str, Any], numbers: list[int]) -> NoReturn:
    """Turn this copy into what a real start would be, say "ready", and run the command line."""
    away = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for number in (sock.fileno(), *numbers)]
    sock.detach()
    os.closerange(3, _OUT_OF_THE_WAY)
    here, cwd, *files = away
    for number, target in zip(files, wanted["fds"], strict=True):
        os.dup2(number, target)
    os.fchdir(cwd)
    _take_identity(wanted)
    _take_environment(wanted["env"])
    _take_streams()
    os.write(here, b"ready")
    os.closerange(_OUT_OF_THE_WAY, max(away) + 1)
    gc.enable()
    code = os.fsdecode(wanted["argv"][2]) if _is_patched(wanted) else MAIN
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    raise AssertionError("the code above ends by SystemExit")


def _take_identity(wanted: dict[str, Any]) -> None:
    if wanted["session"]:
        os.setsid()
    elif wanted["group"] >= 0:
        os.setpgid(0, wanted["group"])
    os.umask(wanted["umask"])
    for number in _SIGNALS:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        action = signal.SIG_IGN if number in wanted["ignored"] else usual
        if signal.getsignal(number) is not action:
            signal.signal(number, action)
    signal.pthread_sigmask(signal.SIG_SETMASK, wanted["blocked"])
    for kind, limits in wanted["limits"].items():
        if resource.getrlimit(kind) != limits:
            resource.setrlimit(kind, limits)
    patched = _is_patched(wanted)
    sys.argv[:] = ["-c" if patched else _entry(), *(os.fsdecode(word) for word in wanted["argv"][3:])]
    sys.orig_argv[:] = [os.fsdecode(word) for word in wanted["argv"]]
    try:
        sys.path.insert(0, "" if patched else os.getcwd())
    except FileNotFoundError:  # it was deleted
        pass


def _is_patched(wanted: dict[str, Any]) -> bool:
    """Return whether the command line is `python -c CODE …`, where CODE ends with MAIN, and not `python -m outlive …`."""
    return bool(wanted["argv"][1] == b"-c")


def _entry() -> str:
    import outlive

    return os.path.join(os.path.dirname(outlive.__file__), "__main__.py")


def _take_environment(env: dict[bytes, bytes]) -> None:
    """Replace the environment, also where /proc shows it and the arguments (proc_pid_stat(5), fields 48-51)."""
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in env.items()})
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    argv_start, argv_end, env_start, env_end = (int(field) for field in fields[45:49])
    argv = b"\0".join(map(os.fsencode, sys.orig_argv))
    # One variable fills the area: thousands of empty ones would be split from each other by each reader
    padded = b"".join(b"%b=%b\0" % pair for pair in env.items()) + b"PADDING="
    for data, fill, start, end in ((argv, b"\0", argv_start, argv_end), (padded, b"-", env_start, env_end)):
        assert len(data) < end - start, f"{len(data)} bytes do not fit in {end - start}"
        ctypes.memmove(start, data.ljust(end - start - 1, fill) + b"\0", end - start)
    importlib.reload(sys.modules[_READS_ENVIRONMENT])


def _take_streams() -> None:
    """Make sys.stdin, sys.stdout and sys.stderr as the interpreter does at its start (create_stdio in pylifecycle.c)."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, f"__{name}__")
        try:
            buffer = open(number, "wb" if number else "rb", closefd=False)
        except OSError:  # it is closed
            new = None
        else:
            lines = number == 2 or buffer.isatty()
            new = io.TextIOWrapper(buffer, old.encoding, old.errors, newline="\n", line_buffering=lines)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


if __name__ == "__main__":
    main()
