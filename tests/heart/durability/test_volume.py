"""Much of everything: output, lines, writes, jobs at once, jobs in the root, calls of one server."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.store.job_dir import META, STATE
from support import pair, processes
from support.cli import Cli, Jobs, environment
from support.commands import python
from support.mcp_client import RawMcp
from support.preloaded import OUTLIVE
from support.tiers import first
from support.wait import until

MB = 1_000_000
FLAT_KB = 40 * 1024  # VmHWM of a supervisor, whatever its job puts out
BUDGET = 32_768  # of what one answer shows
NOTE = 200  # room for the line that says what is left out; whether it counts is a test of its own
ENVELOPE = 4_000  # what the rest of an answer may take besides `output`


def _peak_kb(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert found, f"no VmHWM of {pid}"
    return int(found[1])


# --- much output ---------------------------------------------------------------------------------------------------

LINE = b"0123456789abcdef" * 6 + b"\n"
MANY = 200 * MB // len(LINE)
# Two halves with a gate between them, then a gate before the end: what is measured in between is about a running job.
FLOOD = f"""
import os, sys, time
line, many = {LINE!r}, {MANY}
block = line * 1000
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)
def put(lines):
    for _ in range(lines // 1000):
        data = memoryview(block)
        while data:
            data = data[os.write(1, data):]
    for _ in range(lines % 1000):
        os.write(1, line)
put(many // 2)
wait_for("second")
put(many - many // 2)
wait_for("end")
"""


@pytest.mark.slow
def test_200_mb_are_stored_completely_with_flat_memory_and_answers_stay_small(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", *python(FLOOD))["job_id"]
    log = root / job / "stdout.log"
    supervisor = pair.supervisor(job)
    until(lambda: log.stat().st_size >= MANY // 4 * len(LINE), timeout=60, what="a quarter of the output")
    text = cli.text("poll", job).stdout  # while it pours
    assert len(text) < BUDGET + ENVELOPE
    (work / "second").touch()
    until(lambda: log.stat().st_size >= MANY * len(LINE), timeout=90, what="all of the output")
    running = cli.ok("poll", job, "--max-bytes", "5000")
    assert running["state"] == "running"
    assert len(running["output"].encode()) <= 5000 + NOTE
    gap = running["truncated"]
    assert gap["from_seq"] < gap["to_seq"] and gap["bytes"] == gap["to_seq"] - gap["from_seq"]
    assert running["next_seq"] == MANY * len(LINE)
    assert _peak_kb(supervisor) < FLAT_KB
    (work / "end").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (ended["state"], ended["exit_code"]) == ("exited", 0)
    assert len(ended["output"].encode()) <= BUDGET + NOTE
    assert log.stat().st_size == MANY * len(LINE)
    with log.open("rb") as file:
        stored = hashlib.file_digest(file, "sha256").hexdigest()
    assert stored == _digest_of_lines()
    assert cli.ok("status", job)["stdout_bytes"] == MANY * len(LINE)
    last = cli.ok("log", job, "--limit", "1")
    assert (last["output"].encode(), last["last_line"], last["total_lines"]) == (LINE, MANY, MANY)
    log.unlink()  # the disk of the tests is not ours alone


def _digest_of_lines() -> str:
    found = hashlib.sha256()
    block = LINE * 1000
    for _ in range(MANY // 1000):
        found.update(block)
    found.update(LINE * (MANY % 1000))
    return found.hexdigest()


ONE_LINE = f"""
import os
data = memoryview((b"abcdefghij" * {2 * MB}))
while data:
    data = data[os.write(1, data):]
"""


@pytest.mark.fault("F66")
def test_a_line_of_20_mb_without_a_newline_is_kept_and_shown_within_the_budget(cli: Cli, root: Path) -> None:
    ended = cli.ok("run", "--wait", *python(ONE_LINE))
    job = ended["job_id"]
    assert (ended["exit_code"], ended["next_seq"]) == (0, 20 * MB)
    assert 0 < len(ended["output"].encode()) <= BUDGET + NOTE
    assert ended["truncated"]["bytes"] > 19 * MB
    assert (root / job / "stdout.log").read_bytes() == b"abcdefghij" * (2 * MB)
    shown = cli.ok("log", job)
    assert shown["total_lines"] == 1
    assert 0 < len(shown["output"].encode()) <= BUDGET + NOTE
    tail = cli.ok("tail", job, "--max-bytes", "100")
    assert tail["stdout_tail"].endswith("hij")
    assert len(tail["stdout_tail"]) <= 100
    entry = cli.ok("list", "--all")["jobs"][0]
    assert len(entry["last_line"]) <= 160


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("print('0123456789' * 9 + '\\n', end='') or [print(i) for i in range(20_000)]", id="lines"),
        pytest.param("import os; os.write(1, b'x' * 50_000)", id="one line"),
        pytest.param("import os; os.write(1, bytes(range(128, 256)) * 400)", id="not UTF-8"),
    ],
)
def test_no_answer_shows_more_than_max_bytes(cli: Cli, code: str) -> None:
    job = cli.ok("run", "--wait", *python(code))["job_id"]
    for verb, most in itertools.product(("poll", "log"), (1_000, 5_000, BUDGET)):
        shown = cli.ok(verb, job, "--since-seq", "0", "--max-bytes", str(most))["output"]
        assert len(shown.encode()) <= most


SEED = 20_261
ALTERNATING = f"""
import os, random
chance = random.Random({SEED})
for number in range(20_000):
    stream = chance.choice((1, 2))
    os.write(stream, b"%d:%06d\\n" % (stream, number))
"""


def _expected() -> tuple[bytes, bytes]:
    chance = random.Random(SEED)
    found = {1: bytearray(), 2: bytearray()}
    for number in range(20_000):
        stream = chance.choice((1, 2))
        found[stream] += b"%d:%06d\n" % (stream, number)
    return bytes(found[1]), bytes(found[2])


@pytest.mark.fault("F74")
def test_the_merged_stream_holds_both_streams_exactly_and_in_order(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--wait", *python(ALTERNATING))["job_id"]
    out, err = _expected()
    assert (root / job / "stdout.log").read_bytes() == out
    assert (root / job / "stderr.log").read_bytes() == err
    merged = b"".join(_pages(cli, job, 50_000))
    assert len(merged) == len(out) + len(err)
    assert _of_stream(merged, b"1:") == out
    assert _of_stream(merged, b"2:") == err
    # Any cursor of any page gives the same bytes again, also read backwards and in other steps.
    for since in (0, 9, 1234, 77_777, len(merged) - 3):
        page = cli.ok("poll", job, "--since-seq", str(since), "--max-bytes", "2000", "--raw")
        shown = page["output"].encode()
        assert merged[since:].startswith(shown[:500]) or page["truncated"]
        assert page["next_seq"] == len(merged)


def _pages(cli: Cli, job: str, size: int) -> Iterator[bytes]:
    """The merged stream along `log`'s cursor."""
    seq = 0
    for _ in range(100):
        page = cli.ok("log", job, "--since-seq", str(seq), "--max-bytes", str(size), "--raw", "--limit", "1000000")
        if page["next_seq"] == seq:
            return
        assert page["since_seq"] == seq
        yield page["output"].encode()
        seq = page["next_seq"]
    raise AssertionError("the cursor does not come to an end")


def _of_stream(merged: bytes, mark: bytes) -> bytes:
    return b"".join(line for line in merged.splitlines(keepends=True) if line.startswith(mark))


# --- many jobs -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_30_jobs_started_at_once_through_one_server_all_run_and_are_kept_apart(
    raw_mcp: Callable[..., RawMcp], cli: Cli
) -> None:
    server = raw_mcp()
    calls = {
        number: server.begin_call("exec", command=f"echo out {number}; echo err {number} >&2; exit {number}")
        for number in range(30)
    }
    ids = set()
    for number, call in calls.items():
        found = server.tool_answer(call)
        assert (found["state"], found["exit_code"]) == ("exited", number)
        assert sorted(found["output"].splitlines()) == [f"err {number}", f"out {number}"]
        ids.add(found["job_id"])
    assert len(ids) == 30
    listed = cli.ok("list", "--all", "--limit", "0")["jobs"]
    assert {job["job_id"] for job in listed} == ids
    assert all(job["state"] == "exited" for job in listed)


_WHOLE = 300


def _copies(cli: Cli, root: Path, many: int) -> list[str]:
    """A finished job and `many` copies of it under new ids, oldest first. Their files are links to the one's; all but the
    newest have lost what is not looked at to list them: making and deleting ten of everything takes half a minute."""
    first: str = cli.ok("run", "echo one")["job_id"]
    until(lambda: not (root / first / ".io").exists(), what="the end of its supervisor")
    names = [name for name in os.listdir(root / first) if (root / first / name).is_file()]
    ids = [first]
    for left in range(many, 0, -1):
        job = new_id()
        (root / job).mkdir(mode=0o700)
        for name in names if left <= _WHOLE else (META, STATE):
            os.link(root / first / name, root / job / name)
        ids.append(job)
    return ids


@pytest.fixture
def emptied(root: Path) -> Iterator[None]:
    """10,000 directories are not kept for three runs of pytest."""
    yield
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.fault("F26")
@pytest.mark.usefixtures("emptied")
@pytest.mark.parametrize("many", first(1, [1_000, 10_000]))
def test_list_answers_from_the_newest_of_many_jobs_and_opens_few_files(
    cli: Cli, root: Path, place: Path, many: int
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: the files that are opened cannot be counted")
    ids = _copies(cli, root, many)
    newest = list(reversed(ids))
    found = cli.ok("list", "--all")
    assert [job["job_id"] for job in found["jobs"]] == newest[:50]
    assert found["truncated"] is True
    assert [job["job_id"] for job in cli.ok("list", "--all", "--limit", "3")["jobs"]] == newest[:3]

    trace = place / "trace"
    words = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", str(trace), *OUTLIVE]
    done = subprocess.run(
        [*words, "list", "--all", "--limit", "10"], capture_output=True, env=environment(), timeout=120, check=False
    )
    if done.returncode and b"ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr
    opened = trace.read_text(encoding="utf-8", errors="replace")
    touched = {job for job in re.findall(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", opened) if job in set(ids)}
    assert len(touched) <= 12, f"{len(touched)} jobs were looked at to show 10"
    inside = [line for line in opened.splitlines() if str(root) in line or re.search(r"openat2?\(\d", line)]
    assert len(inside) <= 11 * 10, f"{len(inside)} files below the root were opened to show 10 jobs"


@pytest.mark.usefixtures("emptied")
def test_a_part_of_an_id_finds_its_job_among_many(cli: Cli, root: Path) -> None:
    ids = _copies(cli, root, 300)
    assert cli.ok("status", ids[150][-8:])["job_id"] == ids[150]
    listed = cli.ok("list", "--all", "--limit", "0")["jobs"]
    assert [job["job_id"] for job in listed] == list(reversed(ids))
    every = cli.ok("list", "--limit", "0")["jobs"]
    assert len(every) == 301, "all of them ran in this directory"
    error = cli.error("status", ids[-1][:6], code="ambiguous_job_id")
    assert error["details"]["candidates"]


_ARCHIVES = {"/memfd:outlive (deleted)", "/memfd:packages (deleted)"}  # the code that the server goes on with


@pytest.mark.fault("F59")
@pytest.mark.parametrize("many", first(1, [30, 100]))
def test_a_server_that_ran_many_commands_holds_no_more_than_before(
    raw_mcp: Callable[..., RawMcp], jobs: Jobs, many: int
) -> None:
    server = raw_mcp()
    server.call("exec", command="true")
    before = until(
        lambda: _settled(server.pid),
        what="no file of a package open, which a thread reads to hold its code, and none of the call",
    )
    for number in range(many):
        assert server.call("exec", command=f"exit {number}")["exit_code"] == number
    with contextlib.suppress(AssertionError):
        until(lambda: _held(server.pid) == before)
    assert _held(server.pid) == before
    assert len(jobs.all()) == many + 1
    last = server.call("exec", command="echo still here")
    assert last["output"] == "still here\n"


def _settled(pid: int) -> dict[str, Any]:
    found = _held(pid)
    # A call's own file below `.owed` is closed after its answer was written
    reads = any("site-packages" in name or re.search(r"/\.owed/[^/]+/(?!live$)", name) for name in found["files"])
    return found if not reads and found["files"].keys() >= _ARCHIVES else {}


def _held(pid: int) -> dict[str, Any]:
    """Open files by kind, but for those of pairs that may be used again, and children with what they are (zombies too)."""
    files: list[str] = []
    borrowed = pair.borrowed(pid)
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target not in borrowed:
                files.append(re.sub(r"\d+", "N", target))
    kinds = {kind: len(list(group)) for kind, group in itertools.groupby(sorted(files))}
    return {"files": kinds, "children": sorted(processes.descendants(pid))}
