"""How `doctor` knows a server by its command line, and an update by the files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from outlive.parts import our_processes
from outlive.parts.doctor import processes
from outlive.system import process


def test_a_server_is_known_by_its_command_line() -> None:
    rows: list[tuple[str, bool]] = [
        ("/v/bin/python3 /v/bin/outlive mcp", True),
        ("/v/bin/python3 /v/bin/outlive --root /r mcp --isolate", True),
        ("/v/bin/python -I -m outlive serve --port 1", True),
        ("/v/bin/python3 /v/bin/outlive run --wait mcp", False),
        ("/v/bin/python3 /v/bin/outlive list", False),
        ("vim outlived mcp", False),
        ("", False),
    ]
    for line, known in rows:
        assert our_processes.is_server(os.fsencode(line).split()) is known


def test_an_update_is_a_change_of_code_and_no_bytecode(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    code = tmp_path / "room" / "module.py"
    code.write_text("")
    os.utime(code, (1, 1))
    changed = processes.code_changed_at(str(tmp_path))
    assert changed == code.stat().st_ctime > 1
    (tmp_path / "room" / "module.pyc").write_text("")
    assert processes.code_changed_at(str(tmp_path)) == changed


def test_this_process_runs_since_a_time_in_the_past() -> None:
    started = process.start_time(os.getpid())
    assert started is not None
    assert 0 < time.time() - our_processes.wall_clock(started) < 86_400
    assert processes._is_of_this_installation([os.fsencode(sys.executable)])


OF_NOBODY = """
from pathlib import Path
from outlive.parts.doctor import resources
from outlive.parts.finding import CheckContext
from outlive.system import prctl
assert prctl.become_subreaper()  # and reaps nothing but what it waits for
resources._REAPED_S = 0.1
found = resources.zombies(CheckContext({}, {}))
(orphan,) = Path("/proc/thread-self/children").read_text().split()
print(found.status, found.details["heir"] == __import__("os").getpid(), Path(f"/proc/{orphan}/stat").read_text().split()[2])
"""


def test_a_first_process_that_reaps_no_orphans_is_a_finding() -> None:
    done = subprocess.run([sys.executable, "-c", OF_NOBODY], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "warn True Z\n", done.stderr
