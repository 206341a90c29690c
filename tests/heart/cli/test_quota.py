"""A job that prints more than its quota: it goes on, head and tail stay, and every answer says what is gone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pair
from support.cli import Cli, Jobs, environment
from support.tiers import first
from support.wait import until

MB = 1_000_000
QUOTA = 1 << 20
STEP = QUOTA // 16
BLOCKS = 3 * 65_536  # what a file system may keep of blocks that are partly in the gap, both logs and `order`
LINE = "line %011d of this job's output\n"
WIDTH = len(LINE % 0)
COUNT = 10 * MB // WIDTH + 1
PRINT = f"""
import sys
first, count = int(sys.argv[1]), int(sys.argv[2])
for at in range(first, first + count, 1000):
    sys.stdout.write("".join({LINE!r} % n for n in range(at, min(at + 1000, first + count))))
"""


def _print(count: int, first: int = 0) -> list[str]:
    return ["--", sys.executable, "-c", PRINT, str(first), str(count)]


def _stored(cli: Cli, job: str) -> int:
    """Bytes on disk of both logs and `order`."""
    return sum((cli.root / job / name).stat().st_blocks * 512 for name in ("stdout.log", "stderr.log", "order"))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("[...")]


def _numbers(text: str) -> list[int]:
    return [int(line[5:16]) for line in _lines(text)]


@pytest.fixture
def flood(cli: Cli) -> dict[str, Any]:
    """10 MB of numbered lines under a quota of 1 MiB, ended."""
    return cli.ok("run", "--wait", "--quota-bytes", "1M", *_print(COUNT))


@pytest.mark.fault("F71")
def test_head_and_tail_stay_whole_the_gap_is_exact_and_the_disk_is_spared(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    assert (flood["state"], flood["exit_code"], flood["reason"]) == ("exited", 0, "exit"), "a quota ends no job"
    status = cli.ok("status", job)
    (gap,) = status["gaps"]
    assert status["quota_bytes"] == QUOTA
    assert QUOTA - 2 * STEP <= status["stored_bytes"] <= QUOTA + STEP
    assert status["stdout_bytes"] == status["next_seq"] == COUNT * WIDTH
    assert gap["bytes"] == gap["to_seq"] - gap["from_seq"] == COUNT * WIDTH - status["stored_bytes"]
    assert (gap["from_seq"] % WIDTH, gap["to_seq"] % WIDTH) == (0, 0), "it lies between lines"
    assert gap["lines"] == gap["bytes"] // WIDTH
    assert QUOTA // 8 < gap["from_seq"] <= QUOTA // 4
    assert _stored(cli, job) <= QUOTA + STEP + BLOCKS
    log = (cli.root / job / "stdout.log").read_bytes()
    wanted = b"".join(b"line %011d of this job's output\n" % n for n in range(COUNT))
    assert log[: gap["from_seq"]] == wanted[: gap["from_seq"]]
    assert log[gap["to_seq"] :] == wanted[gap["to_seq"] :]


def test_what_an_answer_about_the_end_says_of_the_gap_is_final(cli: Cli, work: Path) -> None:
    """Also where a descendant holds the output open, and ends later."""
    held = "(until [ -e go ]; do sleep 0.1; done) & seq 100000 | head -c {}"
    flags = ("--wait", "--quota-bytes", "64K")
    ended = [cli.ok("run", *flags, held.format(400_000 + 1_000 * number)) for number in range(4)]
    (work / "go").touch()
    for found in ended:
        pair.until_free(cli.root, found["job_id"])
        status = cli.ok("status", found["job_id"])
        assert (found["gaps"], status["stored_bytes"] <= 65_536) == (status["gaps"], True)


@pytest.mark.fault("F73")
def test_every_answer_that_crosses_the_gap_says_so(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    (gap,) = cli.ok("status", job)["gaps"]
    before, behind = gap["from_seq"] // WIDTH, gap["to_seq"] // WIDTH
    answers = {
        "run": flood,
        "poll": cli.ok("poll", job),
        "wait": cli.ok("wait", job, "--since-seq", "0"),
        "inside": cli.ok("poll", job, "--since-seq", str(gap["from_seq"] + 1000)),
        "log by position": cli.ok("log", job, "--since-seq", str(gap["from_seq"] - 10 * WIDTH), "--max-bytes", "1000"),
        "log by line": cli.ok("log", job, "--offset", str(before - 5), "--limit", str(gap["lines"] + 10)),
        "log of one stream": cli.ok("log", job, "--stream", "stdout", "--limit", str(COUNT)),
        "search": cli.ok("log", job, "--search", "00000000007 of", "--context", "0"),
        "tail": cli.ok("tail", job, "--tail-lines", str(COUNT), "--max-bytes", "1048576"),
    }
    for what, answer in answers.items():
        assert answer["gaps"] == [gap], what
        if "output" in answer and what != "search":
            assert f"{gap['bytes']:,} bytes ({gap['lines']:,} lines) are gone" in answer["output"], what
            for number, line in zip(_numbers(answer["output"]), _lines(answer["output"]), strict=True):
                assert line == (LINE % number).rstrip("\n"), what
    assert flood["snapshot"].get("gaps") is None, "its last lines are all there"
    by_line = answers["log by line"]
    assert _numbers(by_line["output"]) == [*range(before - 5, before), *range(behind, behind + 5)]
    assert (by_line["first_line"], by_line["last_line"]) == (before - 4, behind + 5)
    assert by_line["total_lines"] == COUNT
    assert by_line["truncated"] is False
    assert _numbers(answers["inside"]["output"])[0] == behind
    cut = flood["truncated"]
    assert cut["bytes"] + gap["bytes"] == cut["to_seq"] - cut["from_seq"]
    assert "not searched" in answers["search"]["hint"]
    assert answers["tail"]["stdout_tail"] == "".join(LINE % n for n in range(behind, COUNT))


def test_what_lies_wholly_on_one_side_says_nothing(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    (gap,) = cli.ok("status", job)["gaps"]
    behind = gap["to_seq"] // WIDTH
    for words in (
        ("log", job),
        ("log", job, "--offset", "0", "--limit", "10"),
        ("log", job, "--offset", str(behind), "--limit", "10"),
        ("log", job, "--since-seq", str(gap["to_seq"])),
        ("poll", job, "--since-seq", str(gap["to_seq"])),
        ("tail", job),
    ):
        answer = cli.ok(*words)
        assert "gaps" not in answer, words
        assert "are gone" not in answer.get("output", "")


@pytest.mark.fault("F73")
def test_a_reader_that_goes_on_page_by_page_sees_all_that_is_there_once(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    (gap,) = cli.ok("status", job)["gaps"]
    seen: list[int] = []
    seq, told = 0, 0
    while True:
        page = cli.ok("log", job, "--since-seq", str(seq), "--max-bytes", "200000")
        seen += _numbers(page["output"])
        told += len(page.get("gaps", []))
        if page["next_seq"] == seq:
            break
        seq = page["next_seq"]
    assert told == 1
    assert seen == [*range(gap["from_seq"] // WIDTH), *range(gap["to_seq"] // WIDTH, COUNT)]


def test_lines_that_are_gone_are_answered_with_their_gap(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    (gap,) = cli.ok("status", job)["gaps"]
    middle = (gap["from_seq"] + gap["to_seq"]) // 2 // WIDTH
    found = cli.ok("log", job, "--offset", str(middle), "--limit", "3")
    assert found["gaps"] == [gap]
    assert _numbers(found["output"]) == []
    assert (found["first_line"], found["last_line"], found["total_lines"]) == (None, None, COUNT)
    assert cli.ok("log", job, "--offset", str(gap["to_seq"] // WIDTH), "--limit", "3")["first_line"] == (
        gap["to_seq"] // WIDTH + 1
    )


def test_the_history_tells_of_the_gap(cli: Cli, flood: dict[str, Any]) -> None:
    (gap,) = cli.ok("status", flood["job_id"])["gaps"]
    found = [event for event in cli.ok("events", flood["job_id"])["events"] if event["type"] == "output_gap"]
    assert 1 <= len(found) <= 3, "seldom"
    assert {name: found[-1][name] for name in gap} == gap
    assert all(event["from_seq"] == gap["from_seq"] for event in found)


BOTH = """
import os
for n in range(40_000):
    os.write(1, b"out %06d\\n" % n)
    os.write(2, b"err %06d\\n" % n)
