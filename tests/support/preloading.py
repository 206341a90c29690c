"""The process that has imported all code of outlive and forks a copy of itself for each start that a test asks for.

It is a program (`python preloading.py SOCKET LISTENER PACKAGE,… PLACE`), started by `preloaded.py`, which says why a copy is
as good as a real start, and when it is not. It has one thread and imports, first from PLACE if that is not empty, and works
out what is the same in every process; only its copies run other code of outlive.

A server starts a fork server, with an interpreter of its own. A copy of a server asks the process that has the code of
calls for a fork instead, by LISTENER's address. Both the fork and the server have their code from files of which a server
makes archives in memory; they are made once, and all servers have the same. A copy asks there for a mirror too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import inspect
import io
import marshal
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MOST_FDS = 64
MOST_BYTES = 1 << 17
_OUT_OF_THE_WAY = 500  # where descriptors wait that get their numbers later; no test passes one as high
_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
_PR_GET_TID_ADDRESS = 40
_SYS_CLONE3 = 435  # the same on every architecture
ANSWER_S = 60
MAIN = "import sys; from outlive.__main__ import main; sys.exit(main())"
# Reads this variable when it is imported, so a copy that has it imports the module again
_FAULT_POINTS, _FAULT_POINT = "outlive.system.fault_points", b"OUTLIVE_CRASH_AT"

_SIGNALS = sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}))

_LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})

_popen: Any = subprocess.Popen  # with its private parts
_execute = _popen._execute_child
_parameters = inspect.signature(_execute)
_MIRROR = "outlive.parts.hosts.ssh.mirror_process"

_libc = ctypes.PyDLL(None, use_errno=True)  # holds the lock of the interpreter, as os.fork does


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    listener = socket.socket(fileno=int(sys.argv[2]))
    del sys.path[0]  # this folder; a copy has its directory there
    gc.disable()
    words = sys.argv[3].split(",")
    if sys.argv[4].strip():  # not installed: where our end of a connection was unpacked
        sys.path.insert(0, sys.argv[4].strip())
    left_out = {word[1:] for word in words if word.startswith("-")}
    for word in words:
        if not word.startswith("-"):
            _import_all(word, left_out)
    large = {name for name in left_out if not name.startswith("outlive.")} & sys.modules.keys()
    assert not large, f"what imports {large} has to be left out too: each fork would cost more"
    if "outlive" in words:
        _work_out(for_servers="outlive.mcp" not in left_out)
    _clear_environment()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in each copy"
    poller = select.poll()
    for one in (sock, listener):
        poller.register(one, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poller.poll()}
        if listener.fileno() in ready:
            _fork_for_copy(listener)
        if sock.fileno() not in ready:
            continue
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


def _work_out(*, for_servers: bool) -> None:
    """Work out what follows from our code alone and is kept at its first use: tables of records and parts, and in servers the
    patterns of secrets. Of these in no other process: RE2 is large code, of which a guardian is told when its job needs it."""
    from outlive import __main__, config, parts  # noqa: F401 - what a copy begins with
    from outlive.core.record import Record

    for table in (config.file.known, parts.every, parts.gates, parts.verbs):
        table()
    kinds = [Record]
    for kind in kinds:  # which grows
        kinds += kind.__subclasses__()
        with contextlib.suppress(TypeError):  # it is read from no file
            kind.layout()
    if for_servers:
        with contextlib.suppress(ModuleNotFoundError):  # the tests of the heart run without this part too
            from outlive.parts.masks import shapes

            shapes._compiled()
        _make_archives()


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
    _take_words(wanted)
    _take_environment(wanted["env"])
    _take_streams()
    os.write(here, b"ready")
    os.closerange(_OUT_OF_THE_WAY, max(away) + 1)
    if wanted["forks_at"]:
        _take_mirrors(wanted["forks_at"])
    if wanted["forks_at"] and _archives:
        _take_what_servers_have(wanted["forks_at"])
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


def _take_words(wanted: dict[str, Any]) -> None:
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


_areas: list[int] = []  # start and end of where /proc shows the arguments, and of the environment


def _clear_environment() -> None:
    """Leave of the environment, of which no copy has anything, a filling where /proc shows it (proc_pid_stat(5), fields 48-51).
    It is that of the last variable of a copy: thousands of empty ones would be split from each other by each reader."""
    os.environ.clear()
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    _areas.extend(map(int, fields[45:49]))
    ctypes.memset(_areas[2], ord("-"), _areas[3] - _areas[2] - 1)


def _take_environment(env: dict[bytes, bytes]) -> None:
    """Fill the environment, also where /proc shows it and the arguments."""
    os.environb.update(env)
    argv_start, argv_end, env_start, env_end = _areas
    argv = b"\0".join(map(os.fsencode, sys.orig_argv)).ljust(argv_end - argv_start, b"\0")
    padded = b"".join(b"%b=%b\0" % pair for pair in env.items()) + b"PADDING="
    for data, start, end in ((argv, argv_start, argv_end), (padded, env_start, env_end - 1)):
        assert len(data) <= end - start, f"{len(data)} bytes do not fit in {end - start}"
        ctypes.memmove(start, data, len(data))
    if _FAULT_POINT in env:
        importlib.reload(sys.modules[_FAULT_POINTS])


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


# --- what a call or a server starts and holds ------------------------------------------------------------------------


def _take_mirrors(forks_at: bytes) -> None:
    """Let this copy get the mirrors of jobs on other machines from the process that listens there: the process that it
    would start forks the mirror away, and ends."""
    own = os.getpid()

    def execute_or_fork(popen: Any, *arguments: Any) -> None:
        how = _parameters.bind(popen, *arguments).arguments
        status = None
        if os.getpid() == own and _is_mirror(how):  # of what it forks, each has surroundings of its own
            numbers = [0, 1, 2, *how["pass_fds"]]
            files = [how["p2cread"], how["c2pwrite"], how["errwrite"], *how["pass_fds"]]
            with contextlib.suppress(OSError):
                status = _ask_for_fork(forks_at, how["args"], how["env"], list(zip(files, numbers, strict=True)))
        if status is None:
            _execute(popen, *arguments)
            return
        popen.returncode = status
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        popen._close_pipe_fds(*(how[name] for name in pipes))

    _popen._execute_child = execute_or_fork


def _is_mirror(how: dict[str, Any]) -> bool:
    words = how["args"]
    is_ours = isinstance(words, list) and words[1:3] == ["-I", "-S"] and _MIRROR in words[5:6]
    return is_ours and how["cwd"] == "/" and how["env"] is not None and how["p2cread"] >= 0 and how["c2pwrite"] >= 0


_archives: dict[tuple[str, ...], int] = {}  # an open file for the packages that are in it


def _make_archives() -> None:
    from outlive.mcp import own_code
    from outlive.system import code_archive

    for name, packages in (("outlive", ("outlive",)), ("packages", own_code._PACKAGES)):
        _archives[packages] = fcntl.fcntl(os.memfd_create(name), fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY + MOST_FDS)
        code_archive.write(_archives[packages], *packages)


def _take_what_servers_have(forks_at: bytes) -> None:
    """Let this copy, a server, get its fork server from the process that listens there, and its archives without a look
    at each file."""
    from outlive.system import code_archive

    spawn, write, write_in_fork = os.posix_spawn, code_archive.write, code_archive.write_in_fork

    def spawned(path: str, argv: list[str], env: dict[str, str], **how: Any) -> int:
        if how.keys() == {"file_actions"} and _is_fork_server(argv):
            try:
                _ask_for_fork(forks_at, argv, env, [(old, new) for _, old, new in how["file_actions"]])
            except OSError:
                pass
            else:
                return os.getpid()  # no child: what the fork server comes from has been waited for
        return spawn(path, argv, env, **how)

    def written(real: Any, fd: int, *packages: str) -> None:
        known = _archives.get(packages)
        if known is None:
            real(fd, *packages)
        else:
            same = os.open(f"/proc/self/fd/{known}", os.O_RDWR)
            os.dup2(same, fd, os.get_inheritable(fd))
            os.close(same)

    os.posix_spawn = spawned  # type: ignore[assignment]
    code_archive.write = lambda fd, *packages: written(write, fd, *packages)
    code_archive.write_in_fork = lambda fd, *packages: written(write_in_fork, fd, *packages)


def _is_fork_server(argv: list[str]) -> bool:
    from outlive.launch import fork_server_client

    return argv[:-1] == fork_server_client.interpreter("main", before=fork_server_client._CODE)[:-1]


def _ask_for_fork(forks_at: bytes, argv: list[str], env: Mapping[str, str], files: list[tuple[int, int]]) -> int:
    """Return how the fork has ended. `files`: which open file it has under which number. Errors: OSError, and then there is
    no fork."""
    with open("/proc/thread-self/status", encoding="utf-8") as file:
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    wanted = {
        "argv": [os.fsencode(word) for word in argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
        "fds": [new for _, new in files],
        "cwd": "/",
        "ends_by_itself": False,
        "session": False,
        "group": -1,
        "umask": int(status["Umask"], 8),
        "ignored": [number for number in _SIGNALS if int(status["SigIgn"], 16) >> (number - 1) & 1],
        "blocked": [number for number in _SIGNALS if int(status["SigBlk"], 16) >> (number - 1) & 1],
        "limits": {kind: resource.getrlimit(kind) for kind in _LIMITS},
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.settimeout(ANSWER_S)
        asking.connect(forks_at)
        socket.send_fds(asking, [marshal.dumps(wanted)], [old for old, _ in files])
        said = asking.recv(100)
        if not said:
            raise OSError("it has not forked")
        return int(said)


def _fork_for_copy(listener: socket.socket) -> None:
    """Fork what a copy asks for, which leaves the process tree by itself."""
    asking, _ = listener.accept()
    with asking:
        asking.settimeout(ANSWER_S)
        data, numbers, _, _ = socket.recv_fds(asking, MOST_BYTES, MOST_FDS)
        if not data:
            return
        wanted = marshal.loads(data)
        pid = os.fork()
        if pid == 0:
            _leave_session(wanted)
            _become_what_is_asked(wanted, numbers, asking)
        _, status = os.waitpid(pid, 0)
        for number in numbers:
            os.close(number)
        if not wanted["ends_by_itself"]:
            asking.send(b"%d" % os.waitstatus_to_exitcode(status))


def _leave_session(wanted: dict[str, Any]) -> None:
    """Be in a session that a process led which is gone, as the shell is that sshd starts, if that is wanted."""
    if wanted["ends_by_itself"]:
        os.setsid()
        if os.fork():
            os._exit(0)


def _become_what_is_asked(wanted: dict[str, Any], numbers: list[int], asking: socket.socket) -> NoReturn:
    """Do in this fork what the interpreter would do that a copy starts."""
    code, far = 1, None
    try:
        away = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for number in (asking.fileno(), *numbers)]
        asking.detach()
        os.closerange(3, _OUT_OF_THE_WAY)
        for number, target in zip(away[1:], wanted["fds"], strict=True):
            os.dup2(number, target)
        if wanted["ends_by_itself"]:
            far = away[0]
        os.closerange(_OUT_OF_THE_WAY + (far is not None), max(away) + 1)
        os.chdir(wanted["cwd"])
        _take_identity(wanted)
        sys.orig_argv[:] = [os.fsdecode(word) for word in wanted["argv"]]
        sys.argv[:] = ["-c", *sys.orig_argv[5:]]
        _take_environment(wanted["env"])
        _take_streams()
        gc.enable()
        exec(compile(sys.orig_argv[4], "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else code
    finally:
        if far is not None:
            os.write(far, b"%d" % code)
        os._exit(code)


if __name__ == "__main__":
    main()
