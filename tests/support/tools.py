"""What tests of the two tools do again and again."""

from __future__ import annotations

from typing import Any

from support.mcp_client import McpSession

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def background(session: McpSession, command: Any, **more: Any) -> str:
    job: str = session.ok("exec", command=command, yield_ms=0, **more)["job_id"]
    return job


def ended(session: McpSession, job: str) -> dict[str, Any]:
    found = session.ok("process", action="wait", job_id=job, timeout_ms=50_000)
    assert not found["timed_out"]
    return found


async def instructions(client: Any) -> str:
    found: str = client.instructions
    return found
