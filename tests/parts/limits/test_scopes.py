"""Jobs in scopes of their own. What makes a scope is a stand-in here; what ends a control group is the kernel."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.jobs.starting.plan import Plan, Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.launch import from_cli
from outlive.parts.limits import scope
from outlive.store.root import Store
from support import pair, processes
from support.cli import Cli, Jobs, environment
from support.commands import GATE
from support.contexts import context_of
from support.jobs import job_ids
from support.mcp_client import RawMcp
from support.preloaded import OUTLIVE
from support.systemd import Standin
from support.tiers import first
from support.wait import until

UNIFIED = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")


@pytest.fixture
def systemd(place: Path) -> Standin:
    return Standin(place / "standin")


# --- how it is asked for -------------------------------------------------------------------------------------------


ASKED = {  # words of the command line, the environment, the configuration file
    "flag": (["--systemd-scope"], {}, ""),
    "variable": ([], {"OUTLIVE_EXEC_SYSTEMD_SCOPE": "1"}, ""),
    "file": ([], {}, "systemd_scope = true"),
}


@pytest.mark.parametrize("way", first(2, ASKED))
def test_a_job_is_started_through_a_scope_of_its_own_where_that_is_asked_for(
    cli: Cli, place: Path, systemd: Standin, way: str
) -> None:
    words, variables, line = ASKED[way]
    words = [*words, "--config", systemd.config(place, line)] if line else words
    env = {**systemd.env, **variables, "SECRET": "s3cret"}
    found = cli.ok("run", "--wait", *words, "echo in; echo to >&2; exit 5", env=env)
    assert (found["exit_code"], sorted(found["output"].split())) == (5, ["in", "to"])
    assert "--scope" in systemd.words and "--collect" in systemd.words
    assert f"--unit=outlive-{found['job_id']}.scope" in systemd.words
    assert ("--user" in systemd.words) == (os.geteuid() != 0)
    assert "SECRET" not in systemd.environment, "the job's environment travels in its request"
    assert not any("echo" in word for word in systemd.words)


def test_no_scope_is_the_default_and_a_flag_goes_before_the_configuration(
    cli: Cli, place: Path, systemd: Standin
) -> None:
    assert cli.ok("run", "true", env=systemd.env)["exit_code"] == 0
    words = ("run", "--config", systemd.config(place), "--no-systemd-scope", "true")
    assert cli.ok(*words, env=systemd.env)["exit_code"] == 0
    assert not systemd.called


def test_a_created_job_and_a_repeated_one_get_scopes_too(cli: Cli, systemd: Standin) -> None:
    job_id = cli.ok("create", "--systemd-scope", "exit 6")["job_id"]
    assert cli.ok("start", "--wait", job_id, env=systemd.env)["exit_code"] == 6
    assert f"--unit=outlive-{job_id}.scope" in systemd.words
    again = cli.ok("restart", "--wait", job_id, env=systemd.env)
    assert again["exit_code"] == 6
    assert f"--unit=outlive-{again['job_id']}.scope" in systemd.words


@pytest.mark.usefixtures("system_path")  # what stands before the usual directories of a login shell stays first
def test_a_server_starts_its_jobs_through_scopes_and_no_tool_call_changes_that(
    raw_mcp: Callable[..., RawMcp], systemd: Standin
) -> None:
    server = raw_mcp(env=systemd.env | {"OUTLIVE_EXEC_SYSTEMD_SCOPE": "1"})
    calls = {code: server.begin_call("exec", command=f"echo {code}; exit {code}") for code in (3, 4)}
    for code, call in calls.items():
        found = server.tool_answer(call)
        assert (found["exit_code"], found["output"]) == (code, f"{code}\n")
    assert systemd.called
    error = server.call("exec", command="true", scope="none")["error"]
    assert error["code"] == "invalid_argument"


def test_stdin_terminal_and_writing_work_in_a_scope(cli: Cli, systemd: Standin) -> None:
    found = cli.ok("run", "--wait", "--systemd-scope", "--stdin", "-", "wc -c", input="12345", env=systemd.env)
    assert found["output"].strip() == "5"
    words = ("run", "--wait", "--systemd-scope", "--pty", "test -t 0 && echo terminal")
    assert cli.ok(*words, env=systemd.env)["output"].strip() == "terminal"


def test_nothing_of_the_start_is_left_and_the_pair_is_nobodys_child(cli: Cli, systemd: Standin, work: Path) -> None:
    job_id = cli.ok("run", "--snapshot-after", "0", "--systemd-scope", GATE, env=systemd.env)["job_id"]
    guardian = pair.guardian(job_id)
    assert processes.parent(guardian) != os.getpid()
    assert not [pid for pid in processes.children() if pid]
    (work / "go").touch()
    assert cli.ok("wait", job_id)["exit_code"] == 0


# --- where there is no systemd -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("echo Failed to start transient scope unit: Access denied >&2; exit 1", "Access denied"),
        ("exit 1", "without a word"),
        ("kill -KILL $$", "without a word"),
    ],
)
def test_a_scope_that_cannot_be_made_is_an_error_and_nothing_ran(
    cli: Cli, root: Path, work: Path, systemd: Standin, act: str, said: str
) -> None:
    systemd.acts(act)
    error = cli.error("run", "--systemd-scope", "touch ran", code="launch_failed", env=systemd.env)
    assert said in error["message"] and "--no-systemd-scope" in error["hint"]
    assert job_ids(root) == set() and os.listdir(root / ".live") == []
    assert not (work / "ran").exists()
    job_id = cli.ok("create", "--systemd-scope", "touch ran")["job_id"]
    cli.error("start", job_id, code="launch_failed", env=systemd.env)
    assert cli.ok("status", job_id)["state"] == "created"
    systemd.acts("")
    assert cli.ok("start", "--wait", job_id, env=systemd.env)["exit_code"] == 0
    assert (work / "ran").exists()


def test_without_systemd_run_the_error_says_so(cli: Cli, root: Path, place: Path) -> None:
    (place / "bin").mkdir()
    for name in ("sh", "touch"):
        (place / "bin" / name).symlink_to(f"/bin/{name}")
    error = cli.error("run", "--systemd-scope", "touch x", code="launch_failed", env={"PATH": str(place / "bin")})
    assert "systemd-run cannot be run" in error["message"]
    assert job_ids(root) == set()


def test_a_caller_that_gives_up_waiting_for_its_scope_leaves_nothing(
    cli: Cli, root: Path, work: Path, systemd: Standin
) -> None:
    systemd.acts(f"touch {work}/asked; {GATE}")
    with cli.spawn("run", "--systemd-scope", "touch ran", env=systemd.env) as call:
        until(lambda: (work / "asked").exists() and processes.state(call.pid) == "S", what="a caller that waits")
        call.send_signal(2)
        assert call.wait(60) == 130
    assert job_ids(root) == set()
    (work / "go").touch()
    assert not (work / "ran").exists()


def test_an_interrupt_before_the_pid_of_its_scope_is_known_leaves_nothing(
    root: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scope, "Launcher", interrupted)
    with contextlib.closing(Store.open(str(root), os.environ)) as store:
        ctx = context_of(store, env=dict(os.environ), launcher=from_cli.Launcher(), shell_words=("sh", "-c"))
        definition: Definition = Definition(
            job_id=new_id(), root=store.path, cwd=str(work), command=["touch", "ran"], systemd_scope=True
        )
        plan = Plan(definition=definition, overrides={})
        with pytest.raises(KeyboardInterrupt):
            StartCall(Timing(yield_ms=0)).run(ctx, plan)
    assert job_ids(root) == set() and os.listdir(root / ".live") == []


STARTS = """
import resource
from outlive.launch import fork_server_client
from outlive.parts.limits import scope
from outlive.system import fds

