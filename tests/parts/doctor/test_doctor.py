"""`doctor`: what is wrong is a finding with a way out, and never the end of the answer."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.parts.doctor import checks
from support import pair, schema
from support.cli import Cli, answer_of, configured
from support.wait import until


def _checks(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {check["name"]: check for check in answer["checks"]}
    for check in found.values():
        assert (check["status"] == "ok") or check["advice"], f"nothing to do about {check}"
    return found


def _at_once(cli: Cli, *calls: tuple[list[str], dict[str, str | None]]) -> list[dict[str, Any]]:
    """The answers to several calls that go on beside each other: each may look for a second whether init reaps."""
    running = [cli.spawn("doctor", *words, env=env) for words, env in calls]
    answers = [answer_of(call) for call in running]
    for answer in answers:
        schema.check_answer(answer)
    return answers


def test_a_sound_place_is_healthy_and_every_check_is_told_once(cli: Cli, root: Path) -> None:
    answer = cli.ok("doctor")
    assert answer["healthy"] is True
    assert [check["name"] for check in answer["checks"]] == [*checks.every()]
    found = _checks(answer)
    assert found["root"]["details"] == {"path": str(root), "source": "OUTLIVE_ROOT"}
    kernel = found["kernel"]["details"]
    assert all(kernel[name] for name in ("pidfd", "ofd_locks", "fifo", "splice", "subreaper", "memfd")), kernel
    assert not root.exists(), "to look creates nothing"
    assert not list(root.parent.glob(".tmp-*")), "what was tried out is gone"


def test_a_root_that_does_not_exist_yet_is_in_order_and_told_with_where_it_comes_from(cli: Cli) -> None:
    rows: list[tuple[list[str], dict[str, str | None], str]] = [
        (["--root", "elsewhere"], {}, "--root"),
        ([], {}, "OUTLIVE_ROOT"),
        ([], {"OUTLIVE_ROOT": None}, "XDG_DATA_HOME"),
        ([], {"OUTLIVE_ROOT": None, "XDG_DATA_HOME": None}, "the default"),
    ]
    for (*_, source), answer in zip(rows, _at_once(cli, *(row[:2] for row in rows)), strict=True):
        found = _checks(answer)
        root = found["root"]
        assert root["details"]["source"] == source
        assert "does not exist yet" in root["found"]
        assert not Path(root["details"]["path"]).exists(), "to look creates nothing"
        assert answer["healthy"] and "free_bytes" in found["space"]["details"]
        assert [found[name]["status"] for name in ("root", "jobs", "supervision")] == ["ok"] * 3, "it is in order"


def test_a_root_that_cannot_be_one_is_a_finding_with_the_command_that_mends_it(cli: Cli, place: Path) -> None:
    (place / "file").touch()
    unsafe = place / "unsafe"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    roots = (place / "file" / "jobs", place / "file", unsafe)
    with cli.spawn("--human", "doctor", "--root", str(unsafe)) as human:
        answers = _at_once(cli, *((["--root", str(root)], {}) for root in roots))
        text = human.communicate(timeout=60)[0].decode()
    assert [(answer["healthy"], _checks(answer)["root"]["status"]) for answer in answers] == [(False, "fail")] * 3
    assert _checks(answers[0])["root"]["details"] == {"path": str(roots[0]), "source": "--root"}
    found = _checks(answers[2])
    assert f"chmod 700 {unsafe}" in found["root"]["advice"]
    assert found["python"]["status"] == "ok"
    lines = text.splitlines()  # a line a check, and below it what to do
    assert [line for line in lines if line.startswith("fail  root ")]
    assert f"→ Run: chmod 700 {unsafe}" in text
    assert lines[-1].startswith("1 failed, ")


def test_a_broken_configuration_is_a_finding_and_not_taken_for_a_broken_root(cli: Cli, place: Path) -> None:
    cli.ok("run", "--wait", "true")
    bad, good = place / "bad.toml", place / "good.toml"
    bad.write_text("[exec]\nbackground_s = 3\n")
    good.write_text("[exec]\nbackground_ms = 3\n")
    answers = _at_once(
        cli,
        (["--config", str(bad)], {}),
        ([], {"OUTLIVE_GC_MAX_PERCENT": "101"}),
        (["--config", str(good)], {"OUTLIVE_GC_MAX_JOBS": "7"}),
    )
    misspelt, too_much, sound = map(_checks, answers)
    found = misspelt["configuration"]
    assert (answers[0]["healthy"], found["status"]) == (False, "fail")
    assert "background_s" in found["found"] and "background_ms" in found["advice"]
    assert (too_much["configuration"]["status"], too_much["root"]["status"]) == ("fail", "ok")
    assert too_much["gc"]["advice"] == "Mend the configuration first."
    assert sound["configuration"]["details"] == {"path": str(good), "set": ["exec.background_ms", "gc.max_jobs"]}
    assert "gc" in config.KEYS


def test_a_quota_larger_than_the_disk_is_warned_of(cli: Cli) -> None:
    sizes: list[dict[str, str | None]] = [{"OUTLIVE_EXEC_QUOTA_BYTES": size} for size in (str(2**61), "65536")]
    answers = _at_once(cli, *(([], env) for env in sizes))
    assert [_checks(answer)["space"]["status"] for answer in answers] == ["warn", "ok"]


def test_few_open_files_are_warned_of(cli: Cli) -> None:
    with cli.spawn("doctor", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))) as call:
        found = _checks(answer_of(call))["open_files"]
    assert (found["status"], found["details"]) == ("warn", {"soft": 64, "hard": 64})


def test_the_jobs_are_counted_and_without_tokens_nobody_can_take_any(cli: Cli) -> None:
    cli.ok("run", "--wait", "head -c 100000 /dev/zero")
    cli.ok("run", "--wait", "true")
    found = _checks(cli.ok("doctor"))
    assert found["jobs"]["details"]["jobs"] == 2
    assert found["jobs"]["details"]["bytes"] > 100_000
    assert (found["serving"]["status"], found["serving"]["details"]["tokens"]) == ("ok", 0)


@pytest.mark.fault("F12")
def test_a_supervisor_that_does_not_answer_is_told_and_a_sound_one_is_not(cli: Cli) -> None:
    sound = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    seen = _checks(cli.ok("doctor"))
    for name, key in (("holdfast", "guardians"), ("outrunner", "supervisors")):  # as ps shows them
        assert f"`{name}`" in seen["processes"]["found"]
        assert seen["processes"]["details"][key] >= 1
    assert seen["supervision"] == {
        "name": "supervision",
        "status": "ok",
        "found": "1 of this root running, each with a supervisor that answers",
        "details": {"running": 1},
    }
    stopped = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    supervisor = pair.supervisor(stopped)
    os.kill(supervisor, signal.SIGSTOP)
    found = _checks(cli.ok("doctor"))["supervision"]
    os.kill(supervisor, signal.SIGCONT)
    assert (found["status"], found["details"]["unresponsive"]) == ("warn", [stopped])
    assert stopped in found["advice"]
    for job_id in (sound, stopped):
        cli.ok("kill", job_id, "--grace-ms", "0")


def test_a_job_without_a_supervisor_is_told_and_left_to_the_next_look(cli: Cli) -> None:
    job_id = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    pair.end_both(pair.supervisor(job_id))
    found = _checks(cli.ok("doctor"))["supervision"]
    assert (found["status"], found["details"]["orphaned"]) == ("warn", [job_id])
    assert cli.ok("status", job_id)["state"] == "running"
    until(lambda: _checks(cli.ok("doctor"))["supervision"]["status"] == "ok", what="the new supervisor")
    cli.ok("kill", job_id, "--grace-ms", "0")


CHANGED = """
import sys, time
import outlive
outlive.__version__ = sys.argv.pop(1)
from outlive.parts.doctor import processes
changed = time.time() - float(sys.argv.pop(1))
processes.code_changed_at = lambda package: changed
from outlive.__main__ import main
sys.exit(main())
"""


def _with_changed_code(version: str, *words: str, ago_s: float = 0) -> dict[str, Any]:
    """Run a call of outlive with this version, as if its files had changed then."""
    done = subprocess.run(
        [sys.executable, "-c", CHANGED, version, str(ago_s), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return answer_of(done)


def test_a_server_from_before_an_update_is_named_and_goes_on(raw_mcp: Any) -> None:
    server = raw_mcp()
    found = _checks(_with_changed_code("0.1.0", "doctor"))["version"]
    (mine,) = (one for one in found["details"]["servers"] if one["pid"] == server.process.pid)
    assert found["status"] == "warn"
    assert str(server.process.pid) in found["found"] or "others" in found["found"]
    assert mine["started_at"] < found["details"]["changed_at"]
    assert "jobs go on" in found["advice"]
    found = _checks(_with_changed_code("0.1.0", "doctor", ago_s=1e9))["version"]
    assert (found["status"], found["details"].get("servers")) == ("ok", None), "it began after the change"


def test_a_supervisor_of_another_version_is_named_and_needs_nothing(cli: Cli) -> None:
    old = _with_changed_code("0.0.9", "run", "--snapshot-after", "0", "sleep 60")["job_id"]
    cli.ok("run", "--snapshot-after", "0", "sleep 60")
    found = _checks(cli.ok("doctor"))["version"]
    assert found["details"]["jobs"] == {old: "0.0.9"}
    assert "another version" in found["found"]
    for job in cli.ok("list", "--all")["jobs"]:
        cli.ok("kill", job["job_id"], "--grace-ms", "0")


WITHOUT = """
import errno, os, sys
from outlive.system import hole_punch, process
def refused(fd, start, stop): raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
hole_punch.punch = refused
process.open_pidfd = lambda pid: None
from outlive.__main__ import main
sys.exit(main())
"""


def test_what_the_kernel_does_not_have_is_told_with_what_it_costs(cli: Cli) -> None:
    words = [sys.executable, "-c", WITHOUT, "doctor"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    found = _checks(answer_of(done))["kernel"]
    assert found["status"] == "warn"
    assert not found["details"]["punch_hole"] and not found["details"]["pidfd"] and found["details"]["fifo"]
    assert "only the head is kept" in found["advice"]


KILLED = """
import os, signal, sys
from outlive.parts.doctor import kernel
kernel._TRIES["fifo"] = lambda path: os.kill(os.getpid(), signal.SIGKILL)
from outlive.__main__ import main
sys.exit(main())
"""


def test_what_a_killed_doctor_leaves_in_the_root_is_deleted_by_gc(cli: Cli, root: Path) -> None:
    cli.ok("run", "true")
    words = [sys.executable, "-c", KILLED, "doctor"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = root.glob(".tmp-*")
    os.utime(left, (1, 1))
    cli.ok("gc")
    assert not left.exists()


def test_scopes_that_are_asked_for_where_there_is_no_systemd_are_a_failure(cli: Cli, place: Path) -> None:
    (place / "bin").mkdir()
    env: dict[str, str | None] = {"PATH": str(place / "bin")}
    plain, asked = _at_once(cli, ([], env), ([], env | {"OUTLIVE_EXEC_SYSTEMD_SCOPE": "true"}))
    assert _checks(plain)["scopes"]["status"] == "ok"
    assert (asked["healthy"], _checks(asked)["scopes"]["status"]) == (False, "fail")


def test_it_is_no_action_of_the_server(raw_mcp: Any) -> None:
    assert raw_mcp().call("process", action="doctor")["error"]["code"] == "invalid_argument"


def _server(path: Path, text: str) -> Path:
    """A program called outlive that is not outlive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_an_entry_is_started_as_its_client_would_and_its_tools_are_told(cli: Cli, place: Path) -> None:
    cli.ok("install", "claude-code")
    cli.ok("install", "codex", "--name", "jobs", "--arg=--tools=exec")
    found = _checks(cli.ok("doctor"))["clients"]
    tools = {one["client"]: one.get("tools") for one in found["details"]["clients"] if one["scope"] == "user"}
    assert tools == {"claude-code": ["exec", "process"], "codex": ["exec"]}
    assert "exec and process answer" in found["found"]


