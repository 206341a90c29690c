"""Power cuts on a real file system: `python -m tests.power.real ext4|xfs|btrfs [--cuts N] [--seed N]`, as root.

Jobs run on the file system, which is on a recording disk (device.py). Then, for each cut, the disk becomes what the cut
may have left of it, the kernel mounts and repairs it, and the jobs on it are read as after a reboot. The exit status is
0 if nothing is broken, 1 if something is, and 77 if it cannot be tried here; stdout says what or why.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from power import cases, model, recover
from power.device import Device, apply
from power.facts import Facts
from support.wait import until

MIB = 1 << 20
SKIPPED = 77
# As small as each can be made
SYSTEMS = {
    "ext4": (64, ["mkfs.ext4", "-q", "-F", "-b", "4096"], "noatime"),
    "xfs": (320, ["mkfs.xfs", "-q", "-f"], "noatime,nouuid"),
    "btrfs": (160, ["mkfs.btrfs", "-q", "-f", "-m", "single"], "noatime"),
}
# All at once in one root; `deleted` would delete the others
RUN = tuple(name for name in cases.CASES if name != "deleted")
_RACE_NS = 50_000_000  # a change may reach the disk this long before the recorder has written it down
_EXAMPLES = 10
_CLONE_NEWNS, _PRIVATE = 0x00020000, 0x44000  # MS_REC | MS_PRIVATE
_LIBC = ctypes.CDLL(None, use_errno=True)


def why_not(system: str) -> str | None:
    """Return why it cannot be tried here; None if it can, as far as can be seen."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [one for one in (SYSTEMS[system][1][0], "mount", "umount") if not shutil.which(one)]
    if missing:
        return f"{missing[0]} is not installed"
    for path in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(path):
            return f"there is no {path}"
    if _LIBC.unshare(_CLONE_NEWNS) != 0 or _LIBC.mount(None, b"/", None, _PRIVATE, None) != 0:
        return f"no mount namespace: {os.strerror(ctypes.get_errno())}"
    return None


class Disk:
    """A file system on a recording disk, below `place`."""

    def __init__(self, system: str, place: Path) -> None:
        """Errors: OSError, subprocess.CalledProcessError."""
        size, make, self._options = SYSTEMS[system]
        self._system, self.here = system, place / "mnt"
        self.here.mkdir()
        base = place / "base.img"
        with open(base, "wb") as file:
            file.truncate(size * MIB)
        _run(*make, str(base))
        self.device = Device(base, place / "disk")
        self._disk = place / "disk"

    def mount(self) -> None:
        _run("mount", "-t", self._system, "-o", f"loop,{self._options}", str(self._disk), str(self.here))

    def unmount(self) -> None:
        """Unmount it, and give the loop device back."""
        until(lambda: _try("umount", "-d", str(self.here)), what=f"{self.here} unmounted")

    def close(self) -> None:
        if os.path.ismount(self.here):
            self.unmount()
        self.device.close()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL, text=True)


def _try(*words: str) -> bool:
    return subprocess.run(words, check=False, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


class Result:
    """What came of all cuts."""

    def __init__(self) -> None:
        self.cuts = self.jobs = 0
        self.broken: Counter[str] = Counter()
        self.examples: list[str] = []

    def add(self, where: str, sentence: str) -> None:
        self.broken[sentence.partition(":")[0]] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{where}: {sentence}")

    def text(self, system: str) -> str:
        lines = [f"{system}: {self.cuts} power cuts, {self.jobs:,} jobs read"]
        lines += [f"{count:6,} broken: {kind}" for kind, count in self.broken.most_common()]
        return "\n".join(lines + self.examples)


def _cuts(disk: Disk, recording: model.Recording, count: int, seed: int) -> Result:
    log, chance = disk.device.log, random.Random(seed)
    assert log
    disk.device.log = None
    facts, result = Facts(recording), Result()
    disk.device.blocks = {}
    durable: dict[int, bytes] = {}
    done = 0
    for behind in sorted(chance.randrange(1, len(log) + 1) for _ in range(count)):
        flushed = max((at + 1 for at in range(done, behind) if log[at].data is None), default=done)
        disk.device.blocks = dict(durable)
        apply(disk.device, log[done:flushed])
        durable, done = disk.device.blocks, flushed
        disk.device.cut(log, behind, durable, chance)
        at = log[behind - 1].ns
        cut = sum(change.ns <= at for change in recording.changes)
        later = sum(change.ns <= at + _RACE_NS for change in recording.changes)
        result.cuts += 1
        try:
            disk.mount()
        except subprocess.CalledProcessError as error:
            result.add(f"behind record {behind}", f"file system: it cannot be mounted: {error.stderr.strip()}")
            continue
        try:
            reader = recover.Reader(disk.here / "root")
            promises = facts.promises(cut, later)
            result.jobs += len(promises)
            for job, sentence in reader.state(promises, chance.randrange(49), thorough=True):
                result.add(f"behind record {behind}, change {cut}: {job}", sentence)
        finally:
            disk.unmount()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.power.real", description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    reason = why_not(given.system)
    if reason:
        sys.stdout.write(f"{reason}\n")
        return SKIPPED
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="power-", dir=memory if memory.is_dir() else None) as name:
        place = Path(name)
        try:
            disk = Disk(given.system, place)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.stdout.write(f"no recording disk with {given.system}: {getattr(error, 'stderr', None) or error}\n")
            return SKIPPED
        try:
            try:
                disk.device.log = []
                disk.mount()
            except subprocess.CalledProcessError as error:
                sys.stdout.write(f"{given.system} cannot be mounted here: {error.stderr}\n")
                return SKIPPED
            session = cases.Session(disk.here, place / "log", place / "home")
            for case in RUN:
                cases.CASES[case].run(session)
            disk.unmount()
            with recover.another_boot():
                result = _cuts(disk, session.recording(), given.cuts, given.seed)
        finally:
            disk.close()
    sys.stdout.write(result.text(given.system) + "\n")
    return bool(result.broken)


if __name__ == "__main__":
    sys.exit(main())
