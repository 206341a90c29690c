"""What works without a sandbox works in one."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.store.job_dir import JobDir
from outlive.system import fault_points
from support import processes, tiers, wait
from support.cli import Cli
from support.serve import Served
from support.tiers import only
from support.ui import Visitor

INSIDE = ("--sandbox", "workspace-write")
Run = Callable[..., dict[str, Any]]
# One that a sandbox shows, if the system has any
PYTHON = next((path for path in ("/usr/bin/python3",) if os.path.exists(path)), os.path.realpath(sys.executable))


@pytest.fixture
def inside(cli: Cli, place: Path) -> Run:
    """Run a command in a sandbox, and return the answer at its end."""

    def run(*words: str, **how: Any) -> dict[str, Any]:
        return cli.ok("run", *INSIDE, "--wait", *words, cwd=place / "work", **how)

    return run


@pytest.mark.parametrize("code", [0, 3, 143, 255])
def test_an_exit_code_is_exact(inside: Run, code: int) -> None:
    answer = inside(f"exit {code}")
    assert (answer["state"], answer["exit_code"], answer["reason"]) == ("exited", code, "exit")


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV"])
def test_a_death_by_signal_is_one_and_no_exit_code(inside: Run, name: str) -> None:
    answer = inside(f"ulimit -c 0; kill -{name} $$")
    assert (answer["state"], answer["exit_code"], answer["signal"]) == ("killed", None, f"SIG{name}")


def test_both_streams_and_stdin_are_exact(inside: Run, cli: Cli, place: Path) -> None:
    data = bytes(range(256)) * 500
    (place / "work" / "data").write_bytes(data)
    answer = inside("--stdin", "@data", "cat; echo err >&2")
    assert Path(answer["stdout_log_path"]).read_bytes() == data
    assert Path(answer["stderr_log_path"]).read_bytes() == b"err\n"


def test_the_command_is_the_leader_of_its_session_and_inherits_three_files(inside: Run) -> None:
    answer = inside("ls /proc/$$/fd; ps -o pid=,sid=,pgid= -p $$")
    files, numbers = answer["output"].split()[:3], answer["output"].split()[3:]
    assert files == ["0", "1", "2"]
    assert len(set(numbers)) == 1


def test_a_program_that_is_missing_fails_as_without_a_sandbox(inside: Run) -> None:
    answer = inside("--", "no-such-program", "x")
    assert (answer["state"], answer["reason"], answer["errno"]) == ("failed", "launch", "ENOENT")


def test_a_script_without_an_interpreter_line_is_run_by_sh(inside: Run, place: Path) -> None:
    script = place / "work" / "script"
    script.write_text('echo "$0 $1"')
    script.chmod(0o755)
    assert inside("--", "./script", "argument")["output"] == "./script argument\n"


def test_term_reaches_the_command_and_its_handler(cli: Cli, place: Path) -> None:
    script = 'trap "echo caught; exit 7" TERM; echo ready; while :; do sleep 0.05; done'
    job = cli.ok("run", *INSIDE, "--snapshot-after", "0", script, cwd=place / "work")["job_id"]
    cli.ok("wait", job, "--until", "regex=ready")
    killed = cli.ok("kill", job)
    assert (killed["exit_code"], killed["reason"], killed["survivors"]) == (7, "kill", [])
    assert "caught\n" in cli.ok("log", job)["output"]


def test_kill_ends_what_hides_from_it(cli: Cli, place: Path) -> None:
    hidden = "env -i setsid bash -c 'printf holdfast > /proc/self/comm; trap \"\" TERM HUP; while :; do read -t 9 < /dev/zero; done' &"
    job = cli.ok("run", *INSIDE, "--snapshot-after", "0", f"{hidden} echo up; sleep 1000", cwd=place / "work")["job_id"]
    cli.ok("wait", job, "--until", "regex=up")
    command = cli.ok("status", job)["pid"]
    first = processes.parent(command)
    assert cli.ok("kill", job, "--grace-ms", "200", "--wait-ms", "20000")["survivors"] == []
    wait.until(lambda: not processes.is_alive(first), what="the end of the sandbox")


def test_what_it_leaves_behind_lingers_and_is_killed(cli: Cli, place: Path) -> None:
    answer = cli.ok("run", *INSIDE, "--wait", "sleep 1000 & exit 4", cwd=place / "work")
    assert (answer["exit_code"], answer["descendants"]) == (4, 1)
    killed = cli.ok("kill", answer["job_id"])
    assert killed["survivors"] == []
    wait.until(lambda: cli.ok("status", answer["job_id"])["descendants"] == 0)


def test_a_job_that_waits_for_input_is_seen_to(cli: Cli, place: Path) -> None:
    job = cli.ok("run", *INSIDE, "--stdin", "open", "--snapshot-after", "0", "read x; echo got $x", cwd=place / "work")
    cli.ok("wait", job["job_id"], "--until", "input", "--timeout-ms", "20000")
    cli.ok("write", job["job_id"], "--data", "hello\n")
    assert cli.ok("wait", job["job_id"])["exit_code"] == 0
    assert cli.ok("log", job["job_id"])["output"] == "got hello\n"


def test_a_terminal_is_the_commands_own(cli: Cli, place: Path) -> None:
    script = 'tty; echo typed > /dev/tty; stty size; trap "echo int; exit 3" INT; read x'
    job = cli.ok("run", *INSIDE, "--pty", "--snapshot-after", "0", script, cwd=place / "work")["job_id"]
    cli.ok("wait", job, "--until", "input", "--timeout-ms", "20000")
    cli.ok("send-keys", job, "C-c")
    assert cli.ok("wait", job)["exit_code"] == 3
    shown = cli.ok("log", job)["output"]
    assert "typed\n" in shown and "30 120\n" in shown and "int\n" in shown


@pytest.mark.parametrize(
    "point",
    only(
        {"start_spawned", "end_seen"}.__contains__,
        ["start_spawned", "start_recorded", "end_seen", "end_written", "end_reaped"],
    ),
)
def test_a_takeover_loses_neither_output_nor_outcome(cli: Cli, place: Path, point: str) -> None:
    script = "echo one; sleep 0.3; echo two; kill -USR1 $$"
    answer = cli.ok(
        "run", *INSIDE, "--snapshot-after", "0", script, cwd=place / "work", env={"OUTLIVE_CRASH_AT": point}
    )
    ended = cli.ok("wait", answer["job_id"], "--timeout-ms", "30000")
    assert (ended["state"], ended.get("signal")) == ("killed", "SIGUSR1")
    assert cli.ok("log", answer["job_id"])["output"] == "one\ntwo\n"


def test_adoption_finds_the_exact_end(cli: Cli, place: Path) -> None:
    script = "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 143"
    answer = cli.ok("run", *INSIDE, "--snapshot-after", "0", script, cwd=place / "work")
    job = answer["job_id"]
    cli.ok("wait", job, "--until", "regex=one")
    supervisor = json.loads((cli.root / job / "state.json").read_text())["supervisor"]["pid"]
    for pid in (processes.parent(supervisor), supervisor):
        os.kill(pid, signal.SIGKILL)
    assert cli.ok("status", job)["state"] == "running"
    (place / "work" / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 143
    assert cli.ok("log", job)["output"] == "one\ntwo\n"


def test_notifications_run_in_the_sandbox_of_their_job(cli: Cli, place: Path) -> None:
    outside = place / "outside"
    command = f"cat > told; touch {outside}; ls {cli.root} > seen 2>&1; echo done > last"
    cli.ok("run", *INSIDE, "--wait", "--notify-command", command, "--notify-file", "line", "true", cwd=place / "work")
    wait.until((place / "work" / "last").exists)
    assert json.loads((place / "work" / "told").read_text())["event_type"] == "job.finished"
    assert json.loads((place / "work" / "line").read_text())["event_type"] == "job.finished"
    assert not outside.exists() and "No such file" in (place / "work" / "seen").read_text()


@pytest.mark.parametrize("how", ["--notify-command", "--watch-command"])
def test_what_a_notification_command_leaves_behind_ends_with_it(cli: Cli, place: Path, how: str) -> None:
    """It would go on when the directories of the job have been searched for the last time."""
    work = place / "work"
    command = "setsid sh -c 'touch begun; sleep 1000' & until [ -e begun ]; do sleep 0.05; done; exit 7"
    watch = ("--watch", "hit") if how == "--watch-command" else ()
    job = cli.ok("run", *INSIDE, "--wait", *watch, how, command, "echo hit", cwd=work)["job_id"]
    wait.until(lambda: "exited with code 7" in str(cli.ok("events", job)), what="it has ended")
    assert (work / "begun").exists()
    assert not processes.of(work)


def test_restart_keeps_the_sandbox(cli: Cli, place: Path) -> None:
    job = cli.ok("run", *INSIDE, "--network", "none", "--wait", "touch /usr/outside", cwd=place / "work")
    again = cli.ok("restart", job["job_id"], "--wait", cwd=place / "work")
    assert again["sandbox"] == {"mode": "workspace-write", "network": "none", "git": "read"}
    assert again["exit_code"] == 1


def test_a_sandbox_that_cannot_be_set_up_runs_nothing(cli: Cli, place: Path) -> None:
    broken = place / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    broken.chmod(0o755)
    answer = cli.run("run", *INSIDE, "touch ran", cwd=place / "work", env={"OUTLIVE_SANDBOX_BWRAP": str(broken)})
    assert answer["error"]["code"] == "sandbox_unavailable"
    assert "no namespaces here" in answer["error"]["message"]
    assert not (place / "work" / "ran").exists()
    assert cli.ok("list", "--all")["jobs"] == []


def test_nothing_goes_on_of_a_sandbox_that_is_told_to_be_unavailable(cli: Cli, place: Path) -> None:
    broken, left = place / "bwrap", place / "left"
    broken.write_text(
        f"#!/bin/sh\nsh -c 'echo $$ > {left}.new; mv {left}.new {left}; exec sleep 600' &\n"
        f"while [ ! -e {left} ]; do :; done\nexit 1\n"
    )
    broken.chmod(0o755)
    answer = cli.run("run", *INSIDE, "true", cwd=place / "work", env={"OUTLIVE_SANDBOX_BWRAP": str(broken)})
    assert answer["error"]["code"] == "sandbox_unavailable"
    wait.until(lambda: not processes.is_alive(int(left.read_text())), what="the end of what it left")


def test_a_bubblewrap_that_is_missing_is_named_with_how_to_get_it(cli: Cli, place: Path) -> None:
    answer = cli.run("run", *INSIDE, "true", cwd=place / "work", env={"OUTLIVE_SANDBOX_BWRAP": "/nowhere/bwrap"})
    assert answer["error"]["code"] == "sandbox_unavailable"
    assert "install bubblewrap" in answer["error"]["hint"]


def test_the_bubblewrap_of_the_package_works(cli: Cli, place: Path, wheel: Path) -> None:
    path = str(wheel / "_bin" / "bwrap")
    answer = cli.ok("run", *INSIDE, "--wait", "exit 5", cwd=place / "work", env={"OUTLIVE_SANDBOX_BWRAP": path})
    assert answer["exit_code"] == 5


def test_a_port_of_its_own_loopback_is_waited_for(cli: Cli, place: Path) -> None:
    script = f"{PYTHON} -c \"import socket, time; s = socket.create_server(('127.0.0.1', 4711)); time.sleep(999)\""
    job = cli.ok("run", *INSIDE, "--snapshot-after", "0", script, cwd=place / "work")["job_id"]
    fired = cli.ok("wait", job, "--until", "port=4711", "--timeout-ms", "30000")["fired"]
    assert (fired["condition"], fired["owned"]) == ("port", True)
    refused = cli.run("wait", job, "--until", "http=http://127.0.0.1:4711/")
    assert refused["error"]["code"] == "invalid_argument"
    cli.ok("kill", job)


def test_a_default_is_the_ceiling_unless_one_is_set(cli: Cli, place: Path) -> None:
    def code(*flags: str, **settings: str) -> str:
        env = {f"OUTLIVE_SANDBOX_{name.upper()}": value for name, value in settings.items()}
        answer = cli.run("run", "--wait", *flags, "true", cwd=place / "work", env=env).json
        return str(answer["error"]["code"] if "error" in answer else answer.get("sandbox", {}).get("mode", "off"))

    assert code(mode="workspace-write") == "workspace-write"
    assert code("--sandbox", "read-only", mode="workspace-write") == "read-only"
    assert code("--sandbox", "off", mode="workspace-write") == "denied"
    assert code("--elevated", mode="workspace-write") == "denied"
    assert code("--elevated", mode="workspace-write", ceiling="off") == "off"
    assert code("--network", "open", mode="workspace-write") == "denied"
    assert code("--network", "none") == "invalid_argument"
    assert code(ceiling="read-only") == "read-only"


def test_a_stored_job_gives_its_caller_no_more_than_the_ceiling(cli: Cli, place: Path) -> None:
    work = place / "work"
    free = cli.ok("run", "--wait", "true", cwd=work)["job_id"]
    made = cli.ok("create", "true", cwd=work)["job_id"]
    limited = {"OUTLIVE_SANDBOX_MODE": "read-only"}
    for words in (("restart", free), ("start", made), ("notify", "set", free, "--command", "true")):
        assert cli.run(*words, cwd=work, env=limited)["error"]["code"] == "denied"


def test_a_job_outside_of_what_its_caller_may_write_is_not_restarted(cli: Cli, place: Path) -> None:
    other = place / "other"
    other.mkdir()
    job = cli.ok("run", *INSIDE, "--wait", "true", cwd=other)["job_id"]
    limited = {"OUTLIVE_SANDBOX_MODE": "workspace-write"}
    assert cli.run("restart", job, cwd=place / "work", env=limited)["error"]["code"] == "denied"
    assert cli.ok("restart", job, "--wait", cwd=other, env=limited)["exit_code"] == 0


def test_sinks_stay_where_the_job_may_write(cli: Cli, place: Path) -> None:
    work = place / "work"
    for flags in (("--notify-file", "../file"), ("--watch", "x", "--watch-file", ".git/hooks/post-commit")):
        answer = cli.run("run", "--sandbox", "read-only", *flags, "true", cwd=work)
        assert answer["error"]["code"] == "denied"
    script = f"rm -rf out; ln -s {place}/target out"
    (place / "target").mkdir()
    job = cli.ok("run", *INSIDE, "--wait", "--notify-file", "out/file", script, cwd=work)["job_id"]
    event = wait.until(lambda: [e for e in cli.ok("events", job)["events"] if e["type"].startswith("notif")])
    assert event[0].get("error", "").startswith("ELOOP") or event[0].get("error", "").startswith("EROFS")
    assert list((place / "target").iterdir()) == []


def test_a_token_limits_the_jobs_of_its_client(serve: Callable[..., Served], place: Path) -> None:
    served = serve()
    secret = served.token("held", "--sandbox", "workspace-write", "--workdir", str(place / "work"))
    found = served.tool("exec", token=secret, command="touch here && ! touch /usr/there")
    assert (found["exit_code"], found["sandbox"]) == (
        0,
        {"mode": "workspace-write", "network": "loopback", "git": "read"},
    )
    for arguments in ({"sandbox": "off"}, {"elevated": True}, {"network": "open"}):
        assert served.tool("exec", token=secret, command="true", **arguments)["error"]["code"] == "denied"


def test_a_client_in_a_sandbox_types_into_no_shell_outside(cli: Cli, serve: Callable[..., Served], place: Path) -> None:
    served = serve()
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "sh", cwd=place / "work")["job_id"]
    secret = served.token("held", "--sandbox", "workspace-write", "--scope", "*")
    written = {"action": "write", "job_id": job, "data": "touch written\n"}
    assert served.tool("process", token=secret, **written)["error"]["code"] == "denied"
    free = served.token("free", "--scope", "*")
    assert served.tool("process", token=free, **written)["ok"]
    wait.until((place / "work" / "written").exists)
    cli.ok("kill", job)


def test_a_client_without_the_network_has_nothing_asked_for_it(
    cli: Cli, serve: Callable[..., Served], place: Path
) -> None:
    """The server asks for ports, servers and files of a condition, and it is in no sandbox."""
    served = serve()
    work = place / "work"
    (work / "link").symlink_to(place / "secret")
    secret = served.token("held", "--sandbox", "workspace-write", "--workdir", str(work), "--scope", "*")
    free = served.token("free", "--scope", "*")
    outside = cli.ok("run", "--snapshot-after", "0", "sleep", "300", cwd=work)["job_id"]
    inside = served.tool("exec", token=secret, command="sleep 300", background=True)["job_id"]
    url, port = f"{served.base}/", served.address[1]
    forbidden: list[Any] = [
        {"http": url},
        {"http": "http://192.0.2.1/"},
        {"file": "/etc/shadow"},
        {"file": "/root/.ssh/id_rsa"},
    ]
    forbidden += [{"file": str(place / "jobs" / outside / "meta.json")}, {"file": "/tmp/../etc/shadow"}, "http=" + url]
    asked = [
        *((inside, one) for one in forbidden),
        (outside, {"port": port}),
        (outside, {"port": 80, "host": "192.0.2.1"}),
    ]
    for job, one in asked:
        how = {"action": "wait", "job_id": job, "until": [one], "timeout_ms": 0}
        answer = served.tool("process", token=secret, **how)
        assert answer.get("error", {}).get("code") == "denied" and answer["error"]["hint"], (one, answer)
    started = served.tool("exec", token=secret, command="touch started", until=[{"http": url}])
    assert started["error"]["code"] == "denied" and not (work / "started").exists(), "and nothing was started"
    for one in ({"http": url}, {"file": "/etc/shadow"}, {"file": "made"}):
        waits = served.tool("exec", token=secret, command="touch started", after=[{"job": inside, **one}])
        assert waits["error"]["code"] == "denied" and not (work / "started").exists(), one
    for job, one in ((outside, {"port": port, "any": True}), (outside, {"http": url, "status": 401, "any": True})):
        how = {"action": "wait", "job_id": job, "until": [one], "timeout_ms": 30_000}
        assert served.tool("process", token=free, **how)["fired"], one
    (place / "secret").write_text("made later")
    until = {"action": "wait", "job_id": inside, "timeout_ms": 0}
    assert not served.tool("process", token=secret, **until, until=[{"file": "made"}])["fired"]
    assert not served.tool("process", token=secret, **until, until=[{"port": port}])["fired"], "of its own network"
    (work / "made").write_text("")
    assert served.tool("process", token=secret, **until, until=[{"file": "made"}])["fired"]
    for job in (outside, inside):
        cli.ok("kill", job)


def test_a_file_that_becomes_a_link_out_of_the_sandbox_is_not_looked_at(
    cli: Cli, serve: Callable[..., Served], place: Path
) -> None:
    served = serve()
    work = place / "work"
    secret = served.token("held", "--sandbox", "workspace-write", "--workdir", str(work), "--scope", "*")
    script = "ln -s /etc/shadow turns; echo turned; sleep 300"
    job = served.tool("exec", token=secret, command=script, until=[{"file": "turns"}, {"regex": "turned"}])
    assert job["fired"]["condition"] == "regex"
    how = {"action": "wait", "job_id": job["job_id"], "timeout_ms": 0, "until": [{"file": "turns"}]}
    assert served.tool("process", token=secret, **how)["error"]["code"] == "denied"
    cli.ok("kill", job["job_id"])


def test_a_client_in_a_sandbox_touches_no_terminal_outside(cli: Cli, serve: Callable[..., Served], place: Path) -> None:
    served = serve()
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "sh", cwd=place / "work")["job_id"]
    workdir = str(place / "work")
    secret = served.token("held", "--sandbox", "workspace-write", "--workdir", workdir, "--scope", "*")
    acts: dict[str, dict[str, Any]] = {
        "write": {"data": "x"}, "send-keys": {"keys": ["C-c"]}, "submit": {}, "paste": {"text": "x"},
        "resize": {"cols": 40, "rows": 10},
    }  # fmt: skip
    for action, given in acts.items():
        answer = served.tool("process", token=secret, action=action, job_id=job, **given)
        assert answer["error"]["code"] == "denied", action
    with Visitor(served.base, secret) as visitor:
        status, error = visitor.refused("keyboard", job_id=job, tab="one", take=True, size=[40, 10])
        assert (status, error["code"]) == (403, "denied")
    found = cli.ok("screen", job)
    assert (found["cols"], "keyboard" in found) == (120, False)
    own = served.tool("exec", token=secret, command="sleep 300", pty=True, background=True)
    mine = {"action": "resize", "job_id": own["job_id"], "cols": 40, "rows": 10}
    assert served.tool("process", token=secret, **mine)["cols"] == 40
    for one in (job, own["job_id"]):
        cli.ok("kill", one)


def _is_left_alone(root: Path, job: str) -> bool:
    """Return whether no process has the job but an adopter that lives on. The `run` that started the job may be fast
    enough to find both supervisors dead, and starts one."""
    with JobDir(str(root), job, os.open(root / job, os.O_RDONLY | os.O_DIRECTORY)) as found:
        state = found.read_state()
        return not found.is_supervised() or (state is not None and state.adopted > 0)


STARTING = [point for point in fault_points.POINTS if point.startswith("start_") and point != "start_taken"]


@pytest.mark.parametrize("first", tiers.first(2, STARTING))
def test_both_supervisors_killed_while_a_sandbox_starts_leave_a_whole_job_or_nothing(
    cli: Cli, place: Path, first: str
) -> None:
    work = place / "work"
    script = "echo run >> ran; echo one; until [ -e go ]; do sleep 0.1; done; echo two; exit 143"
    second = "guardian:takeover_seen" if first != "start_marked" else "guardian:start_spawned"
    crash = {"OUTLIVE_CRASH_AT": f"{first},{second}", "OUTLIVE_DEBUG_FILE": str(place / "crashes")}
    cli.text("run", *INSIDE, "--snapshot-after", "0", script, cwd=work, env=crash)
    wait.until(lambda: (place / "crashes").read_text().split()[:2] == [first, second], what="both deaths")
    jobs = [name for name in os.listdir(cli.root) if not name.startswith(".")]
    wait.until(lambda: all(_is_left_alone(cli.root, job) for job in jobs), what="the end of all that is to die")
    deaths = (place / "crashes").read_text().split()
    # An adopter writes the identity too, and was started by a caller for which that is deadly
    assert deaths == [first, second] * (len(deaths) // 2 if first == "start_unrecorded" else 1)
    found = cli.ok("list", "--all")["jobs"]
    (work / "go").touch()
    for job in [cli.ok("wait", one["job_id"]) for one in found]:
        if (work / "ran").exists():
            assert (job["state"], job["exit_code"]) == ("exited", 143)
            assert cli.ok("log", job["job_id"])["output"] == "one\ntwo\n"
        else:
            assert (job["state"], job["exit_code"]) == ("failed", None)
    assert (work / "ran").exists() == (first in {"start_marked", "start_spawned", "start_unrecorded", "start_recorded"})
    assert not (work / "ran").exists() or (work / "ran").read_text() == "run\n"


def test_a_commit_that_the_sandbox_refuses_is_answered_with_what_allows_it(cli: Cli, place: Path) -> None:
    work = place / "work"
    script = "git init -q . 2>/dev/null; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
    assert cli.ok("run", "--wait", script, cwd=work)["exit_code"] == 0
    hint = cli.ok("run", "--wait", "--sandbox", "workspace-write", script, cwd=work)["hint"]
    assert hint == 'The sandbox keeps .git read-only; git = "write" lets a job change it.'
    inside = ("--sandbox", "workspace-write", "--git", "write")
    assert cli.ok("run", "--wait", *inside, script, cwd=work)["exit_code"] == 0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo x > /usr/new", "a job writes below {work}, and nowhere else"),
        ("cat /var/lib/dpkg/status", "it does not show /var/lib/dpkg/status."),
        ("cat ~/.ssh/known_hosts", "/.ssh/known_hosts."),
        (f"{PYTHON} -c 'import socket; socket.create_connection((\"127.0.0.1\", 9), 5)'", 'network = "open" opens it'),
        ("unshare --user true", "nothing in it has rights of root"),
    ],
)
def test_a_failure_that_the_sandbox_may_have_caused_is_answered_with_what_it_forbids(
    cli: Cli, place: Path, command: str, says: str
) -> None:
    work = place / "work"
    answer = cli.ok("run", "--wait", "--sandbox", "workspace-write", command, cwd=work)
    assert answer["exit_code"]
    assert answer["hint"].startswith("The sandbox may be the cause: ")
    assert says.format(work=work) in answer["hint"]


def test_a_file_that_is_gone_with_the_sandbox_is_told_of(cli: Cli, place: Path) -> None:
    command = "echo x > ~/not-kept && cat ~/not-kept"
    inside = cli.ok("run", "--wait", "--sandbox", "workspace-write", command, cwd=place / "work")
    assert inside["output"] == "x\n"
    assert "is the sandbox's own: empty when it starts, gone when it ends." in inside["hint"]
    assert not Path("~/not-kept").expanduser().exists()


@pytest.mark.parametrize("command", ["echo x | tee /tmp/kept", "cd /tmp && touch kept", "touch /dev/shm/kept"])
def test_that_a_file_is_gone_is_told_of_a_command_that_succeeds_and_beside_whose_code_it_is(
    cli: Cli, work: Path, command: str
) -> None:
    inside = cli.ok("run", "--wait", "--sandbox", "read-only", f"{command}; true; echo done", cwd=work)
    assert inside["exit_code"] == 0
    assert inside["hint"].startswith("Exit code 0 is that of `echo`, not of the commands before it. /")
    assert inside["hint"].endswith(" is the sandbox's own: empty when it starts, gone when it ends.")


def test_the_sandbox_is_named_where_a_pipeline_hides_the_failure(cli: Cli, work: Path) -> None:
    command = "sh -c 'echo curl: \\(6\\) Could not resolve host: x; exit 6' | head"
    answer = cli.ok("run", "--wait", "--sandbox", "read-only", "--network", "none", command, cwd=work)
    assert answer["exit_code"] == 0
    assert answer["hint"].startswith("Exit code 0 is that of `head`; `sh` may have failed")
    assert "The sandbox may be the cause: it reaches no network." in answer["hint"]
