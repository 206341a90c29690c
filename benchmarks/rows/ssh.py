"""Measure jobs on a host of kind `ssh` beside ssh(1) itself. sshd runs on this machine, with keys of
its own: on the loopback, or at the other end of a link (benchmarks/link.py). Without sshd these rows
are left out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import link
from benchmarks.bench import Bench, NoRoom, warm
from benchmarks.rows import row
from benchmarks.rows.output import GIB, printer
from benchmarks.samples import Found, Samples, compared, taken_ms

_CONFIG = """
[hosts.box]
kind = "ssh"
target = "box"
options = ["-F", "{place}/ssh_config"]
python = "{python}"
"""
_SSH = """
Host box
    HostName {address}
    Port {port}
    IdentityFile {place}/key
    IdentitiesOnly yes
    UserKnownHostsFile {place}/known_hosts
    GlobalKnownHostsFile /dev/null
"""
_SSHD = """
ListenAddress {listen}
Port {port}
HostKey {place}/key
AuthorizedKeysFile {place}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv HOME={place}/there
"""
# Prints when it prints, in nanoseconds
_CLOCK = (
    "import sys, time\nfor _ in range(int(sys.argv[1])):\n    print(time.time_ns(), flush=True)\n    time.sleep(0.05)\n"
)


@contextlib.contextmanager
def host(bench: Bench, *, linked: bool = False) -> Iterator[list[str]]:
    """Start sshd, and configure it as `box`. Return the words that call ssh. `linked`: it is behind
    a link, else on the loopback. Errors: NoRoom."""
    sshd = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/sbin")
    if sshd is None or shutil.which("ssh") is None:
        raise NoRoom("needs sshd and ssh (apt install openssh-server)")
    if linked:
        link.need()
    config = _configured(bench, link.THERE if linked else "127.0.0.1")
    place = bench.place
    words = ["ssh", "-F", str(place / "ssh_config"), "-oBatchMode=yes", "box"]
    command = [*(link.APART if linked else ()), sshd, "-D", "-e", "-f", str(place / "sshd_config")]
    with (place / "sshd.out").open("ab") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        if linked:
            link.lay(server.pid)
        deadline = time.monotonic() + 20
        while subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            if time.monotonic() > deadline:
                raise NoRoom(f"needs sshd, which does not answer: {(place / 'sshd.out').read_text()[-200:]}")
            time.sleep(0.1)
        bench.outlive("host", "setup", "box")
        yield words
    finally:
        try:
            bench.clear()  # while the host can be reached
        finally:
            if linked:
                link.cut()
            server.terminate()
            server.wait()
            config.unlink()


def _configured(bench: Bench, address: str) -> Path:
    """Write what ssh, sshd and outlive have to know. Return the configuration of outlive."""
    place = bench.place
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # A link is laid when sshd listens already
    listen = address if address.startswith("127.") else "0.0.0.0"
    names = {"place": place, "address": address, "listen": listen, "port": port, "python": sys.executable}
    (place / "there").mkdir(exist_ok=True)
    if not (place / "key").exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / "key")], check=True)
    key = (place / "key.pub").read_text(encoding="utf-8")
    (place / "known_hosts").write_text(f"[{address}]:{port} {key}", encoding="utf-8")
    (place / "ssh_config").write_text(_SSH.format(**names), encoding="utf-8")
    (place / "sshd_config").write_text(_SSHD.format(**names), encoding="utf-8")
    config = place / ".config" / "outlive" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_CONFIG.format(**names), encoding="utf-8")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    return config


def _gone(bench: Bench, job: str) -> None:
    """Wait until the mirror has let go of the job, and delete it."""
    bench.ended(job)
    bench.outlive("remove", job)


def _mirrored_ms(bench: Bench, size: int) -> float:
    warm(2 * size)
    answers: list[dict[str, object]] = []
    words = ("run", "--host", "box", "--wait", "--max-bytes", "100", "--", *printer(bench, size))
    took = taken_ms(lambda: answers.append(bench.outlive(*words)))
    job = str(answers[0]["job_id"])
    kept = (bench.root / job / "stdout.log").stat().st_size
    assert kept == size, f"{kept} of {size} bytes are here"
    _gone(bench, job)
    return took


def _fetched_ms(bench: Bench, ssh: list[str], size: int) -> float:
    target = bench.place / "fetched"
    command = " ".join(printer(bench, size))
    warm(2 * size)  # as much as a job takes, which is stored on both sides
    took = taken_ms(lambda: bench.run(["sh", "-c", f'exec "$@" > {target}', "sh", *ssh, command]))
    assert target.stat().st_size == size
    target.unlink()
    return took


@row(
    "ssh-gib",
    "1 GiB of stdout of a job over SSH, until all of it is here; both machines share this one's cores",
    floor="`ssh … > FILE`",
    ratio=1.25,
)
def fetch(bench: Bench) -> Found:
    return fetched(bench)


def fetched(bench: Bench, *, linked: bool = False) -> Found:
    """Measure the way of much output from there to here."""
    size = bench.size(GIB, 16 << 20)
    bench.need(3 * size // 10**6)
    with host(bench, linked=linked) as ssh:
        works = {"ours": lambda: _mirrored_ms(bench, size), "floor": lambda: _fetched_ms(bench, ssh, size)}
        return compared(works, bench.rounds(3, quick=1))


@row("ssh-start", "`run --host`, from the call to its answer that the job runs", floor="`ssh … true`")
def start(bench: Bench) -> Found:
    with host(bench) as ssh:
        jobs: list[str] = []
        words = ("run", "--host", "box", "--snapshot-after", "0", "--", "sleep", "0.01")

        def ours() -> float:
            took = taken_ms(lambda: jobs.append(str(bench.outlive(*words)["job_id"])))
            _gone(bench, jobs.pop())
            return took

        works = {"ours": ours, "floor": lambda: taken_ms(lambda: bench.run([*ssh, "true"]))}
        return compared(works, bench.rounds(10))


@row("ssh-lag", "from a line that is printed over SSH to the line in the log here", floor="`ssh …`, line by line")
def lag(bench: Bench) -> Found:
    count = bench.rounds(100)
    script = bench.place / "clock.py"
    script.write_text(_CLOCK, encoding="utf-8")
    command = [sys.executable, "-u", str(script), str(count)]
    with host(bench) as ssh:
        job = bench.background("--host", "box", "--", *command)
        ours: list[float] = []
        with (bench.root / job / "stdout.log").open("rb") as log:
            while len(ours) < count:
                line = log.readline()
                if line.endswith(b"\n"):
                    ours.append((time.time_ns() - int(line)) / 1e6)
                else:
                    log.seek(-len(line), os.SEEK_CUR)
                    time.sleep(0.0005)
        _gone(bench, job)
        with subprocess.Popen([*ssh, " ".join(command)], stdout=subprocess.PIPE, env=bench.env) as there:
            assert there.stdout is not None
            floor = [(time.time_ns() - int(line)) / 1e6 for line in there.stdout]
    return Found(Samples(tuple(ours)), Samples(tuple(floor)))