"""


def test_both_streams_share_a_quota_and_keep_their_own_lines(cli: Cli) -> None:
    done = cli.ok("run", "--wait", "--quota-bytes", "64K", "--", sys.executable, "-c", BOTH)
    job = done["job_id"]
    status = cli.ok("status", job)
    assert status["stored_bytes"] <= 65_536 + 4_096
    assert (status["stdout_bytes"], status["stderr_bytes"]) == (440_000, 440_000)
    (gap,) = status["gaps"]
    assert gap["lines"] > 60_000
    whole = cli.ok("log", job, "--offset", "0", "--max-bytes", "1000000", "--raw")
    assert whole["total_lines"] == 80_000
    for stream, word in (("stdout", "out"), ("stderr", "err")):
        found = cli.ok("log", job, "--stream", stream, "--offset", "0", "--max-bytes", "1000000", "--raw")
        (own,) = found["gaps"]
        assert found["total_lines"] == 40_000
        text = "".join(f"{word} {number:06d}\n" for number in range(40_000))
        head, gone, tail = text[: own["from_seq"]], text[own["from_seq"] : own["to_seq"]], text[own["to_seq"] :]
        assert own["lines"] == gone.count("\n")
        before, behind = re.split(r"\n?\[\.\.\. .* \.\.\.\]\n", found["output"])
        assert (before.rstrip("\n"), behind) == (head.rstrip("\n"), tail)


STEPS = """
import os, sys, time
text = b"x" * 99 + b"\\n"
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.005)
print("first", flush=True)
os.write(1, text * 5_000)
wait_for("go")
os.write(1, text * 5_000)
print("needle in the tail", flush=True)
wait_for("end")
"""


def _needles(cli: Cli, job: str) -> list[str]:
    return [event["line"] for event in cli.ok("events", job)["events"] if event["type"] == "watch_hit"]


def test_waits_and_watches_go_on_behind_the_gap(cli: Cli, work: Path, jobs: Jobs) -> None:
    words = ("--quota-bytes", "64K", "--watch", "first|needle", "--snapshot-after", "0")
    job = cli.ok("run", *words, "--", sys.executable, "-c", STEPS)["job_id"]
    until(lambda: cli.ok("status", job).get("gaps"), what="a gap")
    (work / "go").touch()
    found = cli.ok("wait", job, "--until", "regex=needle", "--timeout-ms", "50s")
    assert found["fired"]["line"] == "needle in the tail"
    assert found["fired"]["seq"] == 6 + 10_000 * 100
    assert cli.ok("wait", job, "--until", "regex=^first", "--timeout-ms", "50s")["fired"]["seq"] == 0
    until(lambda: _needles(cli, job) == ["first", "needle in the tail"], what="both hits")
    (work / "end").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 0


FOREVER = """
import os, sys
n = 0
while not os.path.exists("stop"):
    os.write(1, b"".join(b"line %011d of this job's output\\n" % i for i in range(n, n + 500)))
    n += 500
