"""Jobs on a host of kind ssh, with a program `ssh` that runs them here and breaks off when told to.

`test_real_ssh.py` proves the same with sshd."""

from __future__ import annotations

import fcntl
import io
import os
import random
import shutil
import signal
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.config import HostSettings
from outlive.jobs import adoption
from outlive.parts.hosts.far.starting import context
from outlive.parts.hosts.ssh.connecting.bundle import Bundle
from outlive.parts.hosts.ssh.connecting.connection import Connection
from outlive.parts.hosts.ssh.connecting.reconnecting import AT_ONCE, Turns
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system import locks
from support import pair, processes
from support.cli import Cli, configured
from support.fake_ssh import FakeSsh
from support.jobs import job_ids
from support.mcp_client import McpSession
from support.mounts import Mounts
from support.wait import until

CONFIG = """
[hosts.box]
kind = "ssh"
target = "me@box"
options = ["-F", "{place}/config"]
python = "{python}"
"""


@pytest.fixture
def box(place: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeSsh:
    found = FakeSsh(place, tmp_path_factory.getbasetemp() / "carried")
    monkeypatch.setenv("FAKE_SSH", str(found.place))
    monkeypatch.setenv("PATH", f"{found.bin}:{os.environ['PATH']}")
    configured(place, CONFIG.format(place=place, python=sys.executable))
    return found


def test_nothing_for_ssh_is_taken_from_where_a_job_writes(cli: Cli, box: FakeSsh, place: Path, work: Path) -> None:
    """A file for -F may have a ProxyCommand in it, and a relative name leads to where outlive was started."""
    (place / "other/.git").mkdir(parents=True)
    for path in (f"{work}/config", f"{place}/other/config", "./config"):
        for option in (["-F", path], [f"-oProxyCommand={path}"]):
            text = CONFIG.format(place=place, python=sys.executable).replace(f'["-F", "{place}/config"]', str(option))
            configured(place, text)
            (check,) = cli.ok("host", "check", "box")["checks"]
            assert check["status"] == "fail"
            assert (
                f"options of this host name what a job in a sandbox may have written: {option[-1]}." in check["found"]
            )
            assert "may have written" in cli.error("run", "--host", "box", "true", code="io_error")["message"]
    assert box.calls == []
    usual = '["-oIdentityFile=~/.ssh/id", "-oControlPath=%d/.ssh/%C", "-oProxyCommand=nc -x proxy:1080 %h %p"]'
    configured(place, CONFIG.format(place=place, python=sys.executable).replace(f'["-F", "{place}/config"]', usual))
    (box.bin / "ssh").write_text(f"#!/bin/sh\npwd > {place}/there; exit 255\n")
    cli.ok("host", "check", "box")
    assert (place / "there").read_text() == "/\n"


def mirror_of(job: str) -> int:
    """Return the pid of the mirror."""
    return until(lambda: next((pid for pid in processes.all_pids() if _mirrors(pid, job)), 0), what="a mirror")


def _mirrors(pid: int, job: str) -> bool:
    return processes.name(pid) == "outmirror" and processes.is_alive(pid) and job in processes.command_line(pid)[-1]


def follow_to_end(cli: Cli, box: FakeSsh, job: str) -> dict[str, Any]:
    """Wait for the end, and until nothing is left on the other machine."""
    answer = cli.ok("wait", job, "--timeout-ms", "60000")
    box.wait_empty()
    until(lambda: not is_held(cli, job), what="the mirror has let go")
    return answer


def is_held(cli: Cli, job: str) -> bool:
    fd = os.open(cli.root / job / "lock", os.O_RDWR)
    try:
        return locks.is_held(fd, 0)
    finally:
        os.close(fd)


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


# What ssh(1) prints when sshd(8) drops a login beyond MaxStartups
CROWDED = "kex_exchange_identification: Connection closed by remote host"


# --- the host -------------------------------------------------------------------------------------


def test_setup_carries_our_end_there_once_and_says_what_is_found(cli: Cli, box: FakeSsh) -> None:
    answer = cli.ok("host", "setup", "box")
    assert answer["healthy"]
    assert [one["name"] for one in answer["checks"]][:4] == ["reach", "python", "root", "workdir"]
    carried = list((box.home / ".local/share/outlive/far").iterdir())
    assert len(carried) == 1 and (carried[0] / "outlive/parts/hosts/far/main.py").is_file()
    before = carried[0].stat().st_mtime_ns
    assert cli.ok("host", "check", "box")["healthy"]
    assert carried[0].stat().st_mtime_ns == before and box.root.is_dir()


def test_a_server_that_connects_keeps_its_directory(box: FakeSsh, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads of it start jobs there."""
    seen: list[str] = []
    change = os.chdir

    def noted(path: str) -> None:
        change(path)
        seen.append(os.getcwd())

    monkeypatch.setattr(os, "chdir", noted)
    Connection(HostSettings(target="me@box"), os.environ, Bundle()).close()
    assert set(seen) <= {os.getcwd()}


def test_what_is_carried_there_is_small_and_needs_nothing_but_python() -> None:
    bundle = Bundle()
    data = bundle.zipped()
    assert len(data) < 1_000_000
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    assert "__main__.py" in names and "outlive/parts/hosts/far/main.py" in names
    left = tuple(f"outlive/{room}/" for room in ("mcp", "verbs", "cli", "web"))
    assert not [name for name in names if name.startswith(left)]
    assert Bundle().name == bundle.name


def test_no_text_of_the_caller_reaches_the_remote_command_line(cli: Cli, box: FakeSsh) -> None:
    answer = cli.ok(
        "run", "--host", "box", "--wait", "--env", "NAME=va'lu$(e)", "--", 'printf %s "$NAME" # per\'uncommon'
    )
    assert answer["output"] == "va'lu$(e)"
    box.wait_empty()
    assert box.calls and not any("uncommon" in call or "lu$(e)" in call for call in box.calls)
    assert all("BatchMode=yes" in call and "'-F'" in call and "'me@box'" in call for call in box.calls)


@pytest.mark.fault("H21")
@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Host key verification failed.", "accepts none"),
        ("me@box: Permission denied (publickey,password).", "agent"),
        (
            "Host key for box has changed and you have requested strict checking.\nHost key verification failed.",
            "another key than before",
        ),
        ("Enter passphrase for key '/k': \nme@box: Permission denied (publickey).", "passphrase"),
        ("ssh: Could not resolve hostname box: Name or service not known", "target"),
    ],
)
def test_what_ssh_says_is_quoted_and_nothing_was_run(cli: Cli, box: FakeSsh, said: str, hint: str) -> None:
    box.down(said)
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    said = "; ".join(line.strip() for line in said.splitlines())
    assert said.rstrip(".") in error["message"] and error["retryable"] and hint in error["hint"]
    assert cli.ok("list", "--all")["jobs"] == []
    checks = cli.ok("host", "check", "box")["checks"]
    assert checks[0]["status"] == "fail" and said in checks[0]["found"] and hint in checks[0]["advice"]


@pytest.mark.fault("H24")
def test_an_interpreter_that_is_missing_or_too_old_is_told(cli: Cli, box: FakeSsh, place: Path) -> None:
    path = place / "home/.config/outlive/config.toml"
    old = place / "old-python"
    # As an old interpreter does: it runs the line, in which the least version is newer than its own
    old.write_text(
        f'#!/bin/sh\nread -r line\nprintf "%s\\n" "$line" | sed "s/(3, 11)/(99, 0)/" | {sys.executable} "$@"\n'
    )
    old.chmod(0o755)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(sys.executable, str(old)), encoding="utf-8")
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    assert "needs Python 3.11 or later" in error["message"] and "`python`" in error["hint"]
    path.write_text(text.replace(sys.executable, "/no/python3"), encoding="utf-8")
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    assert "there is no /no/python3 there" in error["message"] and "`python`" in error["hint"]


# --- what callers see -----------------------------------------------------------------------------


def test_a_job_there_answers_like_one_here(cli: Cli, box: FakeSsh) -> None:
    words = ("--wait", "--", "echo out; echo err >&2; pwd; exit 3")
    here, there = cli.ok("run", *words), cli.ok("run", "--host", "box", *words)
    assert there["host"] == "box" and there["cwd"] == str(box.home)
    assert there.keys() - here.keys() == {"host"}
    assert (there["state"], there["exit_code"], there["reason"]) == ("exited", 3, "exit")
    assert sorted(there["output"].split()) == sorted(["out", "err", str(box.home)])
    answer = follow_to_end(cli, box, there["job_id"])
    assert answer["exit_code"] == 3 and answer["host"] == "box"
    assert [one["type"] for one in cli.ok("events", there["job_id"])["events"]] == ["started", "finished"]


def test_its_start_and_its_end_are_recorded_here(cli: Cli, box: FakeSsh, place: Path) -> None:
    env = {"OUTLIVE_AUDIT_TO": "file", "XDG_STATE_HOME": str(place / "state")}
    job = cli.ok("run", "--host", "box", "--wait", "--", "exit 3", env=env)["job_id"]
    (end,) = until(lambda: cli.ok("audit", "--verb", "end", env=env)["entries"], what="the line of the mirror")
    assert (end["job_id"], end["exit_code"]) == (job, 3)
    (start,) = cli.ok("audit", env=env)["entries"]
    assert (start["verb"], start["job_id"], start["outcome"]["exit_code"]) == ("run", job, 3)


def test_its_environment_is_that_of_a_login_there_and_what_was_given(
    cli: Cli, box: FakeSsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    (box.home / ".profile").write_text("export FROM_PROFILE=there\n", encoding="utf-8")
    monkeypatch.setenv("LOCAL_ONLY", "here")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    command = "echo $FROM_PROFILE:$GIVEN:$SSH_AUTH_SOCK; echo $OUTLIVE_ROOT"
    answer = cli.ok("run", "--host", "box", "--wait", "--env", "GIVEN=yes", "--", command)
    assert answer["output"].splitlines() == ["there:yes:", str(box.root)]
    box.wait_empty()


def test_a_directory_that_is_missing_there_starts_nothing(cli: Cli, box: FakeSsh) -> None:
    error = cli.error("run", "--host", "box", "--cwd", "/no/such", "--", "true", code="invalid_argument")
    assert "/no/such does not exist" in error["message"] and "box" in error["message"]
    assert cli.ok("list", "--all")["jobs"] == [] and box.jobs() == []
    (box.home / "work").mkdir()
    for words in (["pwd"], ["printenv", "PWD"]):
        found = cli.ok("run", "--host", "box", "--wait", "--cwd", "~/work", "--", *words)
        assert found["output"] == f"{box.home}/work\n"
    box.wait_empty()


def test_input_keys_and_the_screen_work_through_the_mirror(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--stdin", "open", "--snapshot-after", "0", "--", "cat; echo end")["job_id"]
    assert cli.ok("write", job, "--data", "one\n", "--wait-ms", "10000")["output"] == "one\n"
    assert cli.ok("write", job, "--data", "two\n", "--eof")["bytes_written"] == 4
    assert cli.ok("wait", job)["output"] == "one\ntwo\nend\n"
    terminal = cli.ok(
        "run", "--host", "box", "--pty", "--snapshot-after", "0", "--", "stty size; read x; stty size; echo got $x"
    )
    job = terminal["job_id"]
    cli.ok("wait", job, "--until", "regex=30 120")
    assert cli.ok("resize", job, "--cols", "100", "--rows", "20")["cols"] == 100
    assert "got abc" in cli.ok("send-keys", job, "a", "b", "c", "Enter", "--wait-ms", "10000")["output"]
    assert "20 100" in cli.ok("screen", job)["lines"]
    box.wait_empty()


def test_kill_ends_it_there_and_says_who_asked(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "sleep 1000")["job_id"]
    assert cli.ok("kill", job, "--signal", "CONT")["hint"].startswith("It runs on box, where it was told; ")
    answer = cli.ok("kill", job)
    assert (answer["state"], answer["ended_signal"], answer["reason"]) == ("killed", "SIGTERM", "kill")
    box.wait_empty()
    assert cli.ok("remove", job)["state"] == "killed"


def test_watches_and_sinks_run_here(cli: Cli, box: FakeSsh, place: Path) -> None:
    told = place / "told"
    answer = cli.ok(
        *("run", "--host", "box", "--wait", "--watch", "ready (\\d+)", "--notify-file", str(told)),
        *("--notify-command", f"cat > {place}/command", "--", "echo ready 5; exit 2"),
    )
    job = answer["job_id"]
    box.wait_empty()
    hits = [one for one in cli.ok("events", job)["events"] if one["type"] == "watch_hit"]
    assert [one["line"] for one in hits] == ["ready 5"]
    assert told.read_text(encoding="utf-8").count('"job.finished"') == 1
    until(
        lambda: (place / "command").exists() and '"exit_code": 2' in (place / "command").read_text(), what="the command"
    )


def test_masked_values_travel_and_are_shown_nowhere(cli: Cli, box: FakeSsh) -> None:
    words = ("--env", "TOKEN=s3cret-token", "--mask", "TOKEN", "--", "echo the $TOKEN is")
    answer = cli.ok("run", "--host", "box", "--wait", *words)
    assert answer["output"] == "the ************ is\n"
    box.wait_empty()
    assert "s3cret" not in (cli.root / answer["job_id"] / "meta.json").read_text(encoding="utf-8")
    assert not any("s3cret" in call for call in box.calls)


def test_a_file_of_this_machine_as_stdin_is_refused(cli: Cli, box: FakeSsh) -> None:
    error = cli.error("run", "--host", "box", "--stdin", "@/etc/hostname", "--", "true", code="not_supported")
    assert "box" in error["message"] and not box.calls


@pytest.mark.usefixtures("system_path")  # what stands before the usual directories of a login shell stays first
@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_server_starts_and_follows_jobs_there(box: FakeSsh, mcp_connect: Callable[..., McpSession], cli: Cli) -> None:
    session = mcp_connect()
    started = session.ok("exec", command="echo hello; sleep 0.2; exit 4", host="box", yield_ms=30_000)
    assert started["exit_code"] == 4 and started["output"] == "hello\n" and started["host"] == "box"
    running = session.ok("exec", command="sleep 1000", host="box", background=True)
    assert session.ok("process", action="kill", job_id=running["job_id"])["state"] == "killed"
    box.wait_empty()


# --- what breaks ----------------------------------------------------------------------------------


def test_a_connection_that_breaks_costs_nothing(cli: Cli, box: FakeSsh) -> None:
    """Twelve connections break after a random number of bytes; what is here in the end is what was printed."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    box.cut_after(100_000, *(dice.randint(500, 60_000) for _ in range(12)))
    script = (
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; [ $((i % 50)) = 0 ] && echo e $i >&2; done; exit 7"
    )
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", script)["job_id"]
    answer = follow_to_end(cli, box, job)
    assert answer["exit_code"] == 7, f"seed {seed}"
    assert (cli.root / job / "stdout.log").read_text() == numbered(20_000), f"seed {seed}"
    assert (cli.root / job / "stderr.log").read_text() == "".join(f"e {n}\n" for n in range(50, 20_001, 50)), (
        f"seed {seed}"
    )
    kinds = [one["type"] for one in cli.ok("events", job)["events"]]
    assert kinds.count("started") == kinds.count("finished") == 1, f"seed {seed}"
    assert len(box.calls) > 3, "connections broke"


@pytest.mark.fault("H19")
def test_a_mirror_that_is_killed_is_started_by_the_next_reader(cli: Cli, box: FakeSsh) -> None:
    dice = random.Random(7)
    script = "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo line $i; done; read x; echo $x; exit 5"
    job = cli.ok("run", "--host", "box", "--stdin", "open", "--snapshot-after", "0", "--", script)["job_id"]
    for _ in range(4):
        os.kill(mirror_of(job), signal.SIGKILL)
        until(lambda: not is_held(cli, job), what="the lock is free")
        assert cli.ok("status", job)["state"] == "running"
        until(lambda: (cli.root / job / "stdout.log").stat().st_size > dice.randint(0, 30_000), what="some output")
    assert cli.ok("write", job, "--data", "done\n")["bytes_written"] == 5
    assert follow_to_end(cli, box, job)["exit_code"] == 5
    assert (cli.root / job / "stdout.log").read_text() == numbered(4_000) + "done\n"
    kinds = [one["type"] for one in cli.ok("events", job)["events"]]
    assert kinds.count("started") == kinds.count("finished") == 1


@pytest.mark.fault("H19")
@pytest.mark.slow
def test_a_long_run_is_exact_wherever_mirrors_die_and_connections_break(cli: Cli, box: FakeSsh, place: Path) -> None:
    """Its bytes go from the pipe of ssh into the log: a mirror holds none that could be lost."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    deaths = place / "deaths"
    deaths.touch()
    crash = {"OUTLIVE_CRASH_AT": "output_moved", "OUTLIVE_DEBUG_FILE": str(deaths)}
    script = f"until [ -e {place}/go ]; do sleep 0.1; done; seq -f 'line %.0f' 1000000; exit 7"
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", script)["job_id"]
    os.kill(mirror_of(job), signal.SIGKILL)
    (place / "go").touch()
    until(lambda: not is_held(cli, job), what="the lock is free")
    for died in range(1, 4):
        cli.ok("status", job, env=crash)  # starts the next one, which dies
        until(lambda: deaths.read_text().count("\n") == died and not is_held(cli, job), what="it has died")  # noqa: B023
    box.cut_after(*(dice.randint(70_000, 1_000_000) for _ in range(4)))
    assert follow_to_end(cli, box, job)["exit_code"] == 7, f"seed {seed}"
    assert (cli.root / job / "stdout.log").read_text() == numbered(1_000_000), f"seed {seed}"
    assert len(box.calls) > 4 + 4, "mirrors died and connections broke"


def test_a_look_at_a_job_does_not_wait_for_its_new_mirror(
    cli: Cli, box: FakeSsh, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--stdin", "open", "--", "read x; exit 3")["job_id"]
    os.kill(mirror_of(job), signal.SIGKILL)
    until(lambda: not is_held(cli, job), what="the mirror is dead")
    slow = place / "slow-python"
    slow.write_text(f'#!/bin/sh\nwhile [ ! -e {place}/go ]; do sleep 0.1; done\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(slow))
        store = Store.existing(str(cli.root))
        with JobDir.open(store, job) as found:
            seen = adoption.inspect_and_adopt(context(store, dict(os.environ)), found)
        store.close()
    assert seen.supervised and seen.state.state == "running" and not (place / "go").exists()
    (place / "go").touch()
    cli.ok("kill", job)
    box.wait_empty()


def test_a_mirror_that_was_killed_after_the_end_is_started_to_give_the_copy_there_back(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "sleep 1000 & echo $! > pid; exit 3")["job_id"]
    cli.ok("wait", job)
    os.kill(mirror_of(job), signal.SIGKILL)
    until(lambda: not is_held(cli, job), what="the lock is free")
    assert len(box.jobs()) == 1
    assert cli.ok("status", job)["exit_code"] == 3
    mirror_of(job)
    sleeper = int((box.home / "pid").read_text(encoding="utf-8"))
    os.kill(sleeper, signal.SIGKILL)
    box.wait_empty()


def test_while_the_host_is_out_of_reach_answers_say_so_and_requests_can_be_repeated(cli: Cli, box: FakeSsh) -> None:
    words = ("--host", "box", "--stdin", "open", "--snapshot-after", "0", "--")
    job = cli.ok("run", *words, "echo before; read x; echo after $x; exit 6")["job_id"]
    cli.ok("wait", job, "--until", "regex=before")
    box.down()
    found = until(lambda: (one := cli.ok("status", job)).get("reachable") is False and one, what="it is out of reach")
    assert found["state"] == "running" and found["unreachable_since"] and found["host"] == "box"
    assert cli.ok("tail", job)["stdout_tail"] == "before\n"
    for call in (("kill", job), ("write", job, "--data", "x\n")):
        error = cli.error(*call, code="io_error")
        assert error["retryable"] and "box" in error["message"] and "No route to host" in error["message"], error
    assert cli.ok("list", "--all")["jobs"][0]["reachable"] is False
    box.up()
    until(lambda: "reachable" not in cli.ok("status", job), what="it is back")
    kinds = [one["type"] for one in cli.ok("events", job)["events"]]
    assert kinds.count("unreachable") == kinds.count("reachable") == 1
    cli.ok("write", job, "--data", "all\n")
    assert cli.ok("wait", job)["exit_code"] == 6
    assert cli.ok("tail", job)["stdout_tail"] == "before\nafter all\n"
    box.wait_empty()


@pytest.mark.fault("H18")
def test_a_start_at_a_machine_that_drops_logins_waits_and_says_so(cli: Cli, box: FakeSsh) -> None:
    box.down(CROWDED)
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "echo here; exit 4")
    assert (job["state"], job["queue"]["state"], job["queue"]["reason"]) == ("created", "CONNECTING", CROWDED)
    assert cli.ok("status", job["job_id"])["queue"] == job["queue"]
    box.up()
    answer = follow_to_end(cli, box, job["job_id"])
    assert (answer["exit_code"], answer["output"]) == (4, "here\n") and "queue" not in answer
    kinds = [one["type"] for one in cli.ok("events", job["job_id"])["events"]]
    assert [kinds.count(kind) for kind in ("queued", "started", "finished")] == [1, 1, 1]


def test_kill_cancels_a_start_that_waits(cli: Cli, box: FakeSsh) -> None:
    box.down(CROWDED)
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "echo here")["job_id"]
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["ended_signal"], killed["reason"]) == ("failed", None, "kill")
    until(lambda: not is_held(cli, job), what="the mirror has let go")
    box.up()
    assert cli.ok("status", job)["message"] == "it was cancelled before it started; it never ran"
    assert cli.ok("remove", job)["ok"] and not box.jobs()


def test_only_a_few_log_in_at_once_and_a_killed_one_gives_its_turn_back(place: Path) -> None:
    waited: list[str] = []
    settings = HostSettings(target="box")
    held = [Turns(str(place), settings, lambda: waited.append("held")) for _ in range(AT_ONCE)]
    assert all(one.take() and one.take() for one in held)
    late = Turns(str(place), settings, lambda: waited.append("late"))
    assert not late.take() and waited == ["late"]
    other = Turns(str(place), HostSettings(target="another"), lambda: waited.append("other"))
    assert other.take()
    held.pop().give_back()
    assert late.take() and waited == ["late"]
    for one in (*held, late, other):
        one.give_back()


@pytest.mark.fault("H20")
def test_supervisor_and_guardian_that_are_killed_there_cost_nothing(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "echo one; sleep 2; echo two; sleep 1000")[
        "job_id"
    ]
    cli.ok("wait", job, "--until", "regex=one")
    pair.end_both(pair.supervisor(job))
    cli.ok("wait", job, "--until", "regex=two")
    until(lambda: "adopted" in [one["type"] for one in cli.ok("events", job)["events"]], what="the event")
    assert cli.ok("kill", job)["state"] in ("killed", "failed")
    box.wait_empty()


def test_a_job_whose_directory_vanished_there_is_lost_and_no_code_is_made_up(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "echo $$; exec sleep 1000")["job_id"]
    cli.ok("wait", job, "--until", "output")
    pid = int(cli.ok("tail", job)["stdout_tail"])
    with JobDir(str(box.root), job, os.open(box.root / job, os.O_RDONLY)):
        os.rename(box.root / job, box.place / "moved")
    box.cut_after(0)
    for connection in box.connections():
        os.kill(connection, signal.SIGKILL)
    answer = cli.ok("wait", job)
    assert (answer["state"], answer["reason"], answer["exit_code"]) == ("failed", "lost", None)
    assert "deleted" in answer["message"]
    os.kill(pid, signal.SIGKILL)


@pytest.mark.fault("H23")
def test_a_root_that_was_deleted_there_costs_its_jobs_and_no_later_ones(cli: Cli, box: FakeSsh) -> None:
    words = ("run", "--host", "box", "--snapshot-after", "5000", "--until", "output", "--")
    job = cli.ok(*words, "echo one; exec sleep 1000")
    shutil.rmtree(box.root)
    os.kill(job["pid"], signal.SIGKILL)
    answer = cli.ok("wait", job["job_id"])
    assert (answer["state"], answer["reason"], answer["exit_code"]) == ("failed", "lost", None)
    assert cli.ok("tail", job["job_id"])["stdout_tail"] == "one\n"
    assert cli.ok("run", "--host", "box", "--wait", "--", "exit 4")["exit_code"] == 4
    box.wait_empty()


@pytest.mark.fault("H22")
def test_a_disk_that_is_full_there_is_told_and_costs_no_exit_code(cli: Cli, box: FakeSsh, mount: Mounts) -> None:
    disk = mount(str(box.root.relative_to(box.place.parent)), "size=3m,mode=700")
    full = disk / ".full"
    full.write_bytes(bytes(3 << 20))
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    assert "No space left on device" in error["message"] and error["retryable"]
    assert cli.ok("list", "--all")["jobs"] == []
    full.unlink()
    words = ("run", "--host", "box", "--wait", "--", "head -c 9000000 /dev/zero | tr '\\0' x; exit 7")
    answer = cli.ok(*words)
    assert answer["exit_code"] == 7
    box.wait_empty()
    found = cli.ok("status", answer["job_id"])
    stored = (cli.root / answer["job_id"] / "stdout.log").stat().st_size
    assert found["dropped_bytes"] > 0 and stored + found["dropped_bytes"] == 9_000_000


def test_what_a_job_there_uses_is_asked_for_there_and_never_told_as_nothing(cli: Cli, box: FakeSsh) -> None:
    job = cli.ok("run", "--host", "box", "--snapshot-after", "0", "--", "echo one; sleep 1000 & exec sleep 1000")[
        "job_id"
    ]
    cli.ok("wait", job, "--until", "output")
    found = cli.ok("usage", job)["usage"]
    assert (found["processes"], found["output_bytes"], found["source"]["processes"]) == (2, 4, "sampled")
    assert found["user_ms"] is not None and found["memory_bytes"] > 0
    found = cli.ok("status", job)
    assert (found["descendants"], found["usage"]["processes"]) == (1, 2)
    mirrors = next(one for one in cli.ok("doctor")["checks"] if one["name"] == "processes")["details"]["mirrors"]
    assert mirrors >= 1
    box.down()
    found = until(lambda: (one := cli.ok("status", job)).get("reachable") is False and one, what="out of reach")
    assert found["descendants"] is None and found["usage"]["processes"] is None
    box.up()
    cli.ok("kill", job)
    box.wait_empty()
    found = cli.ok("usage", job)["usage"]
    assert found["processes"] == 0 and found["user_ms"] is not None


def test_a_new_version_deletes_older_ones_that_no_connection_uses(cli: Cli, box: FakeSsh) -> None:
    far = box.home / ".local/share/outlive/far"
    far.unlink()
    for name in ("0.1-old", "0.2-used", "0.1-half.77.tmp"):
        (far / name / "outlive").mkdir(parents=True)
    used = os.open(far / "0.2-used", os.O_RDONLY)
    fcntl.flock(used, fcntl.LOCK_SH)
    assert cli.ok("host", "setup", "box")["healthy"]
    os.close(used)
    assert {path.name for path in far.iterdir()} == {Bundle().name, "0.2-used"}


@pytest.mark.fault("H26")
def test_a_job_on_another_host_survives_the_kill_of_the_job_that_started_it(cli: Cli, box: FakeSsh) -> None:
    inner = f"{sys.executable} -m outlive run --host box --stdin open --snapshot-after 0 -- 'read x; exit 8'"
    outer = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", f"{inner}; touch started; sleep 1000")["job_id"]
    cli.ok("wait", outer, "--until", "file=started", "--timeout-ms", "50s")
    (job,) = job_ids(cli.root) - {outer}
    mirror = mirror_of(job)
    killed = cli.ok("kill", outer)
    assert (killed["state"], killed["survivors"]) == ("killed", [])
    pair.until_free(cli.root, outer)
    assert mirror_of(job) == mirror
    cli.ok("write", job, "--data", "x\n")
    assert follow_to_end(cli, box, job)["exit_code"] == 8


@pytest.mark.fault("H26")
def test_a_job_on_another_host_does_not_keep_the_job_lingering_that_started_it(cli: Cli, box: FakeSsh) -> None:
    inner = f"{sys.executable} -m outlive run --host box --stdin open --snapshot-after 0 -- 'read x; exit 8'"
    outer = cli.ok("run", "--wait", "--", "sh", "-c", f"{inner}; exit 2")
    assert (outer["exit_code"], outer.get("descendants", 0)) == (2, 0)
    pair.until_free(cli.root, outer["job_id"])
    (job,) = job_ids(cli.root) - {outer["job_id"]}
    cli.ok("write", job, "--data", "x\n")
    assert follow_to_end(cli, box, job)["exit_code"] == 8
