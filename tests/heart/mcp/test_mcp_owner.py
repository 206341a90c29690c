"""Who the caller is, where its jobs run and what they inherit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
import pytest

from outlive.cli.main import main
from outlive.mcp import threads
from outlive.mcp.caller import owner_of
from outlive.mcp.job_environment import JobEnvironment, job_directory, merged_path

PLUGIN = Path(__file__).resolve().parents[3] / "plugins" / "outlive"


def test_an_owner_is_client_and_session() -> None:
    rows: list[tuple[str | None, dict[str, str], str]] = [
        (None, {}, "mcp"),
        ("", {"CLAUDE_PROJECT_DIR": ""}, "mcp"),
        ("claude-code", {}, "claude-code"),
        ("x" * 40, {}, "x" * 40),
        ("a.b_c-D9", {}, "a.b_c-D9"),
        ("c", {"CODEX_SESSION_ID": "abc", "CLAUDE_CODE_SESSION_ID": "0f3e-11"}, "c/0f3e-11"),
        ("c", {"CODEX_SESSION_ID": "a b/../c"}, "c/c-c9f5a8"),
    ]
    for name, env, owner in rows:
        found = owner_of(name, env)
        assert found.rpartition("-")[0] == "c/c" if owner.startswith("c/c-") else found == owner


def test_a_name_that_loses_characters_gets_a_hash_of_what_it_was() -> None:
    rows: list[tuple[str, str]] = [
        ("Visual Studio Code", "Visual-Studio-Code-"),
        ("../../etc", "etc-"),
        ("x" * 500, "x" * 33 + "-"),
        ("我的客户端", "mcp-"),
        (" ", "mcp-"),
        ("\ud83d", "mcp-"),
    ]
    for name, begins in rows:
        found = owner_of(name, {})
        assert found == owner_of(name, {})
        assert (found[: len(begins)], len(found)) == (begins, len(begins) + 6)


def test_different_names_and_sessions_are_different_owners() -> None:
    names = ["我的客户端", "他的客户端", "a b", "a-b", "a  b", "a b ", "mcp", "x" * 40, "x" * 41, "x" * 42]
    assert len({owner_of(name, {}) for name in names}) == len(names)
    assert len({owner_of("c", {"CODEX_SESSION_ID": name}) for name in names}) == len(names)


def test_a_project_is_short_stable_and_its_own() -> None:
    one = owner_of("c", {"CLAUDE_PROJECT_DIR": "/home/me/code/site"})
    assert one == owner_of("c", {"CLAUDE_PROJECT_DIR": "/home/me/code/site/"})
    assert one != owner_of("c", {"CLAUDE_PROJECT_DIR": "/home/me/old/site"})
    assert one.startswith("c/site-")
    assert len(one) == len("c/site-") + 6


def test_a_job_runs_in_the_project_or_here(place: Path) -> None:
    assert job_directory({}) == os.getcwd()
    assert job_directory({"CLAUDE_PROJECT_DIR": str(place)}) == str(place)
    assert job_directory({"CLAUDE_PROJECT_DIR": str(place / "gone")}) == os.getcwd()


def test_a_server_in_the_directory_of_a_plugin_runs_no_job_there(place: Path) -> None:
    here = os.getcwd()
    assert job_directory({"PLUGIN_ROOT": here}) is None
    assert job_directory({"PLUGIN_ROOT": here + "/"}) is None
    assert job_directory({"PLUGIN_ROOT": here + "-other"}) == here
    assert job_directory({"PLUGIN_ROOT": here, "CLAUDE_PROJECT_DIR": str(place)}) == str(place)


@pytest.mark.parametrize("folder", ["", ".codex-plugin"])
def test_a_server_in_the_directory_of_our_plugin_runs_no_job_there(
    folder: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = place / "extensions" / "outlive"
    shutil.copytree(PLUGIN, copy)
    monkeypatch.chdir(copy / folder)
    assert job_directory({}) is None
    monkeypatch.chdir(copy.parent)
    assert job_directory({}) == str(copy.parent)


@pytest.mark.parametrize("folder", ["", "src"])
def test_a_server_in_the_directory_of_our_bundle_runs_no_job_there(
    folder: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job would write what the host's uv builds at the next start."""
    for name in ("clone", "bundle"):
        (place / name / "src" / "outlive").mkdir(parents=True)
        (place / name / "src" / "outlive" / "__main__.py").touch()
    (place / "bundle" / "manifest.json").touch()
    monkeypatch.chdir(place / "bundle" / folder)
    assert job_directory({}) is None
    monkeypatch.chdir(place / "clone" / folder)
    assert job_directory({}) == str(place / "clone" / folder).rstrip("/")


def test_a_directory_that_is_gone_is_known_by_its_path(place: Path) -> None:
    here = os.getcwd()
    os.rmdir(here)
    assert job_directory({}) == here


def test_the_login_path_goes_first_and_loses_nothing() -> None:
    rows: list[tuple[str, str, str]] = [
        ("/opt/bin:/usr/bin", "/usr/bin:/mine", "/opt/bin:/usr/bin:/mine"),
        ("/usr/bin", "/mine", "/usr/bin:/mine"),
        ("", ":/bin::", "/bin"),
        ("", "", os.defpath),
        # What an activated environment puts first stays first
        ("/opt/bin:/usr/bin:/bin", "/p/.venv/bin:/usr/bin:/bin:/mine", "/p/.venv/bin:/opt/bin:/usr/bin:/bin:/mine"),
    ]
    for login, own, merged in rows:
        assert merged_path(login, own) == merged


def environment_of(place: Path, profile: str) -> dict[str, str]:
    shell = place / "shell"
    shell.write_text(f"#!/bin/sh\n{profile}\n")
    shell.chmod(0o755)
    found = JobEnvironment({"SHELL": str(shell), "PATH": "/own"})
    found.start()
    try:
        return anyio.run(threads.settled, found)
    finally:
        found.close()


def test_a_job_inherits_the_login_shells_path(place: Path) -> None:
    got = environment_of(place, 'echo Welcome; PATH=/login:/own; export PATH; exec /bin/sh -c "$2"')
    assert got["PATH"] == "/login:/own"


@pytest.mark.parametrize("profile", ["exit 3", "kill -9 $$", "echo no mark", "printf '%s' --outlive-path--"])
def test_a_broken_profile_leaves_the_servers_own(place: Path, profile: str) -> None:
    assert environment_of(place, profile)["PATH"] == "/own"


def test_a_profile_that_hangs_is_ended_with_what_it_started(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlive.mcp.job_environment.PROFILE_S", 0.2)
    assert environment_of(place, "sleep 600 & wait")["PATH"] == "/own"


def test_an_agent_a_profile_leaves_behind_holds_up_nothing(place: Path) -> None:
    got = environment_of(place, '(exec sleep 2) & PATH=/login; exec /bin/sh -c "$2"')
    assert got["PATH"] == "/login:/own"


@pytest.mark.parametrize("argv", [["--tols", "exec"], ["--tools"], ["--tools", "shell"], ["--tools="], ["x"]])
def test_a_wrong_flag_is_a_usage_error(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", *argv]) == 2
    out, err = capfd.readouterr()
    assert out.startswith('{"schema_version":"0.1","ok":false,"type":"error"')
    assert out.count("\n") == 1
    assert err.startswith("usage: outlive mcp")
