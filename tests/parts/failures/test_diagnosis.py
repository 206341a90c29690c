"""What is said of a job that stands still or gave up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.answers import advice
from outlive.answers.advice import Advised
from outlive.core.records import Definition, Sandbox, State
from outlive.parts.failures import failure, foreground, pipe_ends, silence
from outlive.parts.failures.causes import line_ends, own_words
from outlive.parts.failures.foreground import Socket
from outlive.parts.failures.silence import Keeper, Silence
from outlive.parts.sandbox import diagnosis
from outlive.parts.sandbox.confinement import visible_paths
from outlive.system import tree
from support.devices import opens_device
from support.wait import until

ID = "01M8JHP5XC9G2EP02KWT64S3W2"
LISTENS = Socket(foreground.LISTENING, 5173)
CALLS = Socket(foreground.CONNECTING, 443, "192.0.2.1")
PYTHON = (
    "python3, which sleeps until a timer ends. Python keeps its output back if it has no terminal: start it with "
    "python -u to see it at once."
)
TALKS = Socket(foreground.CONNECTED, 5432, "127.0.0.1")


SILENT: list[tuple[list[str], str, dict[str, Any], str]] = [
    (["git", "vim"], foreground.FILES, {}, "git → vim, which wants a terminal; its stdin is closed: kill it and pass the text with -m or --no-edit, or set GIT_EDITOR=true, or start it with pty."),
    (["sh", "less"], foreground.TIMER, {"stdin": "open"}, "less, which wants a terminal; its stdin is open, but is none: kill it and set PAGER=cat, MANPAGER=cat and GIT_PAGER=cat, or start it with pty."),
    (["vim"], foreground.TERMINAL, {"pty": True}, "vim, which fills the terminal: screen shows it, send-keys answers."),
    (["sh", "make", "sh", "cc1"], foreground.COMPUTING, {"cpu_s": 31.4}, "make → cc1, which is working (31 s of CPU so far)."),
    (["sh"], foreground.WAITING, {"cpu_s": 0.2}, "sh, which waits (0 s of CPU so far)."),
    (["sleep"], foreground.TIMER, {}, "sleep, which sleeps until a timer ends."),
    (["cat"], foreground.PIPE, {}, "cat, which waits for data from a pipe."),
    (["head"], foreground.FULL_PIPE, {}, "head, which is blocked writing to a full pipe."),
    (["head"], foreground.FULL_PIPE, {"pid": 9, "keepers": [Keeper("python3", 7, foreground.CHILD, waits_for_it=True)]}, "head, which is blocked writing to a full pipe that python3 (pid 7) does not read; pid 7 waits for a child process to end: a deadlock."),
    (["head"], foreground.FULL_PIPE, {"pid": 9, "keepers": [Keeper("python3", 7, foreground.CHILD)]}, "head, which is blocked writing to a full pipe that python3 (pid 7) does not read; pid 7 waits for a child process to end."),
    (["head"], foreground.FULL_PIPE, {"pid": 9, "keepers": [Keeper("node", 7, foreground.WAITING)]}, "head, which is blocked writing to a full pipe that node (pid 7) does not read; pid 7 waits."),
    (["sort"], foreground.PIPE, {"pid": 9, "keepers": [Keeper("awk", 7, foreground.FULL_PIPE), Keeper("sort", 9, foreground.PIPE)]}, "sort, which waits for data from a pipe that awk (pid 7) does not write to; pid 7 is blocked writing to a full pipe that sort (pid 9) does not read: a deadlock."),
    (["dd"], foreground.FULL_PIPE, {"pid": 9, "keepers": [Keeper("dd", 9, foreground.FULL_PIPE)]}, "dd, which is blocked writing to a full pipe of which it alone has the other end: a deadlock."),
    (["node"], foreground.FULL_SOCKET, {}, "node, which is blocked writing to a full socket, whose other end does not read."),
    (["make"], foreground.CHILD, {}, "make, which waits for a child process to end."),
    (["cat"], foreground.FIFO, {}, "cat, which waits until another process opens the other end of a FIFO."),
    (["python3"], foreground.THREADS, {}, "python3, which waits for another thread or process of its own (a lock, a queue, an event): a deadlock, if none of them works."),
    (["python3"], foreground.THREADS, {"sockets": [TALKS]}, "python3, which waits for an answer from 127.0.0.1 port 5432."),
    (["cp"], foreground.DISK, {}, "cp, which waits for a disk or a network file system."),
    (["apt-get"], foreground.LOCK, {"holder": "unattended-upgr (pid 7)"}, "apt-get, which waits for a lock that unattended-upgr (pid 7) holds."),
    (["npm", "node"], foreground.FILES, {"sockets": [TALKS, LISTENS]}, "npm → node, which listens on port 5173: a server does not end by itself; use it, or kill it."),
    (["curl"], foreground.FILES, {"sockets": [CALLS]}, "curl, which tries to connect to 192.0.2.1 port 443, which has not answered."),
    (["psql"], foreground.FILES, {"sockets": [TALKS]}, "psql, which waits for an answer from 127.0.0.1 port 5432."),
    (["npm", "node"], foreground.FILES, {"pty": True, "keys": True, "sockets": [TALKS]}, "npm → node, which waits for a key in its terminal: screen shows it, send-keys answers."),
    (["npm", "node"], foreground.FILES, {"pty": True, "keys": True, "sockets": [LISTENS]}, "npm → node, which listens on port 5173: a server does not end by itself; use it, or kill it."),
    (["make"], foreground.STOPPED, {}, "make, which is stopped by a signal: kill with signal CONT continues it."),
    (["python3"], foreground.TIMER, {"buffers": True}, PYTHON),
]  # fmt: skip


def test_a_silent_job_is_told_what_it_does_and_what_to_do() -> None:
    for names, doing, more, words in SILENT:
        told = silence.sentence(Silence(names, doing, silent_ms=40_500, **more))
        assert told == f"Silent for 40 s; in the foreground: {words}"


def test_the_silence_is_told_in_units_that_people_use() -> None:
    rows: list[tuple[int, str]] = [
        (5_000, "5 s"),
        (119_999, "1 min 59 s"),
        (600_000, "10 min"),
        (9_000_000, "2 h 30 min"),
    ]
    for ms, shown in rows:
        assert silence.sentence(Silence(["x"], foreground.TIMER, silent_ms=ms)).startswith(f"Silent for {shown};")


OPENSSL = """Enter PEM pass phrase:
406:error:1400006B:UI routines:UI_process:processing error:ui_lib.c:573:while reading strings
406:error:0480006D:PEM routines:PEM_def_callback:problems getting password:pem_lib.c:62:
406:error:1C80009F:Provider routines:p8info_to_encp8:unable to get passphrase:encode_key2any.c:115:
"""


def test_a_job_that_gave_up_is_told_why_where_its_output_shows_it() -> None:
    rows: list[tuple[str, str | None]] = [
        ("0 upgraded, 1 newly installed.\nDo you want to continue? [Y/n] Abort.\n", "It asked a question and met the end of its input: its stdin"),
        ("Generating public/private rsa key pair.\nEnter file in which to save the key (/root/.ssh/id_rsa): ", "It asked a question"),
        ("/root/.ssh/id_rsa already exists.\nOverwrite (y/n)? ", "It asked a question"),
        ("Continue? (yes/no) ", "It asked a question"),
        ("Traceback …\nEOFError: EOF when reading a line\n", "It met the end of its input"),
        ("sudo: a terminal is required to read the password; either use the -S option\n", "It seems to want a terminal"),
        ("the input device is not a TTY\n", "It seems to want a terminal"),
        ("Error opening terminal: unknown.\n", "It seems to want a terminal"),
        (OPENSSL, "It met the end of its input"),
        ("406:error:1400006B:UI routines:UI_process:processing error:ui_lib.c:573:while reading strings\n407:error: no\n", None),
        ("CMake Error: : System Error: Inappropriate ioctl for device\n", None),
        ("sh: syntax error: unexpected end of file\n", None),
        ("error: 3 tests failed\nreasons:\n", None),
        ("json: unexpected end of input\n", None),
        ("E: Unable to locate package sl\n", None),
        ("", None),
    ]  # fmt: skip
    for last, begins in rows:
        told = failure.sentence("closed", last)
        assert told is None if begins is None else str(told).startswith(begins)
        if begins and begins.startswith("It asked"):
            assert "stdin_data ends there" in str(failure.sentence("data", last))


def test_a_job_that_a_sandbox_keeps_from_a_repository_is_told_what_lets_it() -> None:
    rows: list[tuple[str, str]] = [
        ("fatal: Unable to create '/ws/.git/index.lock': Read-only file system\n", "make"),
        ("error: could not lock config file .git/config: Read-only file system\n", "make"),
        ("error: cannot open '.git/FETCH_HEAD': Read-only file system\n", "make"),
        ("fatal: Unable to create '/ws/separate/index.lock': Read-only file system\n", "make"),
        (
            "npm error fatal: Unable to create '/ws/.git/index.lock': Read-only file system.\nnpm error\n",
            "npm version 2",
        ),
        ("error: unable to create temporary file: Read-only file system\nerror: unable to write tag file\n", "make"),
        ("/ws/.git/modules/sub: Read-only file system\nfatal: clone of 'x' into submodule path 'sub' failed\n", "make"),
        ("fatal: could not create directory '/ws/.git/modules/sub'\n", "make"),
        ("error: remote unpack failed: unable to create temporary object directory\nTo .\n", "git push . HEAD:x"),
        ("", "git -C sub stash push -m x"),
    ]
    for last, command in rows:
        told = 'The sandbox keeps .git read-only; git = "write" lets a job change it.'
        assert diagnosis.cause(WORKSPACE, last, command) == told
        assert '"workspace-write"' in str(diagnosis.cause(Sandbox(mode="read-only"), last, command))


def test_other_failures_are_not_put_down_to_a_repository() -> None:
    rows: list[tuple[str, str]] = [
        ("touch: cannot touch '/usr/there': Read-only file system\n", "git status; touch /usr/there"),
        ("error: failed to open: target/.cargo-lock: Read-only file system\n", "cargo build"),
        ("cannot open 'yarn.lock': Read-only file system\n", "git status; yarn"),
        ("touch: cannot touch '.gitignore': Read-only file system\n", "git status; touch .gitignore"),
        ("No stash entries found.\n", "git stash pop"),
        ("fatal: not a git repository (or any of the parent directories): .git\n", "git status"),
        ("", "git diff --quiet"),
        ("", "git " * 32_000),
    ]
    for last, command in rows:
        assert ".git read-only" not in str(diagnosis.cause(WORKSPACE, last, command))


WORKSPACE = Sandbox(mode="workspace-write", network="loopback", roots=["/ws"], home="/home/ada", hide=["/ws/.keys"])


BLAMED = [
    ("sh: 1: cannot create /usr/x: Read-only file system\n", "a job writes below /ws, and nowhere else but in /tmp and its home"),
    ("Error: EROFS: read-only file system, open '/ws2/x'\n", "a job writes below /ws"),
    ("cat: /srv/data: No such file or directory\n", "it does not show /srv/data."),
    ("cat: '/home/bob/x': Permission denied\n", "it does not show /home/bob/x."),
    ("cat: ~/.ssh/id: No such file or directory\nmake: *** [x] Error 1\n", "it does not show /home/ada/.ssh/id."),
    ("Error: ENOENT: no such file, open '/home/ada/notes'\n    at open (node:fs:1)\n", "it does not show /home/ada/notes."),
    ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?\n", "it does not show /var/run/docker.sock."),
    ("curl: (6) Could not resolve host: example.org\n", 'it reaches nothing but a loopback of its own. network = "open" opens it'),
    ("getaddrinfo EAI_AGAIN registry.npmjs.org\n", "it reaches nothing but a loopback"),
    ("connect ECONNREFUSED 127.0.0.1:5432\n", "it reaches nothing but a loopback"),
    ("ERROR: No matching distribution found for six (from versions: none)\n", "it reaches nothing but a loopback"),
    ("unshare: unshare failed: Operation not permitted\n", "nothing in it has rights of root"),
    ("cat: /ws/missing: No such file or directory\n", None),
    ("cat: missing: No such file or directory\n", None),
    ("sh: 1: /usr/bin/missing: not found\n", None),
    ("cat: /tmp/missing: No such file or directory\n", None),
    ("cat: /etc/passwd: Permission denied\n", None),
    ("see https://example.org/srv/x: it does not exist\n", None),
    ("3 tests failed\n", None),
    ("", None),
]  # fmt: skip


def test_what_a_sandbox_may_have_to_do_with_a_failure_is_told() -> None:
    for last, says in BLAMED:
        told = diagnosis.cause(WORKSPACE, last, "make")
        if says is None:
            assert told is None, last
        else:
            assert told is not None and told.startswith("The sandbox may be the cause: ") and says in told, last


def test_with_an_open_network_a_failed_connection_is_not_the_sandbox() -> None:
    opened = Sandbox.replace(WORKSPACE, network="open")
    assert diagnosis.cause(opened, "curl: (6) Could not resolve host: example.org\n", "curl") is None


def test_a_place_that_is_gone_with_the_sandbox_is_told_of() -> None:
    rows: list[tuple[str, str | None]] = [
        ("make > /tmp/log", "/tmp"), ("cp a ~/kept", "/home/ada"), ('cp a "$HOME/kept"', "/home/ada"),
        ("cp a /home/ada/kept", "/home/ada"), ("tar xf a -C /var/tmp/x", "/var/tmp"),
        ("make > /dev/shm/x", "/dev/shm"), ("cd /tmp && make > log", "/tmp"), ("cd '/tmp'; make", "/tmp"),
        ("ls /tmp", None), ("make > /ws/log", None), ("make > log", None), ("ls ~/", None),
        ("echo /srv/tmp/x a~/b", None),
    ]  # fmt: skip
    for command, top in rows:
        told = diagnosis.gone(WORKSPACE, command)
        ends = "empty when it starts, gone when it ends. What is to stay belongs below /ws."
        assert told == (top and f"{top} is the sandbox's own: {ends}")


def test_what_a_sandbox_shows_is_worked_out_once_however_many_paths_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Sandbox] = []

    def visible(sandbox: Sandbox) -> list[str]:
        looks.append(sandbox)
        return ["/tmp/ws"]

    monkeypatch.setattr(visible_paths, "visible", visible)
    assert diagnosis.gone(WORKSPACE, "ls" + " /tmp/ws/a" * 100) is None
    assert diagnosis.cause(WORKSPACE, "cat: /tmp/ws/a: No such file or directory\n" * 50, "make") is None
    assert len(looks) == 2
    assert max(len(before) for _, before in diagnosis._named("ls" + " /tmp" * 1_000, WORKSPACE)) <= 100


# --- what /proc tells -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "front", "children"),
    [("sleep 600 & sleep 601; true", "601", 2), ("sleep 602 | cat; true", "602", 2)],
    ids=["not one in the background", "not the end of a pipeline"],
)
def test_the_process_in_the_foreground_is_the_one_that_the_command_waits_for(
    script: str, front: str, children: int
) -> None:
    with _started(["sh", "-c", script], start_new_session=True) as shell:
        until(lambda: _asleep(_children(shell.pid)) == children, what="its children, asleep")
        chain = foreground.chain(shell.pid, _children(shell.pid))
        assert chain[0] == shell.pid
        assert [_argument(pid) for pid in chain[1:]] == [front]


@contextlib.contextmanager
def _started(command: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and end it and its session whatever the test finds."""
    process = subprocess.Popen(command, **{"start_new_session": True, **how})
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


