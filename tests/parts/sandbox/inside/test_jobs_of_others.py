"""A stored job runs what its caller gives it: no caller gets more by way of one than by way of a job of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Cli, Jobs
from support.mcp_client import McpSession
from support.tiers import ONE_ERA

BOTH_MODES = ("read-only", "workspace-write")


@pytest.fixture
def projects(place: Path) -> tuple[Path, Path]:
    one, other = place / "a", place / "b"
    for folder in (one, other):
        folder.mkdir()
    (one / "notes").write_text("SECRET-OF-A")
    return one, other


def configured(cli: Cli, mode: str, more: str = "") -> None:
    """Sandboxes of at most this mode."""
    path = cli.root.parent / "outlive.toml"
    path.write_text(f'[sandbox]\nmode = "{mode}"\n{more}')


@pytest.mark.parametrize("mode", BOTH_MODES)
def test_a_job_that_sees_another_directory_is_restarted_there_alone(
    cli: Cli, projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("OUTLIVE_CONFIG", str(cli.root.parent / "outlive.toml"))
    configured(cli, mode)
    one, other = projects
    job = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", "true", cwd=one)["job_id"]
    given = ("--wait", job, "--env", f"BASH_ENV=$(cat {one}/notes >&2)")
    assert f"{one}, this caller may not" in cli.error("restart", *given, code="denied", cwd=other)["message"]
    assert cli.ok("restart", "--wait", job, cwd=one)["exit_code"] == 0
    # What the configuration shows besides is as little of another caller
    configured(cli, mode, f'show = ["{one}"]\n')
    shown = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", "true", cwd=other)["job_id"]
    configured(cli, mode)
    assert f"the job may read {one}" in cli.error("restart", shown, code="denied", cwd=other)["message"]


@ONE_ERA
@pytest.mark.parametrize("mode", BOTH_MODES)
def test_nothing_is_written_into_a_job_that_sees_another_directory(
    cli: Cli,
    jobs: Jobs,
    projects: tuple[Path, Path],
    mcp_connect: Callable[..., McpSession],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
) -> None:
    monkeypatch.setenv("OUTLIVE_CONFIG", str(cli.root.parent / "outlive.toml"))
    configured(cli, "workspace-write")
    one, other = projects
    owner, caller, beside = mcp_connect(cwd=one), mcp_connect(cwd=other), mcp_connect(cwd=one)
    job = owner.ok("exec", command="cat", stdin="open", sandbox=mode, yield_ms=0)["job_id"]
    write = {"action": "write", "job_id": job, "data": "x\n"}
    beside.ok("process", **write)
    assert f"{one}, this caller may not" in str(caller.error("process", code="denied", **write).result)
    # What a configuration hides by now stays hidden in a job that was started before
    configured(cli, "workspace-write", f'hide = ["{one}/keys"]\n')
    (one / "keys").mkdir()
    late = mcp_connect(cwd=one)
    assert f"the job may read {one}/keys" in str(late.error("process", code="denied", **write).result)
    owner.ok("process", action="kill", job_id=job)
    jobs.end()


@ONE_ERA
def test_what_a_job_was_given_of_a_file_that_a_caller_does_not_see_is_not_given_to_the_caller(
    cli: Cli,
    jobs: Jobs,
    projects: tuple[Path, Path],
    mcp_connect: Callable[..., McpSession],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OUTLIVE_CONFIG", str(cli.root.parent / "outlive.toml"))
    configured(cli, "workspace-write")
    one, other = projects
    hidden, shown = other / "keys", one / "keys"
    for path in (hidden, shown):
        path.write_text("GIVEN=SECRET-OF-B\n")
    (one / "link").symlink_to(hidden)
    caller = mcp_connect(cwd=one)
    env = {"BASH_ENV": "$(env | rev >&2; rev >&2)"}
    for given in (("--env-file", str(hidden)), ("--stdin", f"@{hidden}")):
        job = cli.ok("run", "--wait", *given, "--shell-wrapper", "bash -c", "true", cwd=one)["job_id"]
        restart = caller.error("process", code="denied", action="restart", job_id=job, env=env)
        assert f"what is in {hidden}" in restart["error"]["message"]
        caller.error("process", code="denied", action="notify_set", job_id=job, notify_command="env | rev > found")
        assert cli.ok("restart", "--wait", job, cwd=one)["exit_code"] == 0, "a person may name the file"
        made = cli.ok("create", *given, "cat", cwd=one)["job_id"]
        caller.error("process", code="denied", action="start", job_id=made)
    typed = cli.ok("run", "--env-file", str(hidden), "--pty", "--snapshot-after", "0", "--", "bash", cwd=one)["job_id"]
    caller.error("process", code="denied", action="write", job_id=typed, data="env | rev\n")
    cli.ok("kill", typed)
    job = cli.ok("run", "--wait", "--env-file", str(shown), "true", cwd=one)["job_id"]
    assert caller.ok("process", action="restart", job_id=job)["exit_code"] == 0
    jobs.end()
