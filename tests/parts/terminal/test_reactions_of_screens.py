"""What a program in a terminal does at a key, as the answer to a model shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from heart.mcp.test_reactions import LONG_MS, asks
from heart.mcp.test_reactions import session as session  # noqa: PLC0414 - a fixture
from support.cli import Cli
from support.mcp_client import McpSession

pytestmark = pytest.mark.parametrize("era", ["modern"], indirect=True)


def test_text_and_enter_are_one_call(session: McpSession) -> None:
    job = asks(session, "read -r a; printf '<%s>: ' \"$a\"; read -r b; printf '[%s]' \"$b\"", pty=True)
    found = session.call("process", action="submit", job_id=job, text="hi there", wait_ms=LONG_MS)
    assert (found["output"], found["prompt"]) == ("hi there\n<hi there>: ", "<hi there>:")
    found = session.call("process", action="send-keys", job_id=job, text="bye", keys=["Enter"], wait_ms=LONG_MS)
    assert (found["output"], found["state"]) == ("bye\n[bye]", "exited")


def test_a_program_that_fills_the_screen_is_shown_as_its_screen(session: McpSession, cli: Cli) -> None:
    draw = r"printf 'before\n\033[?1049h\033[2J\033[5;3Hmenu: '; read -r a; printf '\033[6;3Hgot %s' $a; read -r b; printf '\033[?1049l'; echo after"
    found = session.call("exec", command=draw, pty=True, yield_ms=LONG_MS)
    assert found["output"] == "before\n[rows 0-3: empty]\n  menu:\n"
    assert (found["alternate_screen"], found["cursor"]) == (True, {"row": 4, "column": 8, "visible": True})
    assert "prompt" not in found.result
    assert "cursor at row 4, column 8" in found.text
    job = found["job_id"]
    nothing = session.call("process", action="poll", job_id=job)
    assert (nothing["output"], nothing["snippet"]) == ("", "[rows 0-3: empty]\n  menu:")
    assert cli.ok("poll", job)["output"] == found["output"]
    assert "\x1b[2J" in cli.ok("poll", job, "--raw")["output"]
    found = session.call("process", action="submit", job_id=job, text="x", wait_ms=LONG_MS)
    assert found["output"] == "[rows 0-3: empty]\n  menu: x\n  got x\n"
    waited = session.call("process", action="wait", job_id=job, since_seq=0, timeout_ms=LONG_MS)
    assert waited["output"] == "before\n" + found["output"]
    found = session.call("process", action="submit", job_id=job, wait_ms=LONG_MS)
    assert "after" in found["output"]
    assert "alternate_screen" not in found.result
    assert found["exit_code"] == 0


def test_a_program_that_repaints_the_main_screen_is_shown_as_its_screen(session: McpSession, cli: Cli) -> None:
    paint = r"for n in 1 2 3; do printf '\033[H\033[2J'; seq -f row.$n.%02g 29; done; printf last; read -r a; "
    found = session.call("exec", command=paint, pty=True, yield_ms=LONG_MS)
    rows = found["output"].splitlines()
    assert (rows[0], rows[-2:], len(rows)) == ("row.3.01", ["row.3.29", "last"], 30)
    assert found["cursor"] == {"row": 29, "column": 4, "visible": True}
    assert found["waiting_for_input"]
    assert {"alternate_screen", "prompt"}.isdisjoint(found.result)
    job = found["job_id"]
    assert cli.ok("poll", job)["output"] == found["output"]
    assert "row.1.01" in cli.ok("poll", job, "--raw")["output"]


def test_a_program_that_takes_keys_has_not_reacted_before_it_prompts(session: McpSession, work: Path) -> None:
    """It seems to wait for keys while it also waits for a timer, as node does while a promise is open."""
    script = (
        "import os, select, sys, tty\n"
        "tty.setcbreak(0)\n"
        "print('> ', end='', flush=True)\n"
        "print(os.read(0, 9).decode(), flush=True)\n"
        "while not os.path.exists('go'): select.select([0], [], [], 0.6)\n"
        "print('done')\n"
    )
    (work / "keys.py").write_text(script)
    job = asks(session, "python3 keys.py", pty=True)
    found = session.call("process", action="send-keys", job_id=job, keys=["x"], wait_ms=1_500)
    assert (found["output"], found["state"], "echoed" in found["hint"]) == ("x\n", "running", True)
    (work / "go").touch()
    found = session.call("process", action="wait", job_id=job, until=["exit"], timeout_ms=LONG_MS)
    assert found["output"] == "done\n"
