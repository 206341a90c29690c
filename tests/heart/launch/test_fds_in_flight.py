"""Open files that are queued in sockets count against a limit of their user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

IN_FLIGHT = """
import os, resource
from outlive.system import fds
if os.geteuid() == 0:
    os.setuid(10_000 + os.getpid() % 50_000)  # another run of this test may be under way
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


ADOPTION = """
import errno, os, sys
from outlive.core.records import Definition
from outlive.store.inspection import adoptions
from outlive.supervisor.starting import takeover
from outlive.supervisor.job_fds import Escrow
from outlive.supervisor.request import Request

def put(*_):
    raise OSError(getattr(errno, sys.argv[1]), "no")

Escrow.put = put
request = Request(mode="adopt", root=os.getcwd(), job_id="job", definition=Definition(command=["true"]))
job = request.open_job()
adoptions.record(job, 4)
try:
    takeover.adopt(request, None, Escrow(), {})
except OSError:
    print("fault", end=" ")
print(adoptions.count(job))
"""


@pytest.mark.parametrize(("name", "told"), [("ETOOMANYREFS", "0\n"), ("EIO", "fault 4\n")])
def test_a_job_is_not_given_up_because_files_are_scarce_when_it_is_adopted(
    tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "job").mkdir()
    words = [sys.executable, "-c", ADOPTION, name]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    assert done.stdout == told


TWO_THREADS = """
import resource, threading
from outlive.system import fds
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
entered, over = threading.Event(), threading.Event()

def send():
    entered.set()
    over.wait()
    limits.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

limits = []
other = threading.Thread(target=fds._send_beyond_limit, args=(send,))

def send_first():
    other.start()
    entered.wait(0.5)  # it is not to come so far

fds._send_beyond_limit(send_first)
over.set()
other.join()
print(limits == [hard], resource.getrlimit(resource.RLIMIT_NOFILE) == (100, hard))
"""


def test_two_threads_that_send_beyond_the_limit_at_once_leave_it_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", TWO_THREADS], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True True\n"


STARTS = """
import os, resource
from outlive.launch import fork_server_client
from outlive.system import fds

fork_server_client.start().close()  # keeps an archive of the code
before = fds.open_fds()
for count in range(1, 8):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[-1] + count, 100))
    try:
        fork_server_client.Launcher().close()
    except OSError:
        pass
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    assert fds.open_fds() == before, count
"""


def test_a_start_for_which_files_are_missing_leaves_none_open() -> None:
    """A server would have fewer for each start that it tries."""
    subprocess.run([sys.executable, "-c", STARTS], check=True, timeout=60)


REFUSES = """
import os, resource
from outlive.launch import fork_server
from outlive.system import fds

here, there = fds.pair()
given = os.dup(there.fileno())
resource.setrlimit(resource.RLIMIT_NOFILE, (given + 1, 100))
fork_server._give(None, {"waiter": given}, [], None)
assert b'"errno": 24' in here.recv(1000)
os.close(given)
"""


def test_a_fork_server_without_free_files_says_so_and_goes_on() -> None:
    subprocess.run([sys.executable, "-c", REFUSES], check=True, timeout=60)
