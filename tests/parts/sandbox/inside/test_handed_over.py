"""What a job hands to another one over a socket in their workspace: a directory that it has open."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import pair, processes, wait

pytestmark = USERS
INSIDE = ("run", "--sandbox", "workspace-write")
_HANDS = """
import array, os, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("socket")
listener.listen()
with listener.accept()[0] as end:
    here = array.array("i", [os.open(".", os.O_RDONLY)])
    end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, here)])
    end.recv(1)
"""
_TAKES = """
import array, json, os, socket, time
def until(look):
    while True:
        try:
            return look()
        except OSError:
            time.sleep(0.05)
end = socket.socket(socket.AF_UNIX)
until(lambda: end.connect("socket"))
here = array.array("i", end.recvmsg(1, 64)[1][0][2])[0]
def opened(name):
    try:
        return os.close(os.open(name, os.O_RDWR, dir_fd=here))
    except OSError as error:
        return error.strerror
names = ".git/config", ".claude/settings.json", "package", "mine"
before = [*map(opened, names)]
end.close()
until(lambda: os.stat("go"))
print(json.dumps([before, [*map(opened, names)]]))
"""


_HANDS_OUTPUT = _HANDS.replace('os.open(".", os.O_RDONLY)', "1")
_LEAVES = """
import time
if not os.fork():
    os.setsid()
    while not os.path.exists("go"):
        time.sleep(0.05)
    os.mkdir(".zed")
"""


def _told_when_output_is_held(ground: Ground, first: Sequence[str], second: str) -> None:
    """Have the second job hold the output of the first, and look for what that one makes once there is a file `go`."""
    place = ground.directory("attacks")
    ground.shell("git init -q .", place)
    job = str(ground.outlive(*INSIDE, *first, cwd=place)["job_id"])
    taken = f"{_TAKES.partition('def opened')[0]}end.close()\n{second}\ntime.sleep(600)"
    holder = str(ground.outlive(*INSIDE, "--", ground.python, "-c", taken, cwd=place)["job_id"])
    assert ground.outlive("wait", job)["state"] == "exited"
    ground.shell("touch go", place)
    message = wait.until(lambda: ground.outlive("status", job).get("message"), what="the next look")
    assert f"{place}/.zed" in str(message)
    assert ground.outlive("remove", holder)["state"] == "killed"


def test_a_workspace_is_looked_at_when_nothing_of_the_job_runs_though_its_output_is_held(ground: Ground) -> None:
    _told_when_output_is_held(ground, ("--", ground.python, "-c", f"{_HANDS_OUTPUT}{_LEAVES}"), "")


def test_a_job_is_removed_though_another_one_holds_its_output(ground: Ground) -> None:
    place = ground.directory("attacks")
    job = str(ground.outlive(*INSIDE, "--", ground.python, "-c", _HANDS_OUTPUT, cwd=place)["job_id"])
    taken = f"{_TAKES.partition('def opened')[0]}end.close()\ntime.sleep(600)"
    holder = str(ground.outlive(*INSIDE, "--", ground.python, "-c", taken, cwd=place)["job_id"])
    assert ground.outlive("wait", job)["state"] == "exited"
    assert ground.outlive("remove", job)["state"] == "exited"
    assert ground.outlive("remove", holder)["state"] == "killed"


def test_a_workspace_is_looked_at_after_a_command_for_a_line_that_another_job_wrote(ground: Ground) -> None:
    watched = ("--watch", "hello", "--watch-match-type", "contains", "--watch-command", "mkdir .zed")
    writes = "until(lambda: os.stat('go'))\nos.write(here, b'hello\\n')"
    _told_when_output_is_held(ground, (*watched, "--", ground.python, "-c", _HANDS_OUTPUT), writes)


def test_what_is_mounted_on_a_directory_stays_on_it_when_its_sandbox_has_ended(ground: Ground) -> None:
    place = ground.directory("attacks")
    ground.shell(
        "git init -q .; mkdir .claude; echo {} > .claude/settings.json; touch ../store mine; ln ../store package", place
    )
    first = str(ground.outlive(*INSIDE, "--", ground.python, "-c", _HANDS, cwd=place)["job_id"])
    second = str(ground.outlive(*INSIDE, "--", ground.python, "-c", _TAKES, cwd=place)["job_id"])
    assert ground.outlive("wait", first)["state"] == "exited"
    pair.until_free(ground.root, first)
    ground.shell("touch go", place)
    answer = ground.outlive("wait", second)
    refused = ["Read-only file system"] * 3
    assert json.loads(ground.outlive("log", second)["output"]) == [[*refused, None], [*refused, None]], answer


_WRITES = """
end.send(b"x")
until(lambda: os.stat("go"))
try:
    os.mkdir("new", dir_fd=here)
    print("made")
except OSError as error:
    print(error.strerror)
"""


def test_a_job_writes_nothing_in_a_workspace_that_it_is_shown_where_landlock_is(ground: Ground) -> None:
    """An earlier job of its own workspace may have put a link where the cache of its sandbox is."""
    other, place = ground.directory("other"), ground.directory("attacks")
    ground.shell("git init -q .; git init -q ../other", place)
    assert ground.outlive(*INSIDE, "--wait", "--", "true", cwd=place)["exit_code"] == 0
    (cache,) = (ground.home / ".cache/outlive/sandbox").iterdir()
    links = f"mkdir -p {cache.parent}; ln -s {other} {cache}"
    assert ground.outlive(*INSIDE, "--wait", "--", "sh", "-c", links, cwd=place)["exit_code"] == 0
    first = str(ground.outlive(*INSIDE, "--", ground.python, "-c", _HANDS, cwd=other)["job_id"])
    takes = _TAKES.partition("def opened")[0].replace('"socket"', f'"{other}/socket"')
    shown = {"OUTLIVE_SANDBOX_SHOW": str(other)}
    second = str(ground.outlive(*INSIDE, "--", ground.python, "-c", takes + _WRITES, cwd=place, **shown)["job_id"])
    assert ground.outlive("wait", first)["state"] == "exited"
    pair.until_free(ground.root, first)
    ground.shell("touch go", place)
    answer = ground.outlive("wait", second)
    assert ground.outlive("log", second)["output"].strip() in ("Permission denied", "Read-only file system"), answer
    assert not (other / "new").exists()


def test_a_command_that_dead_supervisors_left_ends_before_it_is_run_again(ground: Ground) -> None:
    place = ground.directory("attacks")
    seconds = str(1000 + os.getpid())
    command = f"exec env -i sleep {seconds}"
    watched = ("--watch", "hello", "--watch-match-type", "contains", "--watch-command", command)
    answer = ground.outlive(*INSIDE, *watched, "--", "sh", "-c", "echo hello; sleep 900", cwd=place)
    assert answer["ok"], answer
    job = str(answer["job_id"])

    def found() -> set[int]:
        return {pid for pid in processes.all_pids() if processes.command_line(pid) == ["sleep", seconds]}

    left = wait.until(found, what="the command")
    pair.end_pair(job)
    again = wait.until(lambda: ground.outlive("status", job) and found() - left, what="the command, run again")
    assert not left & found(), again
    assert ground.outlive("remove", job)["state"] == "killed"
    wait.until(lambda: not found(), what="the end of the command")
