"""What other agent shells are reported to get wrong (tests/cases.toml), tried over MCP."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import RawMcp, server_command
from support.wait import until

CASES = tomllib.loads((Path(__file__).parents[2] / "cases.toml").read_text())["case"]
DEAF = "trap '' HUP INT QUIT PIPE; exec \"$@\""  # as under nohup, or in the background of a script


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[RawMcp]:
    words = ["sh", "-c", DEAF, "sh", *server_command(())]
    env = {"HOME": str(home), "OUTLIVE_ROOT": str(home / "jobs"), "LC_ALL": "C"}
    with RawMcp(log=home / "log", command=words, env=env, cwd=home, detail=None) as session:
        yield session.start()


@pytest.mark.parametrize("case", CASES, ids=[case["source"].removeprefix("https://github.com/") for case in CASES])
def test_what_others_get_wrong(server: RawMcp, home: Path, case: dict[str, Any]) -> None:
    expected = case["expected"]
    said = server.call("exec", **case["input"], detail="full")
    text, answer = said.text, said.result
    assert answer.get("error", {}).get("code") == expected.get("error"), answer
    if "exit_code" in expected:
        assert answer["exit_code"] == expected["exit_code"], answer
    if "output" in expected:
        assert answer["output"].replace(str(home), "HOME") == expected["output"], answer
    for part in expected.get("contains", ()):
        assert part in text, text
    for part in expected.get("lacks", ()):
        assert part not in text, text
    assert len(text) <= expected.get("longest", 3000), len(text)
    if "left" in expected:  # what was killed may die after the answer
        job = answer["job_id"]
        until(
            lambda: (
                server.call("process", action="status", job_id=job, detail="full").result["descendants"]
                == expected["left"]
            ),
            what="nothing left",
        )
    if "job_id" in answer:
        server.call("process", action="kill", job_id=answer["job_id"])
