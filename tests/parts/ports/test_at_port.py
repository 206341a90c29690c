"""Who may be shown which process is at a port."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive.config import Config
from outlive.core.rights import Rights
from outlive.parts.ports import at_port
from outlive.store.root import Store
from support.contexts import context_of

SANDBOXED = Config({("sandbox", "mode"): "read-only"}, None)


@pytest.mark.parametrize(
    ("who", "is_shown"),
    [
        ({}, True),
        ({"config": SANDBOXED}, True),
        ({"face": "mcp"}, True),
        ({"face": "mcp", "rights": Rights()}, True),
        ({"face": "mcp", "wall": "stdio:me"}, False),
        ({"face": "mcp", "rights": Rights(sandbox={"mode": "read-only"})}, False),
        ({"face": "mcp", "config": SANDBOXED}, False),
        ({"face": "mcp", "rights": Rights(level="read")}, False),
        ({"face": "mcp", "rights": Rights(level="control")}, False),
    ],
)
def test_a_process_that_is_of_no_job_is_shown_to_callers_who_could_see_it(
    root: Path, who: dict[str, Any], is_shown: bool
) -> None:
    with closing(Store.open(str(root), {})) as store:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            found = at_port.selected(context_of(store, **who), {"port": port})
        gone = at_port.selected(context_of(store, **who), {"port": port})
    assert not found.job_ids
    if is_shown:
        assert f"On port {port} listens pid {os.getpid()} (" in found.hint
        assert gone.hint.startswith(f"No process listens on port {port}")
    else:
        assert found == gone, "whether a process listens is not told either"
        assert found.hint == f"No job that you may see is at port {port}."
