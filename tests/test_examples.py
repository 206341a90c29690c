"""The examples run, and what docs/ says of the files on disk is enough to read them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs, environment
from support.commands import in_order
from support.preloaded import OUTLIVE
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
