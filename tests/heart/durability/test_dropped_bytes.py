"""What a full disk does not take is counted, whichever process is killed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.mounts import Mounts, fill
from support.tiers import first
from support.wait import until

LINES = 20_000
NUMBERED = (
    f"i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo $i; done; until [ -e end ]; do sleep 0.1; done; exit 3"
)
WRITTEN = sum(len(f"{number}\n") for number in range(1, LINES + 1))


def _counted(supervisor: int) -> int:
    """What it has counted so far."""
    files = [fd for fd in Path(f"/proc/{supervisor}/fd").iterdir() if "memfd:dropped" in str(fd.readlink())]
    return max((int.from_bytes(file.read_bytes(), "little") for file in files), default=0)


@pytest.mark.fault("D06", "F15")
@pytest.mark.parametrize("pty", first(1, [False, True]))
def test_bytes_that_were_dropped_before_a_supervisor_was_killed_are_counted(
    cli: Cli, mount: Mounts, work: Path, pty: bool
) -> None:
    root = mount("small", "size=1m,mode=700")
    words = ("--root", str(root), "run", "--snapshot-after", "0", *(["--pty"] if pty else []))
    job = cli.ok(*words, f"until [ -e go ]; do sleep 0.1; done; {NUMBERED}")["job_id"]
    supervisor = pair.supervisor(job)
    log = root / job / "stdout.log"
    fill(root)
    (work / "go").touch()
    counted = until(lambda: _counted(supervisor), what="the first loss")
    pair.end(supervisor)
    (work / "end").touch()  # only one that takes over learns of the exit code
    found = cli.ok("--root", str(root), "wait", job)
    assert (found["state"], found["exit_code"]) == ("exited", 3)
    pair.until_free(root, job)
    dropped = cli.ok("--root", str(root), "status", job).get("dropped_bytes", 0)
    # What the killed one had just taken out of a pipe may be missing in the count
    assert dropped >= counted and log.stat().st_size + dropped <= WRITTEN + (LINES if pty else 0)
