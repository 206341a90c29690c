"""The demo and the examples run, and what docs/ says of the files on disk is enough to read them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from outlive import demo
from support.cli import Cli, Jobs, environment
from support.commands import in_order
from support.preloaded import OUTLIVE
from support.tiers import slow
from support.wait import until

CHECKOUT = Path(__file__).parent.parent
BOUND_S = 120


def run(*words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    env = environment(how.pop("env", None))
    return subprocess.run(
        words, capture_output=True, text=True, timeout=BOUND_S, stdin=subprocess.DEVNULL, env=env, check=False, **how
    )


@pytest.fixture
def scratch(place: Path) -> dict[str, str | None]:
    """Temporary directories of what is run lie in the test's own place: the leak check sees into them."""
    (place / "tmp").mkdir()
    return {"TMPDIR": str(place / "tmp")}


def nothing_left_in(scratch: dict[str, str | None]) -> bool:
    return not os.listdir(str(scratch["TMPDIR"]))


# --- the demo --------------------------------------------------------------------------------------------------------


def test_the_demo_proves_that_no_line_is_missing_and_clears_up(scratch: dict[str, str | None]) -> None:
    done = run(*OUTLIVE, "demo", env=scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proof" in done.stdout
    assert f"= {demo.LINES} of {demo.LINES}" in done.stdout
    assert f"exit code {demo.EXIT_CODE}" in done.stdout
    assert "\x1b" not in done.stdout, "colours without a terminal"
    assert not done.stderr
    assert nothing_left_in(scratch)


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM), slow(signal.SIGHUP)])
def test_an_interrupted_demo_leaves_nothing(number: signal.Signals, scratch: dict[str, str | None]) -> None:
    with subprocess.Popen(
        [*OUTLIVE, "demo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(scratch),
    ) as process:
        assert process.stdout
        for line in process.stdout:  # until its job runs
            if b"in the background" in line:
                break
        process.send_signal(number)
        rest, errors = process.communicate(timeout=BOUND_S)
    assert process.returncode == 130, rest + errors
    assert nothing_left_in(scratch)


def evidence_of_a_demo(place: Path) -> demo.Evidence:
    log = place / "stdout.log"
    log.write_text("".join(f"{line}\n" for line in demo.EXPECTED))
    seen = demo.Evidence()
    seen.log_path, seen.outlived = str(log), True
    seen.end = {"state": "exited", "exit_code": demo.EXIT_CODE}
    seen.received = ["".join(f"{line}\n" for line in demo.EXPECTED[part]) for part in (slice(20), slice(20, None))]
    return seen


def test_a_demo_with_every_line_has_nothing_missing(place: Path) -> None:
    assert demo.faults_of(evidence_of_a_demo(place)) == []


def _lose_a_line(seen: demo.Evidence) -> None:
    seen.received[1] = seen.received[1].replace("line 33 of", "", 1)


def _repeat_lines(seen: demo.Evidence) -> None:
    seen.received.append(seen.received[0])


def _swap(seen: demo.Evidence) -> None:
    seen.received.reverse()


def _cut_the_log(seen: demo.Evidence) -> None:
    Path(seen.log_path).write_text("line 1\n")


def _remove_the_log(seen: demo.Evidence) -> None:
    Path(seen.log_path).unlink()


def _lose_the_code(seen: demo.Evidence) -> None:
    seen.end = {"state": "failed", "exit_code": None}


def _end_before_the_kill(seen: demo.Evidence) -> None:
    seen.outlived = False


@pytest.mark.parametrize(
    "spoil",
    [_lose_a_line, _repeat_lines, _swap, _cut_the_log, _remove_the_log, _lose_the_code, _end_before_the_kill],
)
def test_a_demo_says_what_is_missing(spoil: Any, place: Path) -> None:
    seen = evidence_of_a_demo(place)
    spoil(seen)
    assert demo.faults_of(seen)


def test_the_demo_explains_itself_and_takes_nothing_else(cli: Cli) -> None:
    assert cli.text("demo", "--help").stdout.startswith("usage: outlive demo\n")
    cli.error("demo", "--fast", code="invalid_argument", status=2)
    cli.error("--root", "elsewhere", "demo", code="invalid_argument", status=2)


# --- the examples ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_walkthrough_of_an_agent_runs_to_its_end(scratch: dict[str, str | None]) -> None:
    done = run(sys.executable, str(CHECKOUT / "examples" / "agent_walkthrough.py"), env=scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all as expected\n")
    assert nothing_left_in(scratch)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["python3", "jq"])
def test_the_walkthrough_of_a_script_runs_to_its_end(reader: str, place: Path, scratch: dict[str, str | None]) -> None:
    if reader == "jq" and not shutil.which("jq"):
        pytest.skip("no jq here")
    tools = place / "bin"
    tools.mkdir()
    (tools / "python3").symlink_to(sys.executable)
    for name in ("sh", "mktemp", "rm", "cat", "grep", "sleep", *(["jq"] if reader == "jq" else [])):
        (tools / name).symlink_to(shutil.which(name) or name)
    env = {**scratch, "PATH": str(tools), "OUTLIVE": shlex.join(OUTLIVE)}
    done = run("sh", str(CHECKOUT / "examples" / "walkthrough.sh"), env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all as expected\n")
    assert not done.stderr
    assert nothing_left_in(scratch)


# --- docs/reference/job-directory.md, taken at its word: nothing of outlive is used to read --------------------------


def read_json(path: Path) -> dict[str, Any]:
    line = path.read_text(encoding="utf-8").rstrip("\n")
    found: dict[str, Any] = json.loads(line)
    assert list(found)[-1] == "checksum"
    without = line.replace(f',"checksum":"{found["checksum"]}"', "")
    assert f"{zlib.crc32(without.encode()):08x}" == found["checksum"]
    return found


def read_merged(job: Path) -> bytes:
    logs = [job / "stdout.log", job / "stderr.log"]
    size = [log.stat().st_size for log in logs]
    data = (job / "order").read_bytes()
    records = [struct.unpack_from("<QQQQ", data, at) for at in range(0, len(data) - len(data) % 32, 32)]
    if not records:
        return b""
    start, stream, offset, _ = records[-1]
    ends = [record[0] for record in records[1:]] + [start + max(0, size[stream] - offset)]
    text = [log.read_bytes() for log in logs]
    return b"".join(
        text[stream][offset : offset + end - start]
        for (start, stream, offset, _), end in zip(records, ends, strict=True)
    )


MIXED = in_order(*((fd, f"{word} {i}\n") for i in range(1, 6) for fd, word in ((1, "out"), (2, "err"))), code=4)


def test_a_job_can_be_read_by_what_its_page_says(cli: Cli, root: Path) -> None:
    job_id = cli.ok("run", "--wait", *MIXED)["job_id"]
    job = root / job_id
    assert read_merged(job).decode() == "".join(f"out {i}\nerr {i}\n" for i in range(1, 6))
    assert read_json(job / "meta.json")["command"] == MIXED[1:]
    state = read_json(job / "state.json")
    assert (state["state"], state["exit_code"], state["reason"]) == ("exited", 4, "exit")
    merged = cli.ok("log", job_id, "--since-seq", "10", "--raw")
    assert merged["output"].encode() == read_merged(job)[10:]


def _names(directory: Path) -> set[str]:
    """Return what is in a directory. A file that is being written still has a temporary name: its own counts."""
    return {re.sub(r"^\.(.+)\.\d+\.\d+$", r"\1", name) for name in os.listdir(directory)}


def test_the_page_names_every_member_and_every_file(cli: Cli, root: Path, jobs: Jobs) -> None:
    page = (CHECKOUT / "docs" / "reference" / "job-directory.md").read_text(encoding="utf-8")
    job_id = cli.ok(
        "run", "--snapshot-after", "0", "--stdin", "open", "--stdin-data", "x\n", "--notify-file", "events", "cat"
    )["job_id"]
    job = root / job_id
    seen = _names(job) | _names(job / ".io")
    members = read_json(job / "meta.json").keys() | until(lambda: read_json(job / "state.json")).keys()
    cli.ok("tag", "set", job_id, "--tag", "a")
    cli.ok("kill", job_id)
    until((job / "completion_event.json").exists, what="the completion event")
    seen |= _names(job) | _names(root) - {job_id}
    members |= json.loads((job / "completion_event.json").read_bytes()).keys() - {"schema_version"}
    members.discard("stdout_log_path")
    members.discard("stderr_log_path")
    named = set(re.findall(r"`([^`]+)`", page)) | {
        word.rstrip("/") for word in re.findall(r"`([^`]+?)(?:/<[^`]*)?`", page)
    }
    assert seen <= named, seen - named
    assert members <= named, members - named
    jobs.end()


def test_a_line_index_holds_what_its_page_says(cli: Cli, root: Path) -> None:
    job_id = cli.ok("run", "--wait", "--max-bytes", "100", "seq 400000")["job_id"]
    assert cli.ok("log", job_id, "--offset", "399999")["output"] == "400000\n"
    data = (root / job_id / "stdout.log").read_bytes()
    index = (root / job_id / "lines").read_bytes()
    assert index
    for number, (count,) in enumerate(struct.iter_unpack("<Q", index), 1):
        assert count == data[: number << 20].count(b"\n")


def test_the_example_of_hosts_is_a_configuration(cli: Cli) -> None:
    found = cli.ok("--config", str(CHECKOUT / "examples" / "hosts.toml"), "host", "list")["hosts"]
    assert [one["kind"] for one in found] == ["local", "slurm", "ssh"]
