"""A flood of single lines, which the supervisor lets pile up for a fraction of a millisecond: a kill loses none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.commands import python
from support.tiers import only
from support.wait import until

FLOOD = """
import os
n = 0
while n % 1000 or not os.path.exists('go'):
    os.write(1, b'line %07d\\n' % n)
    n += 1
open('count', 'w').write(str(n))
"""


@pytest.mark.parametrize("who", only("both".__eq__, ["supervisor", "both"]))
def test_a_flood_of_lines_is_whole_though_its_supervisors_are_killed(
    cli: Cli, root: Path, work: Path, who: str
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", *python(FLOOD))["job_id"]
    log = root / job / "stdout.log"
    for size in (100_000, 700_000):
        until(lambda size=size: log.stat().st_size >= size, what=f"{size} bytes of it")
        supervisor = pair.supervisor(job)
        if who == "both":
            pair.end_both(supervisor)
        else:
            pair.end(supervisor)
        until(lambda: cli.ok("status", job)["supervised"], what="a process that goes on with it")
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert ended["state"] in ("exited", "failed" if who == "both" else "exited"), "an adopter may not be told the code"
    assert log.read_bytes() == b"".join(b"line %07d\n" % n for n in range(int((work / "count").read_text())))
    assert cli.ok("status", job)["adopted"] == 2