# A program of Python, → the process that waits at a pipe (itself, or its child), and what keeps it waiting
AT_PIPES: list[tuple[str, bool, list[str]]] = [
    ("p = Popen(['sh', '-c', 'exec yes'], stdout=-1); p.wait()", True, ["itself"]),
    ("p = Popen(['yes'], stdout=-1); time.sleep(600)", True, ["itself"]),
    ("p = Popen(['cat'], stdin=-1, stdout=-1); p.stdin.write(bytes(1 << 20))", False, ["child", "itself"]),
    ("p = Popen(['sort'], stdin=-1, stdout=-1); p.stdout.read()", True, ["itself", "child"]),
    ("p = Popen(['sh', '-c', 'exec yes 3>&1 >&2'], stdout=-1, stderr=-1); p.stdout.read()", True, ["itself", "child"]),
    ("ends = os.pipe(); os.write(ends[1], bytes(1 << 20))", False, ["itself"]),
    ("ends = os.pipe(); os.fork() and os.wait(); os.write(ends[1], bytes(1 << 20))", True, ["itself"]),
    (
        "os.mkfifo('full'); fd = os.open('full', 2); p = Popen('exec yes > full', shell=True); p.wait()",
        True,
        ["itself"],
    ),
    ("p = Popen(['yes'], stdout=open('/dev/null', 'w')); p.wait()", False, []),
]


