"""A model at a terminal: everything through the tools, read as text or as structure."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from outlive.parts.terminal import keyboard
from outlive.store.job_dir import JobDir
from support.cli import Cli
from support.mcp_client import McpSession
from support.wait import until

pytestmark = pytest.mark.parametrize("era", ["modern"], indirect=True)


@pytest.fixture
def session(shared_session: McpSession) -> McpSession:
    return shared_session


def sees(session: McpSession, job: str, words: str) -> str:
    def look() -> str | None:
        text = session.call("process", action="screen", job_id=job).text
        return text if words in text else None

    return until(look, what=f"{words!r} on the screen") or ""


def test_a_model_is_told_what_a_job_asks_and_how_to_answer(session: McpSession) -> None:
    found = session.call(
        "exec", command="printf 'Continue? [y/N] '; read a; echo you said $a", pty=True, yield_ms=30_000
    )
    assert 'It is waiting for input (prompt: "Continue? [y/N]").' in found.text
    assert "Answer with submit" in found.text
    assert (found["waiting_for_input"], found["prompt"], found["echo"]) == (True, "Continue? [y/N]", True)
    job = found["job_id"]
    waited = session.call("process", action="wait", job_id=job, timeout_ms=50_000)
    assert waited["fired"]["condition"] == "input"  # at once: nothing would happen before it is answered
    answered = session.call("process", action="write", job_id=job, data="y\n", wait_ms=20_000)
    assert (answered["bytes_written"], answered["exit_code"]) == (2, 0)
    assert "you said y" in answered.text


def test_a_password_is_left_to_a_person(session: McpSession) -> None:
    found = session.call("exec", command="stty -echo; printf 'Password: '; read a", pty=True, yield_ms=30_000)
    assert found["echo"] is False
    assert f"outlive attach {found['short_id']}" in found.text
    session.call("process", action="kill", job_id=found["job_id"])


def test_a_model_is_told_to_leave_the_keyboard_to_the_person_who_holds_it(session: McpSession, cli: Cli) -> None:
    job = session.call("exec", command="cat", pty=True, yield_ms=0)["job_id"]
    with JobDir(str(cli.root), job, os.open(cli.root / job, os.O_RDONLY)) as folder:
        held = keyboard.take(folder, "alice (outlive attach)", None)
        assert held is not None
        for action in ("status", "screen", "poll"):
            found = session.call("process", action=action, job_id=job)
            assert found["keyboard"]["held_by"] == "alice (outlive attach)"
            assert "alice (outlive attach) holds the keyboard" in found.text
            assert "type nothing" in found.text
        written = session.call("process", action="submit", job_id=job, text="x")
        assert "went between what that person types" in written.text
        held.release()
    assert session.call("process", action="screen", job_id=job).result.get("keyboard") is None
    session.call("process", action="kill", job_id=job)


def test_vim_is_driven_through_the_tools_alone(session: McpSession, place: Path) -> None:
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    found = session.call("exec", command=["vim", "-u", "NONE", "-N", "-n", "letter.txt"], pty=True, yield_ms=30_000)
    job = found["job_id"]
    session.call("process", action="send-keys", job_id=job, keys=["i"])
    sees(session, job, "-- INSERT --")
    session.call("process", action="paste", job_id=job, text="Dear all,\nit works.")
    session.call("process", action="send-keys", job_id=job, keys=["Escape"])
    text = sees(session, job, "it works.")
    assert "alternate screen" in text
    session.call("process", action="send_keys", job_id=job, literal=":wq", keys=["Enter"])
    ended = session.call("process", action="wait", job_id=job, timeout_ms=50_000)
    assert ended["exit_code"] == 0
    assert (place / "work" / "letter.txt").read_text() == "Dear all,\nit works.\n"


def test_both_faces_see_the_same_screen(session: McpSession, cli: Cli) -> None:
    job = session.call("exec", command="printf 'one\\ntwo: '; read a", pty=True, yield_ms=30_000)["job_id"]
    assert session.call("process", action="screen", job_id=job).result == cli.ok("screen", job)
    resized = session.call("process", action="resize", sessionId=job, cols=80, rows=24)
    assert resized.result == cli.ok("resize", job, "--cols", "80", "--rows", "24")
    assert "80x24" in resized.text
    session.call("process", action="submit", job_id=job)
    assert session.call("process", action="wait", job_id=job, until=["exit"])["state"] == "exited"
