"""The devices in a sandbox are those of the machine, and root owns them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import wait

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Tries to change what stands in the inode of each device, and of its stdin, to what stands there already; and uses each
SCRIPT = f"""
import json, os, stat
done = []
for name in {DEVICES}:
    path = "/dev/" + name
    there = os.stat(path)
    mode, times = stat.S_IMODE(there.st_mode), (there.st_atime_ns, there.st_mtime_ns)
    ways = {{
        "chmod": lambda: os.chmod(path, mode),
        "chown": lambda: os.chown(path, there.st_uid, there.st_gid),
        "utime": lambda: os.utime(path, ns=times),
        "setxattr": lambda: os.setxattr(path, "security.outlive", b"x"),
        "trusted": lambda: os.setxattr(path, "trusted.outlive", b"x"),
        "fchmod": lambda: os.fchmod(os.open(path, os.O_RDONLY), mode),
        "unlink": lambda: os.unlink(path),
        "rename": lambda: os.rename(path, "/dev/other"),
    }}
    for way, call in ways.items():
        try:
            call()
            done.append(way + " " + path)
        except OSError:
            pass
try:
    os.fchmod(0, stat.S_IMODE(os.fstat(0).st_mode))
    done.append("fchmod of stdin")
except OSError:
    pass
os.write(os.open("/dev/null", os.O_WRONLY), b"x")
works = [len(os.read(os.open("/dev/" + name, os.O_RDWR), 3)) for name in ("zero", "urandom", "null")]
print(json.dumps([done, works, os.read(0, 1) == b""]))
"""


def inodes() -> list[tuple[int, int, int, list[str]]]:
    found = [(os.stat(f"/dev/{name}"), os.listxattr(f"/dev/{name}")) for name in DEVICES]
    return [(there.st_mode, there.st_uid, there.st_gid, names) for there, names in found]


@USERS
@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
def test_a_job_changes_nothing_of_the_devices_of_the_machine(ground: Ground, mode: str) -> None:
    before = inodes()
    answer = ground.outlive("run", "--wait", "--sandbox", mode, "--", ground.python, "-c", SCRIPT)
    assert answer["ok"] and answer["exit_code"] == 0, answer
    assert json.loads(answer["output"]) == [[], [3, 3, 0], True]
    assert inodes() == before


@USERS
def test_a_device_given_as_stdin_is_used_and_not_changed(ground: Ground) -> None:
    script = f"{ground.python} -c 'import os; os.fchmod(0, 0o666)' 2>&1 | tail -1; head -c 3 | od -An -tx1"
    answer = ground.outlive("run", "--wait", "--sandbox", "workspace-write", "--stdin", "@/dev/zero", script)
    assert answer["ok"], answer
    assert answer["output"].split("\n")[0].partition("] ")[2] in ("Read-only file system", "Operation not permitted")
    assert answer["output"].split("\n")[1].strip() == "00 00 00"


@USERS
def test_a_notification_command_changes_nothing_of_its_stdin(ground: Ground) -> None:
    told = Path(ground.workspace, "told")
    script = f"{ground.python} -c 'import os; os.chmod(\"/dev/null\", 0o666)' 2> told"
    words = ("--sandbox", "workspace-write", "--notify-command", script, "true")
    ground.outlive("run", "--wait", *words)
    job = ground.outlive("list")["jobs"][0]["job_id"]
    ground.outlive("wait", job)
    wait.until(lambda: told.exists() and told.read_text(), what="the notification")
    assert "Read-only file system" in told.read_text() or "not permitted" in told.read_text()