def test_an_entry_that_does_not_answer_is_told_with_what_it_said(cli: Cli, place: Path) -> None:
    broken = _server(place / "outlive", 'echo "no module named mcp" >&2; exit 1')
    cli.ok("install", "claude-code", "--command", broken)
    found = _checks(cli.ok("doctor"))["clients"]
    assert found["status"] == "warn"
    assert "Claude Code (user): it does not answer: no module named mcp" in found["found"]


def test_a_server_that_cannot_read_its_configuration_needs_no_new_entry(cli: Cli, place: Path) -> None:
    cli.ok("install", "codex")
    path = configured(place, "[exec]\nbackground_m = 3\n")
    found = _checks(cli.ok("doctor"))["clients"]
    assert f"Codex (user): it does not answer: outlive mcp: config_error: {path}, line 2" in found["found"]
    assert found["advice"] == "Mend the configuration: the server does not start with it."
    path.rename(place / "away")
    cli.ok("install", "claude-code", "--command", _server(place / "outlive", "exit 1"))
    (place / "away").rename(path)
    advice = _checks(cli.ok("doctor"))["clients"]["advice"]
    assert advice.startswith("Mend the configuration")
    assert "`outlive install CLIENT` writes the entry anew" in advice


def test_an_entry_gets_the_environment_of_its_client_and_its_values_are_not_told(cli: Cli, place: Path) -> None:
    for client in ("codex", "windsurf", "goose"):
        program = _server(place / client / "outlive", f'env -0 > "{place}/{client}.env"; exit 1')
        cli.ok("install", client, "--command", program)
    env = {"PATH": f"{place}:/usr/bin:/bin", "MINE": "1", "OUTLIVE_ROOT": str(place / "s3cret")}
    cli.ok("install", "codex", "--command", place / "codex" / "outlive", env=env)
    found = _checks(cli.ok("doctor", env=env))["clients"]
    seen = {
        client: dict(one.split("=", 1) for one in (place / f"{client}.env").read_text().split("\0") if one)
        for client in ("codex", "windsurf", "goose")
    }
    assert seen["goose"]["MINE"] == "1"
    assert "MINE" not in seen["codex"]
    assert "MINE" not in seen["windsurf"]
    assert seen["codex"]["PATH"] == env["PATH"]
    assert seen["windsurf"]["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert seen["codex"]["OUTLIVE_ROOT"] == env["OUTLIVE_ROOT"]
    assert "s3cret" not in str(found["details"])


def test_a_variable_of_openclaw_that_means_nothing_is_reported(cli: Cli) -> None:
    env = {"PI_BASH_YIELD_MS": "soon"}
    told = "PI_BASH_YIELD_MS is 'soon', which is not a whole number: it is ignored"
    assert told in cli.ok("run", "true", env=env)["hint"]
    assert told in cli.run("-v", "list", env=env).stderr
    (found,) = [one for one in cli.ok("doctor", env=env)["checks"] if one["name"] == "configuration"]
    assert found["status"] == "warn" and told in found["found"]


# --- serving over HTTP -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_tokens_on_a_machine_with_other_users_need_a_server_that_proves_itself(cli: Cli, place: Path) -> None:
    """Another user may listen at the port of a server that is down, and is sent the tokens of its clients."""

    def checked() -> dict[str, Any]:
        return _checks(cli.ok("doctor"))["serving"]

    cli.ok("token", "add", "laptop")
    # What is seen of a server is its command line, and that it holds the root
    words = ["sh", "-c", "echo; read x", "outlive", "serve"]
    root = os.open(cli.root, os.O_RDONLY)
    here = subprocess.Popen(["sleep", "600"], user=12_345)
    try:
        found = until(lambda: (one := checked())["status"] == "warn" and one, what="the other user's process")
        assert found["details"]["tokens"] == 1 and "uid 12345" in found["details"]["other_users"]
        assert "--socket" in found["advice"] and "--certfile" in found["advice"]
        for more, status in (["--port=1"], "warn"), (["--socket", "path"], "ok"), (["--certfile=path"], "ok"):
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "pass_fds": (root,)}
            with subprocess.Popen([*words, *more], **pipes) as server:
                assert server.stdin and server.stdout
                assert server.stdout.readline() == b"\n"
                assert checked()["status"] == status, more
                server.stdin.close()
    finally:
        here.kill()
        here.wait()
        os.close(root)