with open("count", "w") as file:
    file.write(str(n))
"""


@pytest.mark.fault("F71")
@pytest.mark.parametrize(("quota", "deaths"), first(1, [("64K", 3), ("64K", 8), ("1M", 8)]))
def test_supervisors_killed_while_they_punch_cost_no_line_of_what_is_kept(
    cli: Cli, work: Path, jobs: Jobs, quota: str, deaths: int
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--quota-bytes", quota, "--", sys.executable, "-c", FOREVER)["job_id"]
    for _ in range(deaths):
        (gap,) = until(lambda: cli.ok("status", job).get("gaps"), what="a gap")
        pair.end(pair.supervisor(job))
        until(lambda at=gap["to_seq"]: cli.ok("status", job)["gaps"][0]["to_seq"] > at + MB, what="a longer gap")
        _check_live(cli, job)
    (work / "stop").touch()
    done = cli.ok("wait", job, "--timeout-ms", "50s")
    assert (done["state"], done["exit_code"]) == ("exited", 0)
    count = int((work / "count").read_text(encoding="utf-8"))
    status = cli.ok("status", job)
    (gap,) = status["gaps"]
    assert status["adopted"] >= deaths
    assert status["stdout_bytes"] == count * WIDTH
    assert gap["lines"] * WIDTH == gap["bytes"]
    assert _stored(cli, job) <= status["quota_bytes"] * 17 // 16 + BLOCKS
    log = (cli.root / job / "stdout.log").read_bytes()
    kept = [*range(gap["from_seq"] // WIDTH), *range(gap["to_seq"] // WIDTH, count)]
    assert log[: gap["from_seq"]] + log[gap["to_seq"] :] == "".join(LINE % n for n in kept).encode()


def _check_live(cli: Cli, job: str) -> None:
    """What is shown of a job whose gap grows meanwhile is true, line by line."""
    for words in (("poll", job, "--since-seq", "0"), ("log", job, "--limit", "50"), ("tail", job)):
        found = cli.ok(*words)
        text = found["output"] if "output" in found else found["stdout_tail"]
        assert "\0" not in text
        lines = _lines(text)
        for line in lines[:-1]:
            assert line == (LINE % int(line[5:16])).rstrip("\n"), words
        if words[0] == "log" and len(lines) > 1:
            assert found["first_line"] == int(lines[0][5:16]) + 1


def test_a_terminal_behind_a_gap_is_drawn_from_there_and_says_so(cli: Cli, jobs: Jobs) -> None:
    code = "for n in range(40_000): print('row %06d' % n)"
    job = cli.ok("run", "--wait", "--pty", "--quota-bytes", "64K", "--", sys.executable, "-c", code)["job_id"]
    found = cli.ok("screen", job)
    assert found["lines"][0] == "row 039971" and "row 039999" in found["lines"]
    assert any("gone" in warning for warning in found["warnings"])


def test_a_file_system_that_cannot_punch_keeps_the_head_and_counts_the_rest(tmp_path: Path) -> None:
    """ramfs cannot; it is mounted where only this test sees it."""
    place = tmp_path / "ram"
    place.mkdir()
    code = f"""
        mount -t ramfs none {place} && chmod 700 {place} || exit 77
        {sys.executable} -m outlive run --wait --quota-bytes 64K -- {sys.executable} -c 'print("0123456789abcde\\n" * 20_000)'
    """
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", code],
        env=environment({"OUTLIVE_ROOT": str(place / "jobs")}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no mounting here: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    assert (found["state"], found["exit_code"]) == ("exited", 0)
    assert "gaps" not in found
    assert 65_536 <= found["next_seq"] <= 65_536 + 4_096 + 1
    assert found["next_seq"] + found["dropped_bytes"] == 20_000 * 16 + 1
    assert "punch" in found["hint"] and "quota" in found["hint"]


def test_where_the_quota_comes_from(cli: Cli) -> None:
    def quota(*words: str, **variables: str) -> int:
        job = cli.ok("run", "--wait", *words, "--", "true", env=variables)["job_id"]
        found: int = cli.ok("status", job)["quota_bytes"]
        return found

    assert quota() == 10 << 30
    assert quota(OUTLIVE_EXEC_QUOTA_BYTES="100000") == 100_000
    assert quota("--quota-bytes", "1.5G", OUTLIVE_EXEC_QUOTA_BYTES="100000") == 3 << 29
    assert quota("--quota-bytes", "0", OUTLIVE_EXEC_QUOTA_BYTES="100000") == 0
    error = cli.error("list", code="config_error", env={"OUTLIVE_EXEC_QUOTA_BYTES": "5"})
    assert "65536" in error["message"]


def test_a_job_directory_of_before_there_was_a_gap_reads_as_ever(cli: Cli, flood: dict[str, Any]) -> None:
    """And a job whose record was deleted: then its zeros are its output, and nothing fails."""
    small = cli.ok("run", "--wait", "--quota-bytes", "1M", *_print(100))
    assert not (cli.root / small["job_id"] / "gap").exists(), "no file before there is a gap"
    assert "gaps" not in cli.ok("poll", small["job_id"])
    (cli.root / flood["job_id"] / "gap").unlink()
    status = cli.ok("status", flood["job_id"])
    assert "gaps" not in status
    assert status["stored_bytes"] == status["stdout_bytes"]
    assert cli.ok("log", flood["job_id"])["output"].endswith(LINE % (COUNT - 1))


def test_what_was_gone_before_it_could_be_searched_is_told(cli: Cli, flood: dict[str, Any]) -> None:
    job = flood["job_id"]
    (gap,) = cli.ok("status", job)["gaps"]
    found = cli.ok("wait", job, "--until", f"regex={COUNT // 2:011d}", "--timeout-ms", "50s")
    assert found["fired"]["condition"] == "exit"
    assert f"{gap['bytes']:,} bytes of output were gone before they could be searched" in found["hint"]
    found = cli.ok("wait", job, "--until", f"regex={COUNT - 1:011d}", "--timeout-ms", "50s")
    assert found["fired"]["condition"] == "regex"
    assert "searched" not in found.get("hint", "")
