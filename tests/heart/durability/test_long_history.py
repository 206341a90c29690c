"""A watch that reports thousands of hits, under a small bound of the files that hold them, and supervisors that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pair
from support.cli import Cli, environment
from support.commands import python
from support.wait import until

BOUND = 64 * 1024
HITS = 900
KILLS = 3
BOUND_S = 60

# Supervisors are forked from such a process, and have its limits
SMALL = f"""
import sys
from outlive import limits
limits.EVENTS_BYTES = {BOUND}
limits.HITS_A_MINUTE = limits.JOB_HITS_A_MINUTE = 10**9
from outlive.__main__ import main
sys.exit(main())
"""
# After each third it waits for the successor: what is printed after both processes of a pair died is lost if it ends
COMMAND = f"""
import os, time
for number in range({HITS}):
    print(f"hit {{number}}", flush=True)
    time.sleep(0.001)
    part, rest = divmod(number + 1, {HITS // KILLS})
    while not rest and not os.path.exists(f"taken over {{part}}"):
        time.sleep(0.02)
"""


def spawn(*words: str, stdout: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SMALL, *words], env=environment(), stdin=subprocess.DEVNULL, stdout=stdout
    )


def told(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
def test_a_follower_misses_nothing_unsaid_while_the_history_is_cut_down_and_supervisors_die(
    cli: Cli, root: Path, work: Path
) -> None:
    """The guardian takes over from the first supervisor; the follower starts a successor of each of the others."""
    flags = ("--snapshot-after", "0", "--watch", "hit", "--watch-file", "hits")
    with spawn("run", *flags, *python(COMMAND), stdout=subprocess.PIPE) as run:
        job = json.loads(run.communicate(timeout=60)[0])["job_id"]
    with (work / "events").open("wb") as out, spawn("events", job, "--follow", stdout=out) as follower:
        for kill in range(KILLS):
            until(
                lambda least=HITS * kill // KILLS: told(root / job / "stdout.log") > least, BOUND_S, what="more lines"
            )
            killed = pair.supervisor(job)
            pair.end(killed)
            until(lambda: pair.supervisor_now(job) not in (0, killed), BOUND_S, what="its successor")  # noqa: B023 - at once
            (work / f"taken over {kill + 1}").touch()
        assert follower.wait(BOUND_S) == 0
    seen = [json.loads(line) for line in (work / "events").read_bytes().splitlines()]
    numbers = [event["n"] for event in seen]
    assert numbers == sorted(set(numbers)), "in order, and none twice"
    missing = sorted(set(range(1, numbers[-1])) - set(numbers))
    said = [event for event in seen if event["type"] == "events_left_out" and "to_byte" in event]
    if missing:  # what was left out before the follower came to it
        assert missing[-1] < max(note["n"] for note in said)
        assert len(missing) <= max(note["count"] for note in said)
    told_later = ("notification_delivered", "events_left_out")  # the file gets the last hits when the job has ended
    assert [event["type"] for event in seen if event["type"] not in told_later][-1] == "finished"

    found = sorted(cli.ok("events", job, "--limit", "0")["events"], key=lambda event: event["n"])
    kept = {event["n"] for event in found if event["type"] not in told_later}
    assert kept <= set(numbers), "the follower told each event that the history still has"
    kinds = [event["type"] for event in found if event["type"] not in told_later]
    assert (kinds[0], kinds.count("adopted"), kinds[-1]) == ("started", KILLS, "finished")
    (note,) = [event for event in found if event["type"] == "events_left_out" and event["file"] == "events.ndjson"]
    assert note["count"] == found[-1]["n"] - (len(found) - 1) > 0
    places = [event["seq"] for event in found if event["type"] == "watch_hit"]
    assert len(places) == len(set(places)), "no hit was told twice"
    delivered = [json.loads(line)["line"] for line in (work / "hits").read_bytes().splitlines()]
    assert list(dict.fromkeys(delivered)) == [f"hit {number}" for number in range(HITS)]
    assert len(delivered) <= HITS + KILLS, "of each supervisor that was killed, one may come twice"
    for name in ("events.ndjson", "notification_events.ndjson"):
        assert (root / job / name).stat().st_blocks * 512 <= BOUND * 9 // 8 + 65_536, name
