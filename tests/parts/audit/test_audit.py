"""The audit record: who did what, written before it is done."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from outlive import verbs
from outlive.core.records import READ
from outlive.parts.audit import record
from outlive.parts.audit.reader import Reader
from outlive.parts.audit.record import AuditTarget
from support.cli import Cli
from support.examples import job_for, takes_job, words
from support.mcp_client import McpSession
from support.serve import Served
from support.tiers import ONE_ERA
from support.wait import until

# Verbs that need the right to run commands, for what they show
CHANGES_NOTHING = {"host list"}


@pytest.fixture
def state(place: Path) -> Path:
    return place / "state"


@pytest.fixture
def on(state: Path) -> dict[str, str]:
    """The environment that records into a file."""
    return {"OUTLIVE_AUDIT_TO": "file", "XDG_STATE_HOME": str(state)}


def entries(cli: Cli, on: dict[str, str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.ok("audit", *words, env=on)["entries"]
    return found


def test_nothing_is_recorded_unless_it_is_configured(cli: Cli, state: Path) -> None:
    env = {"XDG_STATE_HOME": str(state)}
    cli.ok("run", "true", env=env)
    found = cli.ok("audit", env=env)
    assert (found["to"], found["entries"]) == ("off", [])
    assert "[audit]" in found["hint"]
    assert not state.exists()


def test_what_acts_is_recorded_with_its_caller_and_its_outcome(cli: Cli, on: dict[str, str], work: Path) -> None:
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "--", "sh", "-c", "read x; exit 3", env=on)[
        "job_id"
    ]
    cli.ok("write", job, "--data", "secret typed\n", env=on)
    cli.ok("wait", job, env=on)
    again = cli.ok("restart", job, "--snapshot-after", "0", env=on)["job_id"]
    cli.ok("kill", again, env=on)
    made = cli.ok("create", "true", env=on)["job_id"]
    cli.ok("start", made, env=on)
    cli.ok("remove", made, env=on)
    cli.ok("token", "add", "someone", "--read-only", env=on)
    cli.ok("token", "revoke", "someone", env=on)
    cli.ok("list", env=on)
    cli.ok("status", job, env=on)
    found = entries(cli, on)
    verbs = ["run", "write", "restart", "kill", "create", "start", "remove", "token add", "token revoke"]
    assert [one["verb"] for one in reversed(found)] == verbs
    by_verb = {one["verb"]: one for one in found}
    run = by_verb["run"]
    assert (run["command"], run["cwd"], run["face"]) == (["sh", "-c", "read x; exit 3"], str(work), "cli")
    assert (run["uid"], run["owner"], run["job_id"]) == (os.getuid(), "cli", job)
    assert (run["outcome"]["state"], run["outcome"]["exit_code"]) == ("exited", 3)
    assert by_verb["write"]["bytes"] == len("secret typed\n")
    assert "typed" not in json.dumps(found)
    assert by_verb["restart"]["restarted_from"] == job
    assert by_verb["restart"]["outcome"]["reason"] == "kill"
    assert by_verb["kill"]["signal"] == "SIGTERM"
    assert by_verb["start"]["outcome"]["exit_code"] == 0, "its directory is gone, the line of its supervisor is not"
    assert (by_verb["token add"]["name"], by_verb["token add"]["level"]) == ("someone", "read")
    assert [one["verb"] for one in entries(cli, on, "--job", job)] == ["write", "run"]
    path = Path(on["XDG_STATE_HOME"]) / "outlive" / "audit.ndjson"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_every_verb_that_changes_something_is_recorded_before_it_is_done(cli: Cli, on: dict[str, str]) -> None:
    changing = [name for name in verbs.offered() if verbs.load(name).right != READ and name not in CHANGES_NOTHING]
    for name in changing:
        job = job_for(cli, name, *(() if name == "write" else ("--pty",)))
        cli.ok(*words(name, job), env=on)
        found = next((one for one in entries(cli, on) if one["verb"] == name), {})
        assert found, name
        if takes_job(verbs.load(name)):
            about = found["restarted_from"] if name == "restart" else found["job_id"]
            assert about == job, name
        cli.run("remove", "--grace-ms", "0", job)
    by_verb = {one["verb"]: one for one in entries(cli, on)}
    assert (by_verb["tag set"]["tags"], by_verb["resize"]["cols"], by_verb["resize"]["rows"]) == (["taken"], 80, 24)


def test_where_a_record_is_required_no_job_is_changed_without_it(cli: Cli, on: dict[str, str], state: Path) -> None:
    jobs = [cli.ok("run", "--pty", "--tag", "both", "--snapshot-after", "0", "cat")["job_id"] for _ in range(2)]
    (state / "outlive" / "audit.ndjson").mkdir(parents=True)
    required = {**on, "OUTLIVE_AUDIT_REQUIRED": "true"}
    cli.error("tag", "set", jobs[0], "--tag", "other", env=required, code="io_error")
    cli.error("resize", jobs[0], "--cols", "50", "--rows", "10", env=required, code="io_error")
    cli.error("remove", *jobs, env=required, code="io_error")
    cli.error("kill", *jobs, env=required, code="io_error")
    for job in jobs:
        found = cli.ok("status", job)
        assert (found["state"], found["tags"]) == ("running", ["both"])
    cli.ok("remove", *jobs)


def test_a_job_that_waits_for_approval_is_not_ended_without_a_record(cli: Cli, on: dict[str, str], place: Path) -> None:
    config = place / "policy.toml"
    config.write_text('[policy]\ndefault = "ask"\n')
    env = {**on, "OUTLIVE_CONFIG": str(config)}
    job = cli.ok("run", "--snapshot-after", "0", "true", env=env)["job_id"]
    cli.ok("kill", job, env=env)
    assert [one["verb"] for one in entries(cli, on, "--job", job)] == ["kill", "ask"]


def test_filters_and_pages_find_what_is_asked_for(cli: Cli, on: dict[str, str]) -> None:
    jobs = [cli.ok("run", f"echo {number}", env=on)["job_id"] for number in range(3)]
    cli.ok("remove", jobs[0], env=on)
    assert [one["job_id"] for one in entries(cli, on, "--verb", "run")] == jobs[::-1]
    assert {one["verb"] for one in entries(cli, on, "--job", jobs[0][-8:])} == {"run", "remove"}
    assert entries(cli, on, "--owner", "another") == []
    assert len(entries(cli, on, "--since", "1h", "--face", "cli")) == 4
    assert entries(cli, on, "--since", "2999-01-01T00:00:00Z") == []
    until(lambda: len(entries(cli, on, "--verb", "end")) == 3, what="the lines of the supervisors")
    first = cli.ok("audit", "--limit", "3", env=on)
    second = cli.ok("audit", "--limit", "3", "--before", first["next_before"], env=on)
    assert [one["verb"] for one in first["entries"] + second["entries"]] == ["remove", "run", "run", "run"]
    assert second["next_before"] is None


def test_the_outcome_comes_from_the_job_if_its_supervisor_could_not_record_it(
    cli: Cli, on: dict[str, str], state: Path
) -> None:
    job = cli.ok("run", "exit 7", env=on)["job_id"]
    until(lambda: entries(cli, on, "--verb", "end"), what="the line of the supervisor")
    path = state / "outlive" / "audit.ndjson"
    lines = [line for line in path.read_text().splitlines() if '"verb":"end"' not in line]
    path.write_text("\n".join(lines) + "\n")
    (run,) = entries(cli, on)
    assert (run["outcome"]["exit_code"], run["job_id"]) == (7, job)
    cli.ok("remove", job)
    assert entries(cli, on)[0]["outcome"] is None


def test_a_value_that_is_masked_is_masked_in_the_record(cli: Cli, on: dict[str, str]) -> None:
    env = {**on, "INHERITED": "fromoutside"}
    cli.ok("run", "--env", "KEY=hunter22", "--mask", "KEY", "--mask", "INHERITED", "echo hunter22 fromoutside", env=env)
    (run,) = entries(cli, on)
    assert run["command"] == ["echo *** ***"]


def test_what_cannot_be_recorded_is_told_and_where_a_record_is_required_not_done(
    cli: Cli, on: dict[str, str], state: Path, work: Path
) -> None:
    (state / "outlive").mkdir(parents=True)
    (state / "outlive" / "audit.ndjson").mkdir()
    assert "not in the audit record" in cli.ok("run", "true", env=on)["hint"]
    required = {**on, "OUTLIVE_AUDIT_REQUIRED": "true"}
    (check,) = [one for one in cli.ok("doctor", env=required)["checks"] if one["name"] == "audit"]
    assert check["status"] == "warn" and "cannot be written" in check["found"]
    error = cli.error("run", "touch made", env=required, code="io_error")
    assert "audit record" in error["message"] and "required" in error["hint"]
    cli.error("create", "true", env=required, code="io_error")
    cli.error("token", "add", "someone", env=required, code="io_error")
    assert not (work / "made").exists()
    assert [job["command"] for job in cli.ok("list")["jobs"]] == [["true"]]
    assert cli.ok("token", "list")["tokens"] == []


@pytest.mark.usefixtures("system_path")
def test_the_decision_of_the_policy_is_recorded_with_its_rule(cli: Cli, on: dict[str, str], place: Path) -> None:
    config = place / "policy.toml"
    rules = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["rm"]\ndecision = "deny"\n'
    config.write_text(rules)
    env = {**on, "OUTLIVE_CONFIG": str(config)}
    cli.ok("run", "true", env=env)
    cli.error("run", "rm x", env=env, code="denied")
    denied, run = entries(cli, on)
    assert (run["verb"], run["decision"]) == ("run", "allow")
    assert (denied["verb"], denied["decision"], denied["command"]) == ("denied", "deny", ["rm x"])
    assert denied["rule"]


@ONE_ERA
def test_the_record_tells_by_which_way_in_a_client_came(
    serve: Callable[..., Served], cli: Cli, work: Path, on: dict[str, str], mcp_connect: Callable[..., McpSession]
) -> None:
    served = serve(env=on)
    served.tool("exec", command="true", workdir=str(work))
    mcp_connect(env=on).ok("exec", command="true")
    stdio, http = entries(cli, on)
    assert (http["face"], http["token"], http["owner"]) == ("http", "tests", "tests")
    assert (stdio["face"], stdio.get("token"), stdio["owner"]) == ("stdio", None, "tests")


# --- the file ----------------------------------------------------------------------------------------


def target(directory: Path, *, max_bytes: int = 4_096, files: int = 3) -> AuditTarget:
    return AuditTarget(to="file", directory=str(directory), max_bytes=max_bytes, files=files)


def append_many(directory: str) -> None:
    for number in range(200):
        record.append(target(Path(directory), max_bytes=65_536, files=8), "run", number=number)


def test_lines_of_many_processes_stay_whole_while_files_are_renamed(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(append_many, [str(tmp_path)] * 4))
    reader = Reader(str(tmp_path))
    assert (len(list(reader.entries())), reader.unreadable) == (800, 0)
    assert len(reader.paths) > 1


def test_the_record_is_bounded_and_the_newest_stays(tmp_path: Path) -> None:
    for number in range(300):
        record.append(target(tmp_path), "run", number=number)
    files = sorted(tmp_path.glob("audit*.ndjson"))
    assert len(files) == 3
    assert all(file.stat().st_size <= 4_096 for file in files)
    numbers = [entry["number"] for entry in Reader(str(tmp_path)).entries()]
    assert numbers == list(range(299, 299 - len(numbers), -1))


def test_a_line_that_met_a_full_disk_does_not_cost_the_next_one(tmp_path: Path) -> None:
    record.append(target(tmp_path), "run", number=1)
    with (tmp_path / record.NAME).open("ab") as file:
        file.write(b'{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","verb":"run","comm')
    record.append(target(tmp_path), "kill", command=['{"id":"'])
    reader = Reader(str(tmp_path))
    assert [entry["verb"] for entry in reader.entries()] == ["kill", "run"]
    assert reader.unreadable == 1


def test_an_entry_whose_members_have_ids_is_read_whole(tmp_path: Path) -> None:
    watches = [{"id": "w1", "pattern": "x"}, {"id": "w2", "pattern": '{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","at":"'}]
    record.append(target(tmp_path), "notify set", notification={"watches": watches})
    reader = Reader(str(tmp_path))
    assert [entry["notification"] for entry in reader.entries()] == [{"watches": watches}]
    assert reader.unreadable == 0


def test_lines_of_another_program_end_no_call(cli: Cli, state: Path, on: dict[str, str], root: Path) -> None:
    job = cli.ok("run", "true", env=on)["job_id"]
    (file,) = state.rglob(record.NAME)
    with file.open("ab") as lines:
        lines.write(
            b'{"id":"01M8HNVKTXE5APES5YQRKT4G0V","verb":"run","root":"%b"}\n%b\n' % (bytes(root), b"[" * 100_000)
        )
    human = cli.text("--human", "audit", env=on)
    assert (human.status, job in human.stdout) == (0, True)
    reader = Reader(str(file.parent))
    assert ([entry["verb"] for entry in reader.entries()], reader.unreadable) == (["run", "end", "run"], 1)


def test_a_stopped_renamer_holds_nobody_up(tmp_path: Path) -> None:
    import fcntl

    with (tmp_path / ".audit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in range(100):
            record.append(target(tmp_path), "run", number=number)
    assert len(list(Reader(str(tmp_path)).entries())) == 100
    assert record.old_files(str(tmp_path)) == []


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    path = tmp_path / record.NAME
    if kind == "link":
        (tmp_path / "elsewhere").write_text("")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    with pytest.raises(OSError):
        record.append(target(tmp_path), "run")
    assert kind == "fifo" or (tmp_path / "elsewhere").read_text() == ""


def test_syslog_gets_a_line_that_it_does_not_cut(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    with pytest.raises(OSError):
        record.append(AuditTarget(to="syslog", socket=path), "run")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(path)
        record.append(AuditTarget(to="syslog", socket=path), "run", command=["sh", "-c", "x" * 100_000])
        line = daemon.recv(1_000_000).decode()
    header, _, found = line.partition(": ")
    assert header.startswith("<86>") and " outlive[" in header
    entry = json.loads(found)
    assert (entry["command_cut"], len(line) < 8_192) == (True, True)
    assert not (tmp_path / record.NAME).exists()