fork_server_client.start().close()  # keeps an archive of the code
before = fds.open_fds()
for count in range(1, 8):
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[-1] + count, 100))
    try:
        scope.Launcher("job", {"PATH": "/nowhere"}).close()
    except OSError:
        pass
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    assert fds.open_fds() == before, count
"""


def test_a_start_in_a_scope_for_which_files_are_missing_leaves_none_open() -> None:
    subprocess.run([sys.executable, "-c", STARTS], check=True, timeout=60)


# --- what a scope is for -------------------------------------------------------------------------------------------


@pytest.fixture
def groups() -> Iterator[Callable[[str], Path]]:
    """`groups(name)` makes a control group of version 2; all are ended and removed afterwards."""
    base = next((Path(place) for place in UNIFIED if (Path(place) / "cgroup.controllers").exists()), None)
    if base is None:
        pytest.skip("no control groups of version 2 here")
    own = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "/")
    base = base / own.strip().lstrip("/")
    made: list[Path] = []

    def make(name: str) -> Path:
        path = base / f"outlive-test-{os.getpid()}-{name}"
        try:
            path.mkdir()
        except OSError as error:
            pytest.skip(f"no control group can be made in {base}: {error.strerror}")
        made.append(path)
        return path

    yield make
    for path in filter(Path.exists, made):
        with contextlib.suppress(OSError):
            (path / "cgroup.kill").write_text("1")
        until(lambda path=path: not (path / "cgroup.procs").read_text(), what=f"the end of {path}")
        path.rmdir()


def _in_group(group: Path, *words: str) -> list[str]:
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *words]


@pytest.mark.fault("F51", "F52")
def test_what_ends_a_whole_group_takes_jobs_along_and_says_so_unless_they_have_scopes(
    cli: Cli, jobs: Jobs, place: Path, work: Path, systemd: Standin, groups: Callable[[str], Path]
) -> None:
    service, scope = groups("service"), groups("scope")
    if not (service / "cgroup.kill").exists():
        pytest.skip("this kernel ends no whole group (cgroup.kill, Linux 5.14)")
    systemd.acts(f'echo $$ > "{scope}/cgroup.procs" || exit 1')
    ids = {}
    for name, flags in (("systemd", ["--systemd-scope"]), ("none", [])):
        words = ["run", "--snapshot-after", "0", *flags, f"echo up; {GATE}; echo on; exit 3"]
        done = subprocess.run(
            _in_group(service, *OUTLIVE, *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(systemd.env),
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        ids[name] = json.loads(done.stdout)["job_id"]
    cli.ok("wait", ids["none"], "--until", "output", "--timeout-ms", "50s")
    assert pair.supervisor(ids["systemd"]) in [int(pid) for pid in (scope / "cgroup.procs").read_text().split()]
    (service / "cgroup.kill").write_text("1")
    until(lambda: not (service / "cgroup.procs").read_text(), what="the end of the service")
    service.rmdir()  # as systemd does
    (work / "go").touch()
    ended = cli.ok("wait", ids["systemd"], "--timeout-ms", "50s")
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("exited", 3, "up\non\n")
    lost = cli.ok("status", ids["none"])
    assert (lost["state"], lost["reason"]) == ("failed", "lost")
    assert f"{service.name} in which it ran has ended since" in lost["message"]
    jobs.end()
