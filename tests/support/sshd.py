"""A real SSH server: Debian's sshd, on a machine that is namespaces of its own, behind a link that a test can cut.

`Machine` needs root. Everything it starts ends with it. Its keys and its configuration lie in the directory of the test,
and so does the home of those who log in; nothing reads or writes ~/.ssh.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

from support import debian, networks, processes
from support.wait import until

PACKAGES = ("openssh-server", "openssh-client", "iproute2")
_PROGRAMS = ("sshd", "ssh", "ssh-keygen", "ip", "unshare", "nsenter")
_START_S = 120.0
HOST = "box"

SSHD = """
ListenAddress {address}
Port 22
HostKey {place}/host_key
AuthorizedKeysFile {place}/client_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
UseDNS no
MaxStartups 200
SetEnv HOME={home}
"""

SSH = """
Host {host}
    HostName {address}
    User root
    IdentityFile {place}/client_key
    IdentitiesOnly yes
    UserKnownHostsFile {place}/known_hosts
    GlobalKnownHostsFile /dev/null
    ConnectTimeout 3
    ServerAliveInterval 1
    ServerAliveCountMax 2
"""

# What becomes process 1 of the machine: its own host name, machine id and boot id, and sshd
FIRST = """
set -e
hostname {host}
mount --make-rprivate /
echo {machine} > {place}/machine-id
echo {boot} > {place}/boot-id
mount --bind {place}/machine-id /etc/machine-id
mount --bind {place}/boot-id /proc/sys/kernel/random/boot_id
ip link set lo up
until [ -e {place}/linked ]; do sleep 0.1; done
ip link set {link}n name eth0
ip addr add {address}/30 dev eth0
ip link set eth0 up
while :; do
    while [ -e {place}/stopped ]; do sleep 0.05; done
    {sshd} -D -e -f {place}/sshd_config || sleep 0.1
done
"""


def missing() -> str | None:
    """Return why no machine can be started here; None if one can. As root, install Debian's packages where that works."""
    if os.geteuid() != 0:
        return "a machine of namespaces needs root"
    lacking = debian.lacking(_PROGRAMS, PACKAGES)
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt-get install {' '.join(PACKAGES)})"
    words = ["unshare", "-n", "-m", "-p", "-u", "-f", "--mount-proc", "true"]
    tried = subprocess.run(words, capture_output=True, check=False)
    return None if tried.returncode == 0 else f"no namespaces: {tried.stderr.decode().strip()}"


class Machine:
    """A running machine. `config` is for ssh -F, `home` the home there. Close it."""

    def __init__(self, place: Path) -> None:
        self.place = place / "machine"
        self.home = self.place / "home"
        self.home.mkdir(parents=True)
        self.config = self.place / "ssh_config"
        self._network = networks.Network("os", 150)
        self._link = self._network.link
        self.gateway, self.address = (f"{self._network.addresses}.{end}" for end in (1, 2))
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._configure()
            self.boot()
        except BaseException:
            self.close()
            raise

    def _configure(self) -> None:
        names = {"place": self.place, "home": self.home, "address": self.address, "host": HOST}
        for key in ("host_key", "client_key"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.place / key))
        (self.place / "sshd_config").write_text(SSHD.format(**names), encoding="utf-8")
        self.config.write_text(SSH.format(**names), encoding="utf-8")
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it empty; no package that was only unpacked makes it
        self.trust()

    @property
    def root(self) -> Path:
        """The job root there."""
        return self.home / ".local/share/outlive/remote-jobs"

    def trust(self) -> None:
        """Know the key of the machine, as after a first login by hand."""
        key = (self.place / "host_key.pub").read_text(encoding="utf-8")
        (self.place / "known_hosts").write_text(f"{self.address} {key}", encoding="utf-8")

    def boot(self) -> None:
        """Start the machine, with a new boot id."""
        (self.place / "linked").unlink(missing_ok=True)
        script = FIRST.format(
            place=self.place,
            host=HOST,
            machine=uuid.uuid5(uuid.NAMESPACE_DNS, str(self.place)).hex,
            boot=uuid.uuid4(),
            link=self._link,
            address=self.address,
            sshd=debian.path("sshd"),
        )
        env = {name: value for name, value in os.environ.items() if not name.startswith(("OUTLIVE_", "XDG_"))}
        words = ["unshare", "-n", "-m", "-p", "-u", "-f", "--kill-child", "--mount-proc", "sh", "-c", script]
        with (self.place / "out").open("ab") as out:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)
        first = until(self._first, what="its process 1", timeout=_START_S)
        _run("ip", "link", "add", self._link, "type", "veth", "peer", "name", f"{self._link}n", "netns", str(first))
        _run("ip", "addr", "add", f"{self.gateway}/30", "dev", self._link)
        self.link()
        (self.place / "linked").touch()
        until(self.answers, what="sshd answers", timeout=_START_S)

    def _first(self) -> int | None:
        assert self._process is not None
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = path.read_text(encoding="ascii").split() if path.exists() else []
        return int(found[0]) if found else None

    def answers(self) -> bool:
        words = ["ssh", "-F", str(self.config), "-oBatchMode=yes", HOST, "true"]
        return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0

    def pids(self, name: str = "") -> list[int]:
        """Return the processes there, or those with this name."""
        first = self._first()
        if first is None:
            return []
        space, found = os.readlink(f"/proc/{first}/ns/pid"), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                own = os.readlink(entry / "ns/pid") == space
                if own and (not name or (entry / "comm").read_text().strip().split(" ")[0] == name):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def jobs(self) -> list[Path]:
        return [path for path in self.root.iterdir() if path.name[0].isdigit()] if self.root.exists() else []

    # --- faults ---

    def cut(self) -> None:
        """Cut the link: packets vanish, and neither end is told."""
        _run("ip", "link", "set", self._link, "down")

    def link(self) -> None:
        _run("ip", "link", "set", self._link, "up")

    def reset(self) -> None:
        """Break every connection, as a firewall or a machine between does."""
        for pid in self.pids("sshd"):
            if " ".join(processes.command_line(pid)).startswith(("sshd: ", "sshd-session: ")):
                processes.kill(pid)

    def stop_sshd(self) -> None:
        (self.place / "stopped").touch()
        until(self._has_no_sshd, what="the end of sshd")

    def _has_no_sshd(self) -> bool:
        """Kill every sshd, and return whether there was none: process 1 may just have started one more."""
        found = self.pids("sshd")
        processes.kill(*found)
        return not found

    def configure(self, **options: str) -> None:
        """Start sshd again with these options instead of those that it has."""
        path = self.place / "sshd_config"
        kept = [line for line in path.read_text(encoding="utf-8").splitlines() if line.split(" ")[0] not in options]
        text = "\n".join([*kept, *(f"{name} {value}" for name, value in options.items()), ""])
        self.stop_sshd()
        path.write_text(text, encoding="utf-8")
        self.start_sshd()

    def start_sshd(self) -> None:
        (self.place / "stopped").unlink()
        until(self.answers, what="sshd answers", timeout=_START_S)

    def power_off(self) -> None:
        """End everything there at once."""
        if self._process is None:
            return
        first = self._first()
        if first is not None:
            processes.kill(first)
        self._process.kill()
        self._process.wait()
        self._process = None
        subprocess.run(["ip", "link", "del", self._link], capture_output=True, check=False)

    def close(self) -> None:
        self.power_off()
        until(lambda: not Path(f"/sys/class/net/{self._link}").exists(), what="the link is gone")
        self._network.close()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=120)
