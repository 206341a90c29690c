"""Measure many jobs: listed, deleted, started at once, running at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.bench import TRUE, Bench
from benchmarks.client import Client
from benchmarks.rows import row
from benchmarks.rows.starts import PYTHON, python_ms, shell_ms
from benchmarks.samples import Found, Samples, Work, compared, taken_ms

_FILES_A_JOB = ("meta.json", "state.json", "stdout.log", "stderr.log", "order", "events.ndjson", "lock")
_BURST = (200, 10)  # starts, and starts of a quick run
_LINKS = 30_000  # of one file; ext4 takes 65,000
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def populate(bench: Bench, root: Path, count: int, **defined: str) -> None:
    """Fill a root with finished jobs: real directories whose files are hard links of one job's, and
    take no room.

    outlive trusts the name of a job's directory, so it sees that many jobs of one definition.
    `defined`: what is changed in it.
    """
    have = sum(1 for name in os.listdir(root) if len(name) == 26) if root.is_dir() else 0
    bench.need((count - have) * 5 // 1000, files=count - have)
    real = root
    for number in range(have, count):
        if number % _LINKS == 0 or number == have:
            real = root / str(bench.outlive("run", "--", "echo", "one line", root=root)["job_id"])
            _let_go(real)
            _define(real / "meta.json", defined)
            continue
        job = root / _id(int(time.time() * 1000) - 86_400_000 + number)
        job.mkdir(mode=0o700)
        for name in _FILES_A_JOB:
            os.link(real / name, job / name)


def _define(meta: Path, defined: dict[str, str]) -> None:
    found = json.loads(meta.read_bytes())
    del found["checksum"]  # a record may be without one
    meta.write_text(json.dumps(found | defined) + "\n", encoding="utf-8")


def _let_go(job: Path) -> None:
    """Wait until its supervisor is done with it."""
    deadline = time.monotonic() + 30
    while (job / ".io").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def _id(ms: int) -> str:
    value = (ms << 80) | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -5, -5))


@row("list-10000", "`outlive list --all`: the newest 50 of 10,000 jobs", floor=PYTHON, ratio=3)
def list_ten_thousand(bench: Bench) -> Found:
    return _listed(bench, bench.size(10_000, 60))


@row("list-100000", "the newest 50 of 100,000 jobs", floor=PYTHON, most=120)
def list_hundred_thousand(bench: Bench) -> Found:
    return _listed(bench, bench.size(100_000, 120))


def list_once(bench: Bench, root: Path) -> Work:
    """Return the work: list the newest 50 jobs of a root that has more."""

    def work() -> float:
        answers: list[dict[str, object]] = []
        took = taken_ms(lambda: answers.append(bench.outlive("list", "--all", root=root)))
        jobs = answers[0]["jobs"]
        assert isinstance(jobs, list)
        assert len(jobs) == 50, f"{len(jobs)} jobs were listed"
        return took

    return work


def _listed(bench: Bench, count: int) -> Found:
    root = bench.place / "many"
    populate(bench, root, count)
    found = compared({"ours": list_once(bench, root), "floor": python_ms}, bench.rounds(40))
    taken = [taken_ms(lambda: os.listdir(root)) for _ in range(bench.rounds(10))]
    found.notes = {"a bare listdir(3), ms": statistics.median(taken)}
    return found


@row(
    "list-walled",
    "MCP `process list` of a server behind a wall (`--isolate`), 10,000 jobs of another session",
    floor="the same without a wall",
    ratio=1.2,
)
def list_behind_a_wall(bench: Bench) -> Found:
    populate(bench, bench.root, bench.size(10_000, 60), scope="stdio:another", owner="another")
    with bench.server() as open_, bench.server("--isolate") as walled:
        works = {"ours": _list_of(walled), "floor": _list_of(open_)}
        first = {name: work() for name, work in works.items()}
        found = compared(works, bench.rounds(40))
    found.notes = {"the first of a server, ms": first["ours"], "the first without a wall, ms": first["floor"]}
    return found


def _list_of(client: Client) -> Work:
    return lambda: taken_ms(lambda: client.structured("process", action="list"))


def _copied(bench: Bench, root: Path, count: int) -> None:
    """Fill a root with finished jobs that have files of their own, written back to the disk."""
    bench.need(count * 25 // 1000, files=count * (len(_FILES_A_JOB) + 1))
    real = root / str(bench.outlive("run", "--", "echo", "one line", root=root)["job_id"])
    _let_go(real)
    files = [(name, (real / name).read_bytes()) for name in _FILES_A_JOB]
    for number in range(1, count):
        job = root / _id(int(time.time() * 1000) - 86_400_000 + number)
        job.mkdir(mode=0o700)
        for name, content in files:
            (job / name).write_bytes(content)
    os.sync()


def gc_once(bench: Bench, count: int) -> Work:
    """Return the work: delete finished jobs beside a job that runs. In seconds."""

    def work() -> float:
        root = bench.place / "collected"
        running = bench.outlive("run", "--snapshot-after", "0", "--", "sleep", "600", root=root)["job_id"]
        _copied(bench, root, count)
        answers: list[dict[str, object]] = []
        took = taken_ms(lambda: answers.append(bench.outlive("gc", "--older-than", "0s", root=root)))
        assert answers[0]["deleted"] == count, answers[0]
        left = bench.outlive("remove", running, root=root)
        assert left["state"] == "killed", left
        shutil.rmtree(root)
        return took / 1000

    return work


@row("gc-10000", "`outlive gc` of 10,000 finished jobs", floor="`rm -r` of as many", unit="s", most=10)
def gc(bench: Bench) -> Found:
    count = bench.size(10_000, 60)

    def floor() -> float:
        root = bench.place / "removed"
        root.mkdir()
        _copied(bench, root, count)
        return taken_ms(lambda: bench.run(["rm", "-r", str(root)])) / 1000

    found: dict[str, list[float]] = {"ours": [], "floor": []}
    ours = gc_once(bench, count)
    for _ in range(bench.rounds(3, quick=1)):
        found["ours"].append(ours())
        found["floor"].append(floor())
    return Found(Samples(tuple(found["ours"])), Samples(tuple(found["floor"])))


def burst_once(bench: Bench, client: Client) -> Work:
    """Return the work: start many jobs in the background with requests that do not wait for each
    other.
    """
    count = bench.size(*_BURST)

    def work() -> float:
        jobs: list[str] = []

        def start() -> None:
            asked = [client.begin_call("exec", command=TRUE, yield_ms=0) for _ in range(count)]
            jobs.extend(client.answer(one)["structuredContent"]["job_id"] for one in asked)

        took = taken_ms(start)
        for job in jobs:
            bench.ended(job)
        return took

    return work


@row("burst", "200 background starts at once from one server", floor="200 × `subprocess.run`, one by one", ratio=4.4)
def burst(bench: Bench) -> Found:
    count = bench.size(*_BURST)
    with bench.server() as client:
        works = {"ours": burst_once(bench, client), "floor": lambda: sum(shell_ms() for _ in range(count))}
        return compared(works, bench.rounds(7))


# --- memory ---------------------------------------------------------------------------------------


@row("memory-waiting", "memory of a server whose tools are listed, before its first call (PSS)", unit="MB", most=10)
def memory_before_the_first_call(bench: Bench) -> Found:
    with Client([*bench.command, "mcp"], env=bench.env, cwd=bench.work) as client:
        client.shake_hands()
        client.request("tools/list")
        time.sleep(1)  # the fork server starts meanwhile
        whole, own = _memory_mb(client.process.pid)
    return Found(Samples((whole,)), notes={"own pages, MB": own})


@row("memory-server", "memory of a running job started by a server, 100 at once (PSS)", unit="MB", most=5)
def memory_from_a_server(bench: Bench) -> Found:
    with bench.server() as client:
        asked = [client.begin_call("exec", command="exec sleep 600", yield_ms=0) for _ in range(bench.size(100, 4))]
        jobs = [client.answer(one)["structuredContent"]["job_id"] for one in asked]
        return _memory(bench, jobs)


@row("memory-cli", "memory of a running job started by the CLI, 100 at once (PSS)", unit="MB", most=12)
def memory_from_the_cli(bench: Bench) -> Found:
    return _memory(bench, [bench.background("--", "sleep", "600") for _ in range(bench.size(100, 4))])


def _memory(bench: Bench, jobs: list[str]) -> Found:
    time.sleep(bench.size(3, 1))  # the syncs that follow a start are over
    supervisors = [int(bench.state(job)["supervisor"]["pid"]) for job in jobs]
    guardians = [_parent(pid) for pid in supervisors]
    above, below = [_memory_mb(pid) for pid in guardians], [_memory_mb(pid) for pid in supervisors]
    both = [sum(pair[0] for pair in pairs) for pairs in zip(above, below, strict=True)]
    notes = {
        "guardian, MB": sum(one[0] for one in above) / len(jobs),
        "supervisor, MB": sum(one[0] for one in below) / len(jobs),
        "guardian's own pages, MB": sum(one[1] for one in above) / len(jobs),
        "supervisor's own pages, MB": sum(one[1] for one in below) / len(jobs),
    }
    for job in jobs:
        subprocess.run([*bench.command, "remove", job], env=bench.env, cwd=bench.work, capture_output=True, check=True)
    return Found(Samples(tuple(both)), notes=notes)


def _memory_mb(pid: int) -> tuple[float, float]:
    """Return the share of what a process maps (PSS), and what it alone wrote (private dirty)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE))
    return int(found["Pss"]) / 1024, int(found["Private_Dirty"]) / 1024


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
