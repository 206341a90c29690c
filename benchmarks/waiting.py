"""What watching costs, and how soon a waiter knows. Prints medians; compare rows of one run, not runs.

    python benchmarks/waiting.py [RUNS]

throughput: a job prints 80-column lines as fast as it can, without a watch, with watches that match nothing, and with one
that matches every line. told: from the moment a job prints a line (or ends) to the moment `outlive wait` has answered and
exited. cpu: of a waiter during ten seconds in which nothing happens.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEGABYTES = 512
PRINTER = f"""
import os
line = b"2026-11-21T15:39:06 INFO  request handled path=/api/v1/items status=200 t=0012ms\\n"
block = line * (1048576 // len(line))
for _ in range({MEGABYTES}):
    left = memoryview(block)
    while left:
        left = left[os.write(1, left):]
"""
WATCHES = {
    "no watch": [],
    "one that matches nothing": [r"(?i)error|failed|panic"],
    "sixteen that match nothing": [rf"^Ready in {number} \d+" for number in range(16)],
    "one that matches every line": [r"status=200"],
}


def outlive(*words: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-m", "outlive", *words], capture_output=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def throughput(patterns: list[str]) -> float:
    """Megabytes a second, as the job saw it."""
    flags = [word for pattern in patterns for word in ("--watch", pattern)]
    answer = outlive("run", "--wait", "--max-bytes", "100", *flags, "--", sys.executable, "-c", PRINTER)
    outlive("remove", str(answer["job_id"]))
    return MEGABYTES * 1000 / int(str(answer["duration_ms"]))


def told(what: str) -> float:
    """Milliseconds until a waiter has answered."""
    tail = "time.sleep(60)" if what == "regex" else ""
    script = f"import time; time.sleep(1); print('now', time.monotonic(), flush=True); {tail}"
    job = str(outlive("run", "--snapshot-after", "0", "--", sys.executable, "-c", script)["job_id"])
    outlive("wait", job, "--until", "regex=^now" if what == "regex" else "exit")
    at = time.monotonic()
    printed = float(str(outlive("tail", job)["stdout_tail"]).split()[1])
    outlive("remove", job)
    return (at - printed) * 1000


def waiting_cpu() -> float:
    """CPU milliseconds of a waiter in ten quiet seconds, its start left out."""
    job = str(outlive("run", "--snapshot-after", "0", "sleep 60")["job_id"])
    words = [sys.executable, "-m", "outlive", "wait", job, "--until", "regex=never", "--until", "file=never"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as waiter:
        time.sleep(1)
        stat = Path(f"/proc/{waiter.pid}/stat")
        before = _ticks(stat)
        time.sleep(10)
        spent = (_ticks(stat) - before) * 1000 / os.sysconf("SC_CLK_TCK")
        outlive("remove", job)
    return spent


def _ticks(stat: Path) -> int:
    words = stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as root:
        os.environ["OUTLIVE_ROOT"] = f"{root}/jobs"
        for name, patterns in WATCHES.items():
            speed = statistics.median(throughput(patterns) for _ in range(runs))
            print(f"throughput  {name:30} {speed:7.0f} MB/s")
        for what in ("regex", "exit"):
            print(f"told        {what:30} {statistics.median(told(what) for _ in range(runs)):7.1f} ms")
        print(f"cpu         {'waiter, ten seconds':30} {waiting_cpu():7.0f} ms")


if __name__ == "__main__":
    main()
