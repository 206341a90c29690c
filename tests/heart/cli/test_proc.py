"""A /proc that is missing, or that hides other users' processes, seen in a mount namespace of the test's own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import pair, processes
from support.cli import Text, environment, one_object
from support.mcp_client import RawMcp
from support.preloaded import OUTLIVE
from support.wait import until

# Root without a right sees no more of others than any user does (`gid`: whose group would), and may read our code
NO_RIGHTS = 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"'


def _shell(script: str) -> list[str]:
    words = ["unshare", "-m", "sh", "-c", script, "sh"]
    if os.geteuid() != 0 or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of mounts can be made here")
    return words


def _call(words: list[str], cwd: Path, *more: str) -> dict[str, Any]:
    done = subprocess.run(
        [*words, *OUTLIVE, *more],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        cwd=cwd,
        timeout=60,
        check=False,
    )
    return one_object(Text(done.returncode, done.stdout.decode(), done.stderr.decode()))


@pytest.mark.parametrize("words", [("run", "touch ran"), ("list",), ("status", "ABCDEF")], ids=lambda words: words[0])
def test_without_proc_nothing_runs_and_no_job_is_taken_for_dead(work: Path, root: Path, words: tuple[str, ...]) -> None:
    error = _call(_shell('mount -t tmpfs none /proc && exec "$@"'), work, *words)["error"]
    assert error["code"] == "io_error"
    assert error["message"].startswith("there is no /proc here")
    assert "mount -t proc proc /proc" in error["hint"]
    assert not (work / "ran").exists() and not root.exists()


def test_a_server_without_proc_introduces_itself_and_refuses_each_job(place: Path, work: Path, root: Path) -> None:
    words = [*_shell('mount -t tmpfs none /proc && exec "$@"'), *OUTLIVE, "mcp"]
    with RawMcp(log=place / "mcp.log", command=words) as server:
        answer = server.start().request("tools/call", {"name": "exec", "arguments": {"command": "true"}})
    assert answer["isError"] and "there is no /proc here" in str(answer)
    assert not root.exists()


def test_doctor_says_that_there_is_no_proc(work: Path, root: Path) -> None:
    root.mkdir(mode=0o700)
    found = _call(_shell('mount -t tmpfs none /proc && exec "$@"'), work, "doctor")
    checks = {one["name"]: one for one in found["checks"]}
    assert (found["healthy"], checks["root"]["status"], checks["kernel"]["status"]) == (False, "fail", "fail")
    assert "no job is started" in checks["kernel"]["advice"]
    assert "mount -t proc proc /proc" in checks["root"]["advice"]
    assert checks["root"]["details"]["path"] == str(root)


def test_with_hidepid_jobs_run_are_adopted_and_killed_and_doctor_says_what_is_not_seen(work: Path) -> None:
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 8):
        pytest.skip(
            "the options of one /proc are those of all before Linux 5.8: this would hide the machine's processes"
        )
    words = _shell(f"mount -t proc -o hidepid=2,gid=54321 proc /proc && {NO_RIGHTS}")
    subprocess.run([*words, "sh", "-c", "! test -e /proc/1"], check=True)
    found = _call(words, work, "run", "--wait", "sleep 601 & exit 3")
    assert (found["exit_code"], found["descendants"]) == (3, 1)
    assert _call(words, work, "kill", found["job_id"])["survivors"] == []
    found = _call(words, work, "run", "--snapshot-after", "0", "sleep 602")
    job = found["job_id"]
    pair.end(pair.guardian(job), pair.supervisor(job))
    assert _call(words, work, "status", job)["state"] == "running"
    pair.supervisor(job)
    found = _call(words, work, "kill", job)
    assert (found["state"], found["signal"], found["survivors"]) == ("killed", signal.Signals.SIGTERM.name, [])
    until(lambda: not processes.of(work), what="the end of all of it")
    checks = {one["name"]: one for one in _call(words, work, "doctor")["checks"]}
    assert (checks["kernel"]["status"], checks["kernel"]["details"]["other_users"]) == ("warn", False)
    assert "hidepid" in checks["kernel"]["advice"]
