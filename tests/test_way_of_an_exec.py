"""The page on architecture says which functions an `exec` passes, in which order."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest
from mcp import Client

import outlive
from outlive.mcp import threads
from support.calls import BOUND_S, calls_of, server_of

SOURCE = Path(outlive.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "architecture.md"
# Of a server with a process of its own; for a client that takes tasks
ELSEWHERE = {
    "mcp/stdio/transport.py:_Reader.read",
    "launch/fork_server_client.py:Launcher.send",
    "parts/push/tasks.py:Tasks.of_answer",
    "jobs/told/notices.py:Receipt.__call__",
}


def steps() -> list[str]:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("## The way of one `exec`")
    return re.findall(r"^\d+\. .*`([\w/]+\.py:[\w.]+)`\.$", rest.partition("\n## ")[0], re.MULTILINE)


def test_an_exec_passes_the_steps_of_the_page_in_their_order(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = steps()
    assert 20 <= len(wanted) <= 25
    passed: dict[str, None] = {}

    def note(frame: FrameType, event: str, _arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{SOURCE}/"):
            name = f"{code.co_filename[len(str(SOURCE)) + 1 :]}:{code.co_qualname.removesuffix('.__init__')}"
            if name in wanted:
                passed.setdefault(name)

    real = threads._in_thread

    def in_thread(*given: Any) -> None:
        sys.setprofile(note)
        real(*given)

    async def run() -> None:
        with anyio.fail_after(BOUND_S):
            async with Client(server_of(calls)) as client:
                await client.list_tools()
                sys.setprofile(note)
                try:
                    answer = await client.call_tool("exec", {"command": "true"})
                finally:
                    sys.setprofile(None)
                assert not answer.is_error

    monkeypatch.setattr(threads, "_in_thread", in_thread)
    with contextlib.closing(calls_of(root)) as calls:
        anyio.run(run)
    assert list(passed) == [step for step in wanted if step not in ELSEWHERE]
