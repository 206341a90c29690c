"""What a model, and a client that shows resources, learn of output that is gone."""

from __future__ import annotations

import sys

import pytest

from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST

CODE = "for n in range(40_000): print('row %06d' % n)"


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


@MODERN_FIRST
def test_a_job_beyond_its_quota_says_so_in_text_in_structure_and_as_a_resource(mcp_session: McpSession) -> None:
    done = mcp_session.call("exec", command=[sys.executable, "-c", CODE], quota_bytes="64K", max_bytes=4_000)
    (gap,) = done["gaps"]
    job = done["job_id"]
    said = f"{gap['bytes']:,} bytes ({gap['lines']:,} lines) are gone"
    assert said in done.text and said in done["output"]
    assert (done["state"], done["exit_code"]) == ("exited", 0)

    by_line = mcp_session.call("process", action="log", job_id=job, offset=gap["from_seq"] // 11, limit=5)
    assert by_line["gaps"] == [gap]
    assert said in by_line.text

    tail = mcp_session.call("process", action="tail", job_id=job, tail_lines=40_000, max_bytes=1_000_000)
    assert tail["gaps"] == [gap]
    assert "are gone" in tail.text

    status = mcp_session.call("process", action="status", job_id=job)
    assert (status["quota_bytes"], status["gaps"]) == (65_536, [gap])
    assert status["stored_bytes"] == 440_000 - gap["bytes"]
    assert "are gone" in status.text

    (content,) = mcp_session.ask(lambda client: client.read_resource(f"job://{job}/output")).contents
    assert content.meta["gaps"] == [gap]
    assert said in content.text
    behind = f"job://{job}/output?since_seq={gap['to_seq']}"
    (content,) = mcp_session.ask(lambda client: client.read_resource(behind)).contents
    assert "gaps" not in content.meta