def test_the_processes_that_do_not_read_or_write_at_the_other_end_of_a_pipe_are_known(place: Path) -> None:
    for code, waits_in_child, expected in AT_PIPES:
        with _started([sys.executable, "-c", f"import os, time; from subprocess import Popen; {code}"]) as process:

            def found(pid: int = process.pid, in_child: bool = waits_in_child) -> list[str]:
                children = _children(pid)
                if not children and in_child:
                    return ["no child yet"]
                names = {pid: "itself", **dict.fromkeys(children, "child")}
                return [names[one] for one in pipe_ends.kept_waiting_by(children[0] if in_child else pid, [*names])]

            until(lambda: found() == expected, what=code)  # noqa: B023 - called at once


def _asleep(pids: list[int]) -> int:
    """Return how many of these run their program, and wait in it."""
    return sum(
        tree.comm(pid) in (b"sleep", b"cat") and foreground.activity(pid) in (foreground.TIMER, foreground.PIPE)
        for pid in pids
    )


def _argument(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].decode()


@pytest.mark.parametrize(
    ("code", "doing"),
    [
        ("while True: pass", foreground.COMPUTING),
        ("import time; time.sleep(600)", foreground.TIMER),
        ("import os; read, write = os.pipe(); os.read(read, 1)", foreground.PIPE),
        ("import socket; socket.create_server(('127.0.0.1', 0)).accept()", foreground.FILES),
        ("import os; os.kill(os.getpid(), 19)", foreground.STOPPED),
    ],
)
def test_what_a_process_does_is_known(code: str, doing: str) -> None:
    with _started([sys.executable, "-c", code]) as process:
        until(lambda: foreground.activity(process.pid) == doing, what=doing)


