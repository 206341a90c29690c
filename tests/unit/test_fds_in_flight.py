"""Open files that are queued in sockets count against a limit of their user."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

IN_FLIGHT = """
import os, resource
from outlive.system import fds
if os.geteuid() == 0:
    os.setuid(12_345)
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
pairs = [fds.pair() for _ in range(10)]
try:
    for turn in range(20):
        for here, _ in pairs:
            fds.send(here, b"", (0,))
except OSError as error:
    print(error.errno)
print(turn, resource.getrlimit(resource.RLIMIT_NOFILE) == ({soft}, {hard}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="another user of this machine is needed, with no file in flight")
@pytest.mark.parametrize(("hard", "told"), [(400, "19 True\n"), (100, "109\n10 True\n")])
def test_a_user_may_have_as_many_files_in_flight_as_the_hard_limit_says(hard: int, told: str) -> None:
    """Each running job has some, so the soft limit, often 1,024, would be one of jobs."""
    code = IN_FLIGHT.format(soft=100, hard=hard)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == told
