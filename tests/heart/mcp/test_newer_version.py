"""A server under which outlive or another package is updated: it goes on with its own code, and says so once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import outlive
from support.cli import Cli
from support.installed import Installed
from support.mcp_client import RawMcp
from support.serve import Served
from support.tiers import first
from support.wait import until

LOOKS_AT_EACH_CALL = "from outlive.mcp import own_code; own_code._LOOK_EVERY_S = 0"
TOLD = "outlive 99.0 is installed now"


@pytest.fixture
def old(tmp_path: Path) -> Installed:
    return Installed(tmp_path, libraries=True)


@pytest.fixture
def server(old: Installed, place: Path) -> Iterator[RawMcp]:
    marks = f"keep = own_code._keep; own_code._keep = lambda: (keep(), open({str(place / 'kept')!r}, 'w').close())"
    start = f"import sys; {LOOKS_AT_EACH_CALL}; {marks}; from outlive.__main__ import main; sys.exit(main())"
    with RawMcp(log=place / "mcp.log", command=[sys.executable, "-c", start, "mcp"], env=old.env) as raw:
        yield raw.start()


@pytest.mark.parametrize(("change", "lines"), first(1, [("replaced", 1), ("removed", 0)]))
def test_a_server_tells_its_log_once_that_another_version_is_installed(
    change: str, lines: int, old: Installed, server: RawMcp
) -> None:
    server.call("process", action="list")
    assert TOLD not in server.log.read_text()
    old.change(change)
    for _ in range(3):
        assert not server.call("exec", command="true").is_error
    said = server.log.read_text()
    assert said.count(TOLD) == lines, said
    assert said.count(f"goes on with {outlive.__version__}") == lines, said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_server_over_http_tells_its_log_too(old: Installed, cli: Cli, place: Path, work: Path) -> None:
    with Served(cli, place / "serve.log", env=old.env, patch=LOOKS_AT_EACH_CALL) as served:
        old.change("replaced")
        for _ in range(3):
            assert served.tool("exec", command="true", workdir=str(work))["exit_code"] == 0
        assert served.said().count(f"outlive serve: {TOLD}") == 1, served.said()


def test_what_a_server_imports_late_of_other_packages_is_held_after_its_first_answer(
    old: Installed, server: RawMcp, place: Path
) -> None:
    job = server.call("exec", command="echo one; echo two", pty=True)["job_id"]
    until((place / "kept").exists, what="the packages")
    for name in ("pyte", "wcwidth", "re2"):
        for path in old.package.parent.glob(f"{name}*/**/*.py"):
            path.write_text("raise ImportError('this is another version')\n")
    assert server.call("process", action="log", job_id=job, search="t[w]o")["matches"] == 1
    assert server.call("process", action="screen", job_id=job)["lines"][0] == "one"
