"""A program `ssh` for tests: it runs the remote command on this machine, in another home, and breaks off when told to.

As sshd does, it hands the command to a shell and leaves what that started alone when the connection ends. Where our end is
unpacked already, it is a fork of a process that has loaded it from there, and no shell starts it (`preloaded.py`).
`FAKE_SSH` names the directory by which a test drives it: `down` there says why no connection comes about, `cuts` holds a
line for each connection to come, after how many bytes from the other machine it breaks (empty: never).
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from outlive.parts.hosts.ssh.connecting.bundle import ARGUMENTS
from support import preloaded, processes
from support.wait import until

# Not that of the environment, which lies in a checkout: outlive runs nothing that comes from there
PYTHON = os.path.realpath(sys.executable)
COMMAND = f"{sys.executable} {ARGUMENTS}"  # what outlive runs there
ARGV = shlex.split(COMMAND)
_PROGRAM = f"""#!{PYTHON} -IS
import fcntl, os, sys
place = os.environ["FAKE_SSH"]
def read(name):
    try:
        with open(os.path.join(place, name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""
with open(os.path.join(place, "calls"), "a") as calls:
    calls.write(repr(sys.argv[1:]) + "\\n")
why = read("down")
if why:
    sys.stderr.write(why + "\\n")
    sys.exit(255)
with open(os.path.join(place, "lock"), "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    cut, _, rest = read("cuts").partition("\\n")
    with open(os.path.join(place, "cuts"), "w") as file:
        file.write(rest)
left = int(cut) if cut else None
env = {{name: value for name, value in os.environ.items() if not name.startswith(("OUTLIVE_", "XDG_", "FAKE_"))}}
env["HOME"] = os.path.join(place, "home")
def started():
    import subprocess
    there = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdout=subprocess.PIPE, env=env, cwd=env["HOME"],
                             start_new_session=True)
    return there.stdout.fileno(), there.wait
def forked(address):
    import _socket, array, marshal
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    asking.connect(bytes.fromhex(address))
    out, there = os.pipe()
    env["PWD"] = env["HOME"] # as a shell does
    umask = os.umask(0)
    os.umask(umask)
    wanted = {{"argv": [os.fsencode(word) for word in {ARGV!r}], "cwd": env["HOME"], "fds": [0, 1, 2],
               "env": {{os.fsencode(name): os.fsencode(value) for name, value in env.items()}},
               "ends_by_itself": True, "session": False, "group": -1, "umask": umask, "ignored": [], "blocked": [], "limits": {{}}}}
    files = array.array("i", [0, there, 2])
    asking.sendmsg([marshal.dumps(wanted)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    os.close(there)
    return out, lambda: int(asking.recv(100) or 255)
address = read("forks") if sys.argv[-1] == {COMMAND!r} else ""
out, status = forked(address) if address else started()
os.close(0)
while True:
    data = os.read(out, 1 << 16)
    if not data:
        sys.exit(status())
    part = data if left is None else data[:left]
    while part:
        part = part[os.write(1, part):]
    if left is not None:
        left -= len(data)
        if left <= 0 or read("down"):
            sys.stderr.write("Connection to box closed by remote host.\\n")
            os._exit(255)
"""


class FakeSsh:
    """The machine `box` behind the program. Its home is `home`."""

    def __init__(self, place: Path, carried: Path) -> None:
        """`carried`: where our end lies, unpacked and compiled once for all tests."""
        self.place = place / "ssh"
        self.home = self.place / "home"
        self.root = self.home / ".local/share/outlive/remote-jobs"
        self.bin = self.place / "bin"
        for path in (self.home, self.bin):
            path.mkdir(parents=True)
        far = self.home / ".local/share/outlive/far"
        far.parent.mkdir(parents=True)
        carried.mkdir(exist_ok=True)
        far.symlink_to(carried)
        program = self.bin / "ssh"
        program.write_text(_PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        self._carried = carried
        self.fork_what_is_unpacked()

    def fork_what_is_unpacked(self) -> None:
        """Let our end be a fork from now on, if it was unpacked once and no start has to be real."""
        unpacked = [path for path in self._carried.iterdir() if path.suffix != ".tmp"]
        address = preloaded.far(unpacked[0]) if len(unpacked) == 1 else b""
        (self.place / "forks").write_text(address.hex(), encoding="ascii")

    @property
    def calls(self) -> list[str]:
        path = self.place / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def cut_after(self, *counts: int) -> None:
        """Break the next connections after so many bytes."""
        (self.place / "cuts").write_text("".join(f"{count}\n" for count in counts), encoding="utf-8")

    def down(self, why: str = "ssh: connect to host box port 22: No route to host") -> None:
        """No connection comes about from now on, and those that are there break."""
        (self.place / "down").write_text(why, encoding="utf-8")
        for pid in self.connections():
            os.kill(pid, 9)

    def up(self) -> None:
        (self.place / "down").unlink()

    def connections(self) -> list[int]:
        """Return the pids of the programs that run."""
        program = str(self.bin / "ssh")
        return [pid for pid in processes.all_pids() if program in processes.command_line(pid)]

    def jobs(self) -> list[Path]:
        """Return the job directories there."""
        return [path for path in self.root.iterdir() if path.name[0].isdigit()] if self.root.exists() else []

    def wait_empty(self) -> None:
        """Wait until nothing is left there: the mirrors are done."""
        until(lambda: not self.jobs(), what="the copies there are deleted")
