"""Load: `python -m tests.load [ROW …] [--short]`.

Each row does much of one thing, checks that nothing of it is wrong, and prints what it measured. Loopback and a temporary
directory only; every row ends by itself and clears up. The exit status is 0 if nothing was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from outlive.core.ids import new_id
from support import pair, processes
from support.mcp_client import RawMcp
from support.preloaded import OUTLIVE
from support.wait import until

MB = 1_000_000
FLAT_KB = 6 * 1024  # a server or a fork server may grow by so much over all its starts
SUPERVISOR_KB = 40 * 1024
BOUND_S = 240  # no wait is longer


class Load:
    """A home of its own. `wrong` holds a sentence for each thing that is not as it should be."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "jobs"
        self.work = place / "work"
        self.work.mkdir()
        os.environ |= {"HOME": str(place), "OUTLIVE_ROOT": str(self.root)}
        os.chdir(self.work)
        self.wrong: list[str] = []

    def outlive(self, *words: str) -> dict[str, Any]:
        done = subprocess.run([*OUTLIVE, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def timed(self, *words: str) -> tuple[float, dict[str, Any]]:
        """(milliseconds, answer) of one call, the interpreter's start included."""
        began = time.monotonic()
        found = self.outlive(*words)
        return (time.monotonic() - began) * 1000, found

    @contextlib.contextmanager
    def server(self) -> Iterator[RawMcp]:
        with RawMcp(log=self.place / "mcp.log") as found:
            yield found.start()

    def check(self, right: object, what: str) -> None:
        if not right:
            self.wrong.append(what)

    def clear(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


def _kb(pid: int, field: str, file: str = "status") -> int:
    text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _own_fds(pid: int) -> int:
    """Open files, but for what is held of pairs that may be used again, of which there are a few, or none yet."""
    borrowed = pair.borrowed(pid)
    return sum(target not in borrowed for target in processes.open_files(pid).values())


def _ended(ask: Callable[..., Any]) -> Any:
    """Return the answer of a wait once it does not say that the time was up."""
    return until(lambda: None if (answer := ask())["timed_out"] else answer, timeout=BOUND_S, what="the end of a job")


# --- rows ----------------------------------------------------------------------------------------------------------


def jobs_at_once(load: Load, many: int) -> str:
    """So many jobs run at the same time, started by one server; each counts lines and ends with a code of its own."""
    lines, go = 50, load.work / "go"
    command = f"i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo out $i; done; until [ -e {go} ]; do sleep 0.5; done"
    with load.server() as server:
        began = time.monotonic()
        calls = {
            n: server.begin_call("exec", command=f"{command}; exit {n % 100}", background=True) for n in range(many)
        }
        ids = {n: str(server.tool_answer(call)["job_id"]) for n, call in calls.items()}
        started_s = time.monotonic() - began
        running = load.outlive("list", "--all", "--state", "running", "--limit", "0")["jobs"]
        load.check(len(running) == many, f"{len(running)} of {many} run at once")
        shared_kb = sum(_kb(pair.supervisor(job), "Pss", "smaps_rollup") for job in list(ids.values())[:5]) // 5
        go.touch()
        for n, job in ids.items():
            ended = _ended(lambda job=job: server.call("process", action="wait", job_id=job, timeout_ms=50_000))
            load.check(ended["exit_code"] == n % 100, f"job {n} ended with {ended['exit_code']}")
        server_kb = _kb(server.pid, "VmHWM")
    expected = "".join(f"out {n}\n" for n in range(1, lines + 1))
    for n, job in ids.items():
        load.check((load.root / job / "stdout.log").read_text(encoding="utf-8") == expected, f"output of job {n}")
    per_s = many / started_s
    return (
        f"{many} jobs started in {started_s:.1f} s ({per_s:.0f} a second), all running at once, all ended with their code and "
        f"output; a supervisor takes {shared_kb / 1024:.1f} MiB of its own, the server {server_kb / 1024:.0f} MiB at most"
    )


def finished_jobs(load: Load, many: int) -> str:
    """So many finished jobs in the root: directories made by copying a real one."""
    first = str(load.outlive("run", "--wait", "echo one; exit 3")["job_id"])
    pair.until_free(load.root, first)
    ids = [first]
    for _ in range(many - 1):
        job = new_id()
        shutil.copytree(load.root / first, load.root / job)
        for name in ("meta.json", "state.json"):  # as they were written: the id, and the checksum over it
            _rename_in(load.root / job / name, first, job)
        ids.append(job)
    took = {}
    took["list"], listed = load.timed("list", "--all")
    load.check([job["job_id"] for job in listed["jobs"]] == ids[:-51:-1], "list shows the newest 50")
    some = ids[many // 2]
    took["status"], status = load.timed("status", some)
    load.check((status.get("job_id"), status.get("exit_code")) == (some, 3), f"status: {status}")
    took["status by the end of an id"], status = load.timed("status", some[-8:])
    load.check(status.get("job_id") == some, f"status by {some[-8:]}: {status}")
    took["poll"], polled = load.timed("poll", some)
    load.check(polled.get("output") == "one\n", f"poll: {polled}")
    took["run"], ran = load.timed("run", "--wait", "exit 4")
    load.check(ran.get("exit_code") == 4, f"run: {ran}")
    pair.until_free(load.root, str(ran["job_id"]))
    took["doctor"], doctor = load.timed("doctor")
    counted = next(check["details"]["jobs"] for check in doctor["checks"] if check["name"] == "jobs")
    load.check(counted == many + 1, f"doctor counts {counted} jobs")
    took["gc --dry-run"], dry = load.timed("gc", "--max-jobs", "10", "--dry-run")
    would = sum(job["action"] == "would_delete" for job in dry["jobs"])
    load.check(
        dry["deleted"] == 0 and would == min(many - 9, 500), f"dry run: {dry['deleted']} deleted, {would} listed"
    )
    load.check((load.root / first).exists(), "a dry run deletes nothing")
    took["gc"], swept = load.timed("gc", "--max-jobs", "10")
    left = [name for name in os.listdir(load.root) if not name.startswith(".")]
    load.check((swept["deleted"], len(left)) == (many - 9, 10), f"gc deleted {swept['deleted']} and left {len(left)}")
    load.check(sorted(left) == sorted([*ids[-9:], ran["job_id"]]), "gc keeps the newest")
    return f"{many} finished jobs: " + ", ".join(f"{verb} {ms:.0f} ms" for verb, ms in took.items())


def _rename_in(path: Path, old: str, new: str) -> None:
    from outlive.store import atomic_file

    content = atomic_file.load(path.read_bytes())
    path.write_bytes(atomic_file.dump({**content, "job_id": new}))


def starts(load: Load, many: int) -> str:
    """So many starts of one server: open files and memory of it and of its fork server stay what they were."""
    with load.server() as server:
        held = server.call("exec", command="sleep 600", background=True)["job_id"]
        fork_server = pair.fork_server(held)
        for _ in range(many // 10):  # what is made once is made
            server.call("exec", command="true")
        before = {pid: (_own_fds(pid), _kb(pid, "VmRSS")) for pid in (server.pid, fork_server)}
        began = time.monotonic()
        for n in range(many):
            code = server.call("exec", command=f"exit {n % 100}")["exit_code"]
            load.check(code == n % 100, f"start {n} ended with {code}")
        took_ms = (time.monotonic() - began) * 1000 / many
        until(
            lambda: all(_own_fds(pid) <= own for pid, (own, _) in before.items()), what="no more open files than before"
        )
        after = {pid: (_own_fds(pid), _kb(pid, "VmRSS")) for pid in before}
        grown = {pid: after[pid][1] - before[pid][1] for pid in before}
        for pid, more in grown.items():
            load.check(more < FLAT_KB, f"{'the server' if pid == server.pid else 'the fork server'} grew by {more} KiB")
        children = len(processes.descendants(server.pid))
        load.check(children == 0, f"{children} processes below the server")
        load.check(pair.fork_server(held) == fork_server, "the fork server is another one")
        server.call("process", action="remove", job_id=held)
    fds = " and ".join(str(count) for count, _ in after.values())
    return (
        f"{many} starts, one after the other, {took_ms:.1f} ms each: open files of server and fork server {fds}, as before; their memory "
        f"grew by {grown[server.pid]} and {grown[fork_server]} KiB"
    )


LINE = "import os, sys\nleft = int(sys.argv[1])\nblock = b'abcdefghij' * 10_000\nwhile left:\n left -= os.write(1, block[:left])\n"


def long_line(load: Load, size: int) -> str:
    """One line of so many bytes, without a newline at its end."""
    began = time.monotonic()
    ended = load.outlive("run", "--wait", "--", sys.executable, "-c", LINE, str(size))
    took_s = time.monotonic() - began
    load.check(
        (ended["exit_code"], ended["next_seq"]) == (0, size), f"ended: {ended['exit_code']}, {ended['next_seq']}"
    )
    load.check(len(ended["output"].encode()) < 33_000, "the answer is within its budget")
    took_ms, shown = load.timed("log", str(ended["job_id"]))
    load.check((shown["total_lines"], len(shown["output"].encode()) < 33_000) == (1, True), "log shows one line, cut")
    tail_ms, tail = load.timed("tail", str(ended["job_id"]), "--max-bytes", "100")
    load.check(tail["stdout_tail"].endswith("hij") and len(tail["stdout_tail"]) <= 100, "tail shows its end")
    list_ms, listed = load.timed("list", "--all")
    load.check(len(listed["jobs"][0]["last_line"]) <= 160, "list shows its beginning")
    return (
        f"a line of {size // MB} MB: stored in {took_s:.1f} s ({size / took_s / MB:.0f} MB/s), log {took_ms:.0f} ms, tail {tail_ms:.0f} ms, "
        f"list {list_ms:.0f} ms"
    )


RANDOM = "import os, random, sys\nchance = random.Random(7)\nfor _ in range(int(sys.argv[1])): os.write(1, chance.randbytes(4096))\n"


def binary(load: Load, size: int) -> str:
    """Random bytes, each value of them: stored as they came, shown as text that can be sent."""
    blocks = size // 4096
    began = time.monotonic()
    ended = load.outlive("run", "--wait", "--", sys.executable, "-c", RANDOM, str(blocks))
    took_s = time.monotonic() - began
    chance, wanted = random.Random(7), hashlib.sha256()
    for _ in range(blocks):
        wanted.update(chance.randbytes(4096))
    with (load.root / ended["job_id"] / "stdout.log").open("rb") as log:
        load.check(hashlib.file_digest(log, "sha256").hexdigest() == wanted.hexdigest(), "the bytes are those it wrote")
    page = load.outlive("poll", ended["job_id"], "--since-seq", str(size // 2))
    load.check(
        page["ok"] and len(page["output"].encode()) < 33_000, "a page from the middle is shown within its budget"
    )
    return f"{blocks * 4096 / MB:.0f} MB of random bytes in {took_s:.1f} s: stored exactly, answered as text"


NUMBERED = """
import os, sys
count = int(sys.argv[1])
for first in range(0, count, 1000):
    data = memoryview(b"".join(b"%015d\\n" % n for n in range(first, min(first + 1000, count))))
    while data:
        data = data[os.write(1, data):]
"""


def under_quota(load: Load, size: int) -> str:
    """Much more output than the quota: the disk is spared all the time; head, tail and the gap add up to all of it."""
    quota, count = max(4 * MB, size // 80), size // 16
    began = time.monotonic()
    words = (
        "run",
        "--snapshot-after",
        "0",
        "--quota-bytes",
        str(quota),
        "--",
        sys.executable,
        "-c",
        NUMBERED,
        str(count),
    )
    job = str(load.outlive(*words)["job_id"])
    log, most, supervisor, peak_kb = load.root / job / "stdout.log", 0, pair.supervisor(job), 0
    while load.outlive("poll", job, "--max-bytes", "1")["state"] == "running":
        most = max(most, log.stat().st_blocks * 512)
        with contextlib.suppress(OSError):
            peak_kb = max(peak_kb, _kb(supervisor, "VmHWM"))
    took_s = time.monotonic() - began
    status = load.outlive("status", job)
    (gap,) = load.outlive("poll", job, "--since-seq", "0")["gaps"]
    kept = status["stdout_bytes"] - gap["bytes"]
    load.check(status["stdout_bytes"] == count * 16, f"{status['stdout_bytes']} bytes of {count * 16}")
    load.check(kept <= quota, f"{kept} bytes are kept of at most {quota}")
    load.check(gap["lines"] == gap["bytes"] // 16, "the lines of the gap are counted exactly")
    with log.open("rb") as file:
        head = file.read(gap["from_seq"])
        file.seek(gap["to_seq"])
        tail = file.read()
    load.check(head == b"".join(b"%015d\n" % n for n in range(len(head) // 16)), "the head is whole")
    load.check(tail == b"".join(b"%015d\n" % n for n in range(count - len(tail) // 16, count)), "the tail is whole")
    load.check(most < quota + 16 * MB, f"{most} bytes of disk at most, with a quota of {quota}")
    load.check(peak_kb < SUPERVISOR_KB, f"a supervisor of {peak_kb} KiB")
    return (
        f"{count * 16 / MB:.0f} MB under a quota of {quota / MB:.0f} MB in {took_s:.1f} s ({count * 16 / MB / took_s:.0f} MB/s): at most "
        f"{most / MB:.0f} MB of disk and {peak_kb / 1024:.0f} MiB of memory were taken; head, tail and gap are exact"
    )


def silent_client(load: Load, many: int) -> str:
    """A client that asks and reads nothing: neither its jobs nor its server wait for it, and all answers come in the end."""
    with load.server() as server:
        loud = server.call("exec", command=["python3", "-c", "print('x' * 99 * 1000)"])["job_id"]
        calls = [
            server.begin_call("process", action="poll", job_id=loud, since_seq=0, max_bytes=65_536) for _ in range(many)
        ]
        marks = [load.work / f"mark{n}" for n in range(10)]
        later = [server.begin_call("exec", command=f"touch {mark}; exit 5") for mark in marks]
        began = time.monotonic()
        until(lambda: all(mark.exists() for mark in marks), timeout=BOUND_S, what="jobs whose answers no client reads")
        took_s = time.monotonic() - began
        other_ms, other = load.timed("list", "--all")
        load.check(len(other["jobs"]) == 11, f"{len(other['jobs'])} jobs of 11")
        server_kb = _kb(server.pid, "VmHWM")
        load.check(all(len(server.tool_answer(call)["output"]) > 30_000 for call in calls), "every answer came")
        load.check(all(server.tool_answer(call)["exit_code"] == 5 for call in later), "and those of the jobs")
    return (
        f"{many} answers of 64 KB unread: 10 jobs asked for after them ran within {took_s:.1f} s, the command line answered in "
        f"{other_ms:.0f} ms, the server took {server_kb / 1024:.0f} MiB; every answer came when it was read"
    )


# Row → (what it does, how much of it, how much with --short)
ROWS: dict[str, tuple[Callable[[Load, int], str], int, int]] = {
    "jobs-at-once": (jobs_at_once, 200, 20),
    "finished-jobs": (finished_jobs, 10_000, 200),
    "starts": (starts, 1_000, 60),
    "long-line": (long_line, 100 * MB, 5 * MB),
    "binary": (binary, 100 * MB, 4 * MB),
    "under-quota": (under_quota, 5_000 * MB, 80 * MB),
    "silent-client": (silent_client, 200, 40),
}


def measured(name: str, *, short: bool) -> tuple[str, list[str]]:
    """(what was measured, what was wrong) of one row."""
    row, long_, short_ = ROWS[name]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="outlive-load-") as place:
        load = Load(Path(place))
        try:
            told = row(load, short_ if short else long_)
        except AssertionError as error:
            told, load.wrong = f"not finished: {error}", [*load.wrong, str(error)]
        finally:
            left = processes.wait_gone(Path(place), 20)
            processes.end_all(Path(place))
            os.chdir(before)
        load.wrong += [f"left behind: {what}" for what in left.values()]
    return told, load.wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which: {', '.join(ROWS)} (default: all)")
    parser.add_argument("--short", action="store_true", help="a little of each")
    given = parser.parse_args(argv)
    unknown = [name for name in given.rows if name not in ROWS]
    if unknown:
        parser.error(f"no such row: {unknown[0]}")
    status = 0
    for name in given.rows or ROWS:
        told, wrong = measured(name, short=given.short)
        sys.stdout.write(f"{name}: {told}\n" + "".join(f"  WRONG: {what}\n" for what in wrong))
        sys.stdout.flush()
        status = status or bool(wrong)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