def test_the_sockets_of_a_server_and_of_its_client_are_known() -> None:
    code = (
        "import socket; server = socket.create_server(('127.0.0.1', 0)); "
        "client = socket.create_connection(server.getsockname()); print(server.getsockname()[1], flush=True); "
        "server.accept()[0].recv(1)"
    )
    with _started([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        found = {(one.state, one.port, one.peer) for one in foreground.sockets(process.pid)}
    assert {(foreground.LISTENING, port, ""), (foreground.CONNECTED, port, "127.0.0.1")} <= found


def test_the_holder_of_a_lock_is_known(place: Path) -> None:
    code = (
        "import fcntl, sys, time; file = open('lock', 'w'); fcntl.flock(file, 2); print(1, flush=True); time.sleep(600)"
    )
    with _started([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with _started([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as other:
            until(lambda: foreground.activity(other.pid) == foreground.LOCK, what="its wait for the lock")
            assert foreground.lock_holder(other.pid) == holder.pid
            assert foreground.lock_holder(holder.pid) is None


def test_a_lock_that_an_ended_process_took_is_held_by_who_keeps_its_file_open(place: Path) -> None:
    shell = "exec 9> lock; flock 9; echo taken; sleep 600; :"
    with _started(["bash", "-c", shell], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with _started(["flock", "lock", "true"]) as other:
            until(lambda: foreground.activity(other.pid) == foreground.LOCK, what="its wait for the lock")
            assert foreground.lock_holder(other.pid) == holder.pid


def test_threads_that_wait_for_each_other_and_a_fifo_that_nobody_opens_are_seen(place: Path) -> None:
    locks = (
        "import threading; a, b = threading.Lock(), threading.Lock(); a.acquire(); b.acquire(); "
        "threading.Thread(target=b.acquire).start(); print(1, flush=True); a.acquire()"
    )
    sleeps = (
        "import threading, time; t = threading.Thread(target=time.sleep, args=(600,)); t.start(); "
        "print(1, flush=True); t.join()"
    )
    for code, doing in ((locks, foreground.THREADS), (sleeps, foreground.TIMER)):
        with _started([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            until(lambda: foreground.activity(process.pid) == doing, what=f"{doing}")  # noqa: B023 - called at once
    os.mkfifo("fifo", 0o600)
    with _started(["cat", "fifo"]) as process:
        until(lambda: foreground.activity(process.pid) == foreground.FIFO, what="its wait for a writer")


@pytest.mark.parametrize(("room", "told"), [(0, True), (3, True), (4, False)])
def test_a_job_whose_command_is_gone_is_told_of_a_disk_that_is_full(
    monkeypatch: pytest.MonkeyPatch, room: int, told: bool
) -> None:
    """Its supervisor holds the outcome in memory until there is room."""
    found: Any = SimpleNamespace(state=SimpleNamespace(identity=None))
    job: Any = SimpleNamespace(fd=0)
    output: Any = SimpleNamespace(end=0)
    monkeypatch.setattr(os, "fstatvfs", lambda fd: SimpleNamespace(f_bavail=room, f_frsize=4_096))
    hint = Advised.made_of(silence.advice_on(found, job, output, 9_000)).hint
    assert ("the disk under the job root is full" in (hint or "")) is told


def test_a_warning_of_ssh_about_its_stdin_is_no_want_of_a_terminal() -> None:
    said = "Pseudo-terminal will not be allocated because stdin is not a terminal.\nssh: connect: Connection refused\n"
    assert failure.sentence("closed", said, "ssh host") is None
    assert failure.sentence("closed", "tset: standard error is not a terminal\n", "tset") is not None


def test_a_line_of_another_program_is_no_cause_of_a_failure() -> None:
    """(what ran: a string or words; its stdout; its stderr; how the sentence begins)"""
    terminal, asked = "It seems to want a terminal", "It asked a question"
    of_bash = "bash: cannot set terminal process group (7): Inappropriate ioctl for device\nbash: no job control in this shell\n"
    rows: list[tuple[str | list[str], str, str, str | None]] = [
        ("stty size; curl -s http://127.0.0.1:1/", "", "stty: 'standard input': Inappropriate ioctl for device\n", None),
        ("stty size; ./deploy", "", "stty: 'standard input': Inappropriate ioctl for device\n", None),
        (["stty", "size"], "", "stty: 'standard input': Inappropriate ioctl for device\n", terminal),
        ("cd x && stty size", "", "stty: 'standard input': Inappropriate ioctl for device\n", None),
        ("bash -ic 'echo 1 failed; exit 1'", "1 failed\n", of_bash, None),
        (["bash", "-ic", "./run; exit 1"], "", of_bash, None),
        ("./test", "1 failed\n", "mesg: ttyname failed: Inappropriate ioctl for device\n", None),
        ("./test", "", "stdin: is not a tty\n", None),
        (["python3", "-c", "print('not a tty'); exit(1)"], "not a tty\n", "", None),
        ("tty; ./test", "not a tty\n", "", None),
        ("clear; ./test", "", "TERM environment variable not set.\n", None),
        ("docker run -it x; false", "", "the input device is not a TTY\n", None),
        ("docker run -it x; ./test", "", "the input device is not a TTY\n", None),
        ("cd /srv; docker run -it x", "", "the input device is not a TTY\n", terminal),
        ("cd /srv && docker run -it x", "", "the input device is not a TTY\n", terminal),
        ("docker run -it x 2>&1", "the input device is not a TTY\n", "", terminal),
        ("make deploy", "", "sudo: a terminal is required to read the password\nsudo: a password is required\nmake: *** [deploy] Error 1\n", terminal),
        ("make", "", "warning: input is not a terminal\nmain.c:3: error: expected ';'\nmake: *** [x] Error 1\n", None),
        ("set -e; docker run -it x; ./test", "", "the input device is not a TTY\n", terminal),
        ("su -c id; ./test", "", "su: must be run from a terminal\n", None),
        ("printf 'Status: '; curl -s http://127.0.0.1:1/", "Status: ", "", None),
        ("printf 'Building: '; ./build", "Building: ", "", None),
        ("printf 'Name: '; read name", "Name: ", "", asked),
        ("./setup", "Name: ", "", asked),
        ("echo go; apt-get install x", "go\nDo you want to continue? [Y/n] Abort.\n", "", asked),
        ("./load", "", "Traceback …\nEOFError: Ran out of input\n", None),
    ]  # fmt: skip
    for command, printed, errors, begins in rows:
        told = _of_output(command, printed, errors)
        assert told is None if begins is None else str(told).startswith(begins), command


def _of_output(command: str | list[str], printed: str, errors: str) -> str | None:
    """Return what is said of a command that failed."""
    data = [printed.encode(), errors.encode()]
    output: Any = SimpleNamespace(
        end=len(data[0] + data[1]),
        sizes=[len(one) for one in data],
        read=lambda start, stop: (data[0] + data[1])[start:stop],
        read_stream=lambda stream, start, stop: data[stream][start:stop],
    )
    definition = Definition(command=[command] if isinstance(command, str) else command)
    if isinstance(command, str):
        definition = Definition.replace(definition, shell=["sh", "-c"])
    inspection: Any = SimpleNamespace(definition=definition)
    return failure.hint(inspection, output)


def test_a_command_that_finds_its_own_shell_is_named_with_what_to_do() -> None:
    """(the string; how it ended: a signal, an exit code, or None while it runs; which pattern finds it)"""
    rows: list[tuple[str, str | int | None, str | None]] = [
        ("pkill -f server.py; sleep 1; echo restarted", "SIGTERM", "`pkill -f server.py`"),
        ("pkill -9 -f 'node .*dev'; node dev", "SIGKILL", "`pkill -f node .*dev`"),
        ("pkill -9f 'node dev'; node dev", "SIGKILL", "`pkill -f node dev`"),
        ("pkill --full server.py; true", "SIGTERM", "`pkill -f server.py`"),
        ("kill $(pgrep -f server.py); true", "SIGTERM", "`pgrep -f server.py`"),
        ("pgrep -f server.py | xargs kill; true", "SIGTERM", "`pgrep -f server.py`"),
        ("ps aux | grep server.py | awk '{print $2}' | xargs kill; true", "SIGTERM", "`grep server.py`"),
        ("ps aux | grep server.py | grep -v grep | xargs kill; true", "SIGTERM", None),
        ("cd / && pkill -f server.py; true", 0, None),
        ("pkill server.py; sleep 1", "SIGTERM", None),
        ("pkill -f '[s]erver.py'; sleep 1", "SIGTERM", None),
        ("pkill -x -f server.py; sleep 1", "SIGTERM", None),
        ('pkill -f "$NAME"; sleep 1', "SIGTERM", None),
        ("make; sleep 1", "SIGTERM", None),
        ("while pgrep -f server.py; do sleep 1; done", None, "`pgrep -f server.py`"),
        ("until ! pgrep -f server.py >/dev/null; do sleep 1; done; make", None, "`pgrep -f server.py`"),
        ("while pgrep -f '[s]erver.py'; do sleep 1; done", None, None),
        ("while sleep 1; do make; done", None, None),
        ("pgrep -f server.py || python3 server.py", 0, "`pgrep -f server.py`"),
        ("if pgrep -f server.py; then echo runs; fi", 0, "`pgrep -f server.py`"),
        ("pgrep -f server.py", 0, None),
        ("cat log | grep server.py; true", 0, None),
    ]  # fmt: skip
    for text, how, named in rows:
        definition = Definition(command=[text], shell=["sh", "-c"])
        ended = {"reason": "signal", "signal": how} if isinstance(how, str) else {"reason": "exit", "exit_code": how}
        state = State(state="running") if how is None else State(state="exited", **ended)
        told = own_words.hint(definition, state)
        assert told is None if named is None else str(told).startswith(f"{named} matches its own shell"), text
        if named and "server.py" in named:
            assert "or write [s]erver.py, which does not match itself." in str(told)
    words = Definition(command=["bash", "-c", "pkill -f server.py; true"])
    assert own_words.hint(words, State(state="killed", reason="signal", signal="SIGTERM")) is not None


def test_characters_that_look_like_others_are_named_with_their_place() -> None:
    rows: list[tuple[str | list[str], str | None]] = [
        ("ls\u00a0-l", "The command has U+00A0 (no-break space) at character 3, which is taken for a part of the word: write a space."),
        ("cd /\nls\u3000/", "U+3000 (ideographic space) at character 3 of line 2"),
        ("\ufeffls -l", "U+FEFF (zero width no-break space) at character 1, which is taken for a part of the word: leave it out."),
        ("ls\u200b /", "U+200B (zero width space) at character 3"),
        ("ls \u2013l", "U+2013 (en dash) at character 4, which is taken for a part of the word: write a hyphen (-)."),
        ("make && ls \u2014all", "U+2014 (em dash) at character 12"),
        ("apt\u2011get update", "U+2011 (non-breaking hyphen) at character 4"),
        ("git commit -m \u201cfix it\u201d", 'U+201C (left double quotation mark) at character 15, which is taken for a part of the word: write a straight quote (").'),
        ("grep \u2018a b\u2019 x", "U+2018 (left single quotation mark) at character 6"),
        (["ls\u00a0-l"], "The program's name has U+00A0 (no-break space) at character 3"),
        (["ls", "\u2013l"], "Argument 1 has U+2013 (en dash) at character 1"),
        (["bash", "-c", "ls \u2013l"], "U+2013 (en dash) at character 4"),
        (["git", "commit", "-m", "one \u2013 two \u00a0"], None),
        ("git commit -m 'one \u2013 \u201ctwo\u201d\u00a0three'", None),
        ('git commit -m "a\u00a0b \\" \u2013c"', None),
        ("cat <<EOF\na\u00a0b \u2013c\nEOF\nfalse", None),
        ("false # \u2013 why\u00a0not", None),
        ("cat caf\u00e9.txt Report\u20132024.txt", None),
        ("echo don\u2019t; false", None),
        ("echo \\\u00a0", None),
    ]  # fmt: skip
    for command, says in rows:
        told = _of_output(command, "", "sh: 1: ls: not found\n")
        assert told is None if says is None else says in str(told), command


def test_a_job_whose_definition_is_damaged_has_no_command_to_look_at() -> None:
    assert _of_output([], "", "not a terminal\n") is None
    assert own_words.hint(Definition(), State(state="exited", exit_code=1)) is None


def test_facts_stand_in_one_order_whatever_order_they_were_found_in() -> None:
    found = [
        *advice.told(advice.STILL, "It still runs. Use wait."),
        *advice.told(advice.ENCODING, "Not UTF-8."),
        *advice.told(advice.CAUSE, None),
        *advice.told(advice.EXIT_CODE, "Whose code."),
        *advice.left_running(ID, 2),
    ]
    left = "2 processes that job WT64S3W2 started are still alive; kill ends them, and their output still arrives."
    advised = Advised.made_of(found)
    assert advised.hint == f"{left} Whose code. Not UTF-8. It still runs. Use wait."
    assert [one["kind"] for one in advised.to_dict()["advice"]] == [
        "left_running",
        "exit_code",
        "encoding",
        "still_running",
    ]
    assert advised.to_dict()["advice"][0] == {"kind": "left_running", "text": left, "job_id": ID, "processes": 2}
    assert Advised.made_of([]).to_dict() == {}


def test_a_device_in_place_of_a_script_is_not_opened(tmp_path: Path) -> None:
    def scripts(path: str) -> object:
        return list(line_ends.scripts(Definition(command=["sh", path], cwd="/")))

    assert not opens_device(tmp_path, scripts)
