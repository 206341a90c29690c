"""Every point at which a process of ours may be killed, one by one: nothing ran, or the job is whole; never a second run."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.launch import fork_server_client
from outlive.store.root import Store
from outlive.system import fault_points, fds, tree
from support import pair
from support.cli import Cli, Text, answer_of, one_object
from support.contexts import context_of
from support.counting import CODE, check_known_or_lost
from support.jobs import UNASKED, collected, job_ids
from support.mcp_client import RawMcp
from support.systemd import Standin
from support.tiers import first, only
from support.wait import until

LINES = 40
ANSWER_S = 120  # of a server on a busy machine; one that has died is known at once
# Its first act tells that it runs. It counts on both streams, and ends when it may.
COUNT = "i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo out $i; echo err $i >&2; done"
COMMAND = f"echo run >> ran; {COUNT.format(lines=LINES)}; until [ -e go ]; do sleep 0.1; done; echo last; exit {CODE}"
SINKS = {"notify_file": "told-file", "notify_command": "echo told >> told-command"}
SINK_FLAGS = [word for name, value in SINKS.items() for word in (f"--{name.replace('_', '-')}", value)]
FACES = ("cli", "mcp")
# Whose death leaves a job that never ran, and never will. All others leave a whole one.
NEVER_RAN = {
    *("make_directory", "make_files", "make_meta", "make_live", "make_visible"),
    *("send_request", "send_guardian", "fork_server_asked"),
}
# The caller's own process: it dies, and answers nothing.
CALLER = {"make", "send"}


def family(point: str) -> str:
    return point.rsplit("_", maxsplit=1)[0]


def points(*families: str, without: tuple[str, ...] = ()) -> list[str]:
    return [point for point in fault_points.POINTS if family(point) in families and point not in without]


def at(point: str, work: Path) -> dict[str, str | None]:
    """The environment in which a point is deadly, and says so."""
    return {fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}


def crashed(work: Path) -> list[str]:
    """Return the points at which a process died."""
    report = work / "crashes"
    return report.read_text(encoding="utf-8").split() if report.exists() else []


def kinds(root: Path, job: str) -> list[str]:
    """Return what the history has."""
    return [json.loads(line)["type"] for line in (root / job / "events.ndjson").read_bytes().splitlines()]


def runs(work: Path) -> int:
    return (work / "ran").read_text(encoding="utf-8").count("run") if (work / "ran").exists() else 0


# --- how a job is started ------------------------------------------------------------------------------------------


Told = dict[str, Any] | None  # what the caller was told; None: it died, or its server did


def by_cli(cli: Cli, env: dict[str, str | None], *words: str) -> Told:
    with cli.spawn(*words, env=env) as call:
        stdout, stderr = call.communicate(timeout=60)
    if call.returncode == -signal.SIGKILL:
        return None
    return one_object(Text(call.returncode, stdout.decode(), stderr.decode()))


def run_by_cli(cli: Cli, env: dict[str, str | None]) -> Told:
    # The guardian has to be woken, for RE2, at the point where it was
    flags = ("--watch", "never") if env[fault_points.VARIABLE] == "guardian_told" else ()
    return by_cli(cli, env, "run", "--wait", *SINK_FLAGS, *flags, COMMAND)


def run_by_mcp(raw_mcp: Callable[..., RawMcp], env: dict[str, str | None]) -> Told:
    server = raw_mcp(env=env)
    request = server.begin_call("exec", command=COMMAND, yield_ms=50_000, **SINKS)
    while server.read_one(ANSWER_S):
        if not server.others or "method" not in server.others[-1]:
            break
    if server.process.poll() is not None or not server._answers:
        assert server.wait() == -signal.SIGKILL
        return None
    return server.tool_answer(request).result


@pytest.fixture
def run(cli: Cli, raw_mcp: Callable[..., RawMcp], face: str) -> Callable[[dict[str, str | None]], Told]:
    """`run(env)` starts COMMAND and waits for its end, as a person's script does, or a model."""
    return (lambda env: run_by_cli(cli, env)) if face == "cli" else (lambda env: run_by_mcp(raw_mcp, env))


# --- the recovery table --------------------------------------------------------------------------------------------


def check_never_ran(cli: Cli, root: Path, work: Path) -> None:
    """No trace of a run, then or later; what is left can be seen and deleted."""
    for job in job_ids(root):
        pair.until_free(root, job)
        for _ in range(2):
            found = cli.ok("status", job)
            assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "launch", None)
        cli.ok("log", job)
        cli.ok("remove", job)
    for path in root.glob(".tmp-*"):
        os.utime(path, (0, 0))
    if collected(cli):
        assert [path.name for path in root.iterdir() if path.name.startswith((".tmp", ".gc"))] == []
    assert cli.ok("list", "--all")["jobs"] == []
    assert runs(work) == 0


def check_whole(
    cli: Cli,
    root: Path,
    work: Path,
    *,
    told: bool = True,
    code: int | None = CODE,
) -> None:
    """One run, every line in its place, the code, one outcome in the history, everybody told; nothing left behind."""
    (job,) = job_ids(root)
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    if code is not None:
        assert (ended["state"], ended["exit_code"], ended["reason"]) == ("exited", code, "exit")
    pair.until_free(root, job)
    assert runs(work) == 1
    check_output(cli, root / job)
    if told:
        event = json.loads((root / job / "completion_event.json").read_bytes())
        assert event["delivered"] and event["exit_code"] == ended["exit_code"]
        lines = [json.loads(line) for line in (work / "told-file").read_text(encoding="utf-8").splitlines()]
        assert {(line["job_id"], line["exit_code"]) for line in lines} == {(job, ended["exit_code"])}
        assert "told" in (work / "told-command").read_text(encoding="utf-8")
    history = kinds(root, job)
    assert history.count("finished") == 1, history
    (listed,) = cli.ok("list", "--all")["jobs"]
    assert (listed["state"], listed["exit_code"]) == (ended["state"], ended["exit_code"])
    cli.ok("remove", job)
    assert job_ids(root) == set()


def check_output(cli: Cli, job: Path, last: str = "last\n") -> None:
    out = "".join(f"out {n}\n" for n in range(1, LINES + 1)) + last
    err = "".join(f"err {n}\n" for n in range(1, LINES + 1))
    assert (job / "stdout.log").read_text(encoding="utf-8") == out
    assert (job / "stderr.log").read_text(encoding="utf-8") == err
    merged = cli.ok("poll", job.name, "--since-seq", "0", "--raw", "--max-bytes", "1048576")["output"].splitlines(True)
    assert "".join(line for line in merged if not line.startswith("err")) == out
    assert "".join(line for line in merged if line.startswith("err")) == err


# --- one death -----------------------------------------------------------------------------------------------------

EVERYWHERE = points(
    "make", "send", "fork_server", "guardian", "start", "output", "end", without=("start_taken", "output_relayed")
)


WAYS = [
    (point, face)
    for point in EVERYWHERE
    for face in FACES
    # A server's guardian is woken for nothing: its fork server has loaded all code
    if (point != "guardian_told" if face == "mcp" else family(point) != "fork_server")
]
# One point for each way that such a job is found and gone on with: its neighbours leave the same on disk
BY_DEFAULT = {
    *("make_files", "send_guardian", "send_answered", "fork_server_given"),
    *("guardian_told", "start_told", "start_spawned", "output_ordered"),
    *("end_moved", "end_unwritten", "end_owing"),
}


# By default a server's own points through a server, all others through the command line
@pytest.mark.fault("F01", "F02", "F05", "F07", "F72")
@pytest.mark.parametrize(
    ("point", "face"),
    only(lambda way: way[0] in BY_DEFAULT and (way[1] == "cli" or family(way[0]) == "fork_server"), WAYS),
)
def test_a_death_at_any_point_of_a_job_leaves_all_of_it_or_nothing(
    cli: Cli, run: Callable[..., Told], root: Path, work: Path, point: str, face: str
) -> None:
    (work / "go").touch()
    answer = run(at(point, work))
    until(lambda: crashed(work), what=f"a death at {point}")
    assert set(crashed(work)) == {point}
    of_caller = family(point) in CALLER and not (face == "mcp" and point == "send_guardian")
    assert (answer is None) == of_caller
    if point in NEVER_RAN:
        assert answer is None or not answer["ok"] or (answer["state"], answer["reason"]) == ("failed", "launch")
        check_never_ran(cli, root, work)
        return
    if answer is not None:
        assert (answer["ok"], answer["state"], answer["exit_code"]) == (True, "exited", CODE)
    check_whole(cli, root, work)


@pytest.mark.parametrize("point", points("scope"))
def test_a_death_on_the_way_into_a_scope_leaves_all_of_the_job_or_nothing(
    cli: Cli, root: Path, work: Path, place: Path, point: str
) -> None:
    (work / "go").touch()
    systemd = Standin(place / "standin")
    words = ("run", "--wait", "--systemd-scope", *SINK_FLAGS, COMMAND)
    answer = by_cli(cli, at(point, work) | systemd.env, *words)
    until(lambda: crashed(work), what=f"a death at {point}")
    assert (crashed(work), systemd.called) == ([point], True)
    assert (answer is None) == (point == "scope_entered")
    if point == "scope_given":
        assert answer is not None and answer["exit_code"] == CODE
        check_whole(cli, root, work)
        return
    assert answer is None or answer["error"]["code"] == "launch_failed"
    check_never_ran(cli, root, work)


@pytest.mark.parametrize("point", points("pair"))
def test_a_death_between_a_command_line_and_its_pair_costs_no_job_and_runs_none_twice(
    cli: Cli, root: Path, work: Path, point: str
) -> None:
    """It was given the job already: whether anybody took it decides, not how the one between ended."""
    (work / "go").touch()
    answer = run_by_cli(cli, at(point, work))
    assert crashed(work) == [point]
    assert answer is not None and (answer["state"], answer["exit_code"]) == ("exited", CODE)
    check_whole(cli, root, work)


@pytest.mark.fault("F01")
def test_a_supervisor_that_dies_before_the_command_runs_is_replaced_and_the_command_runs_once(
    cli: Cli, work: Path
) -> None:
    env = {"OUTLIVE_CRASH_AT": "start_marked", "OUTLIVE_DEBUG_FILE": str(work / "crashes")}
    job = cli.ok("run", "--snapshot-after", "0", "echo run >> ran; exit 7", env=env)["job_id"]
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 7
    assert (work / "crashes").read_text() == "start_marked\n", "it died there, and its successor did not"
    assert (work / "ran").read_text() == "run\n"


@pytest.mark.fault("F01")
def test_a_start_of_a_created_job_that_dies_can_be_done_again(cli: Cli, root: Path, work: Path) -> None:
    (work / "go").touch()
    job = cli.ok("create", COMMAND)["job_id"]
    assert by_cli(cli, at("start_taken", work), "start", job) is None
    assert crashed(work) == ["start_taken"]
    assert (cli.ok("status", job)["state"], runs(work)) == ("created", 0)
    assert cli.ok("start", job, "--wait")["exit_code"] == CODE
    check_whole(cli, root, work, told=False)


@pytest.mark.fault("F48")
def test_bytes_of_a_terminal_between_two_pipes_are_not_lost(cli: Cli, work: Path, root: Path) -> None:
    (work / "go").touch()
    started = by_cli(cli, at("output_relayed", work), "run", "--wait", "--pty", COMMAND)
    assert started is not None and started["exit_code"] == CODE
    assert crashed(work) == ["output_relayed"]
    job = started["job_id"]
    pair.until_free(root, job)
    log = (root / job / "stdout.log").read_text(encoding="utf-8").splitlines()
    expected = [f"{word} {n}" for n in range(1, LINES + 1) for word in ("out", "err")] + ["last"]
    assert log == expected
    assert runs(work) == 1


def test_a_successor_that_has_moved_output_is_in_the_history(cli: Cli, root: Path, work: Path) -> None:
    job = start_and_lose(cli, work, "output_moved", "guardian:output_moved")
    history = kinds(root, job)
    assert history[:2] == ["started", "adopted"]
    (work / "go").touch()
    cli.ok("wait", job, "--timeout-ms", "50s")


def test_data_that_a_job_has_taken_is_not_given_to_it_again(cli: Cli, work: Path) -> None:
    data = "".join(f"line {n}\n" for n in range(11_000))  # more than a pipe holds
    flags = ("--stdin", "open", "--stdin-data", data, "--snapshot-after", "0")
    started = by_cli(cli, at("input_moved", work), "run", *flags, f"head -c {len(data)} | cksum")
    assert started is not None
    job = started["job_id"]
    expected = subprocess.run(["cksum"], input=data.encode(), capture_output=True, check=True).stdout.decode()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert crashed(work) == ["input_moved"]
    assert (ended["exit_code"], ended["output"]) == (0, expected)


FLOOD = "import sys; sys.stdout.write(''.join('line %06d\\n' % n for n in range(60_000)))"


@pytest.mark.parametrize("point", only(lambda point: point != "gap_made", points("gap")))
def test_a_gap_that_somebody_died_over_is_what_its_record_says(cli: Cli, root: Path, work: Path, point: str) -> None:
    words = ("run", "--wait", "--quota-bytes", "64K", "--", sys.executable, "-c", FLOOD)
    started = by_cli(cli, at(point, work), *words)
    assert started is not None
    assert crashed(work) == [point]
    job = started["job_id"]
    assert (started["state"], started["exit_code"]) == ("exited", 0)
    (gap,) = cli.ok("status", job)["gaps"]
    wanted = "".join(f"line {n:06d}\n" for n in range(60_000)).encode()
    log = (root / job / "stdout.log").read_bytes()
    assert (log[: gap["from_seq"]], log[gap["to_seq"] :]) == (wanted[: gap["from_seq"]], wanted[gap["to_seq"] :])
    assert gap["lines"] == wanted[gap["from_seq"] : gap["to_seq"]].count(b"\n")
    assert (root / job / "stdout.log").stat().st_blocks * 512 <= 65_536 + 4 * 65_536
    assert cli.ok("log", job)["total_lines"] == 60_000


@pytest.mark.fault("F38")
@pytest.mark.parametrize(
    "point", only(lambda point: point != "kill_sent", points("kill"))
)  # test_kills.py has that one
def test_an_end_that_was_asked_for_comes_though_whoever_was_at_it_dies(cli: Cli, work: Path, point: str) -> None:
    stubborn = "trap '' TERM; echo run >> ran; echo ready; while :; do sleep 0.05; done"
    started = by_cli(cli, at(point, work), "run", "--snapshot-after", "0", stubborn)
    assert started is not None
    job = started["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")
    cli.ok("kill", job, "--grace-ms", "700", "--wait-ms", "0")
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    assert crashed(work) == [point]
    assert (ended["state"], ended["signal"], ended["reason"]) == ("killed", "SIGKILL", "kill")
    assert runs(work) == 1


# --- a second death ------------------------------------------------------------------------------------------------


def check_adopted(cli: Cli, root: Path, work: Path) -> None:
    """It runs without a supervisor: the next reader finds it, and the end is known or said to be lost."""
    (job,) = job_ids(root)
    assert cli.ok("status", job)["state"] == "running"
    assert pair.is_supervised(root, job)
    (work / "go").touch()
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    check_known_or_lost(ended)
    check_whole(cli, root, work, code=None)


def start_and_lose(cli: Cli, work: Path, *deaths: str) -> str:
    """A job whose command runs and whose processes died at these points."""
    started = by_cli(cli, at(",".join(deaths), work), "run", "--snapshot-after", "0", *SINK_FLAGS, COMMAND)
    assert started is not None and started["ok"], started
    # The caller may be fast enough to find both dead before it answers, and to start others that die as well
    until(lambda: len(crashed(work)) >= len(deaths), what=f"deaths at {deaths}")
    assert crashed(work)[: len(deaths)] == list(deaths)
    until(lambda: runs(work), what="the command's first act")
    job: str = started["job_id"]
    until(lambda: lost_both(cli.root, job), what="the end of its processes")
    return job


def lost_both(root: Path, job: str) -> bool:
    """Return whether it has no supervisor. The `run` that started it may have found it without supervisor, and adopted it at once."""
    supervisor = pair.supervisor_now(job)
    if supervisor:
        pair.end_both(supervisor)
    return not pair.is_supervised(root, job)


@pytest.mark.parametrize("first", first(1, ["output_moved", "start_spawned", "start_recorded"]))
@pytest.mark.parametrize(
    "point", only(lambda point: point in ("takeover_taken", "takeover_recorded"), points("takeover"))
)
def test_a_guardian_that_dies_while_it_takes_over_leaves_a_job_to_adopt(
    cli: Cli, root: Path, work: Path, first: str, point: str
) -> None:
    start_and_lose(cli, work, first, fault_points.SUCCESSOR + point)
    check_adopted(cli, root, work)


WRITTEN = first(3, ["end_written", "end_history", "end_told", "end_reaped", "end_synced", "end_owing"])


@pytest.mark.parametrize("point", WRITTEN)
def test_the_end_is_known_and_told_though_both_die_over_it(cli: Cli, root: Path, work: Path, point: str) -> None:
    (work / "go").touch()
    seen = point if point not in ("end_written", "end_reaped") else "takeover_recorded"  # its outcome is there already
    started = run_by_cli(cli, at(f"{point},{fault_points.SUCCESSOR}{seen}", work))
    assert started is not None
    (job,) = job_ids(root)
    assert (started["state"], started["exit_code"]) == ("exited", CODE)
    # The caller that waits may be fast enough to find both dead, and to start a third that dies as well
    until(lambda: len(crashed(work)) >= 2, what="the end of both")
    assert crashed(work)[:2] == [point, fault_points.SUCCESSOR + seen]
    pair.until_free(root, job)
    assert cli.ok("status", job)["state"] == "exited"  # this look finds that no sink was told
    check_whole(cli, root, work)


@pytest.mark.fault("F04")
def test_an_end_that_both_saw_and_neither_wrote_is_lost_and_told_so(cli: Cli, root: Path, work: Path) -> None:
    (work / "go").touch()
    started = run_by_cli(cli, at(f"end_moved,{fault_points.SUCCESSOR}end_moved", work))
    assert started is not None
    told = (started["state"], started["reason"], started["exit_code"])
    assert told == ("failed", "lost", None), "no code is made up"
    check_whole(cli, root, work, code=None)


@pytest.mark.parametrize("first", ["start_ends", "start_unmarked"])
def test_a_start_is_not_told_before_the_guardian_has_made_it_anew(cli: Cli, root: Path, work: Path, first: str) -> None:
    """An answer that said `running` of a command which was never started would be the last that its caller hears."""
    env = at(f"{first},{fault_points.STOP}{fault_points.SUCCESSOR}start_told", work)
    with cli.spawn("run", "--snapshot-after", "0", COMMAND, env=env) as call:
        until(lambda: len(crashed(work)) == 2, what="a guardian that stands still where it starts anew")
        guardian = pair.supervisor_now(next(iter(job_ids(root))))
        os.kill(guardian, signal.SIGKILL)
        answer = answer_of(call)
    assert (answer["error"]["code"], answer["error"]["retryable"]) == ("launch_failed", True)
    assert not runs(work) and not job_ids(root)


@pytest.mark.fault("F02")
@pytest.mark.parametrize("first", first(1, ["start_spawned", "start_marked", "start_recorded"]))
@pytest.mark.parametrize("face", only(lambda face: face == "cli", FACES))
@pytest.mark.parametrize(
    "point", only(lambda point: point in ("adopt_locked", "adopt_sent", "adopt_opened"), points("adopt"))
)
def test_an_adoption_may_be_killed_at_any_point(
    cli: Cli, raw_mcp: Callable[..., RawMcp], root: Path, work: Path, point: str, face: str, first: str
) -> None:
    second = "guardian:takeover_seen" if first != "start_marked" else "guardian:start_spawned"
    job = start_and_lose(cli, work, first, second)
    (work / "crashes").unlink()
    if face == "cli":
        answer = by_cli(cli, at(point, work), "status", job)
    else:
        server = raw_mcp(env=at(point, work))
        request = server.begin_call("process", action="status", job_id=job)
        server.read_one(ANSWER_S)
        answer = server.tool_answer(request).result if server.process.poll() is None and server._answers else None
    assert (answer is None) == (point in ("adopt_locked", "adopt_sent"))
    until(lambda: crashed(work), what=f"a death at {point}")
    assert crashed(work) == [point]
    check_adopted(cli, root, work)


class LateLauncher(fork_server_client.Launcher):
    """Hands a job over when its command has ended."""

    def __init__(self, job: Path, go: Path) -> None:
        super().__init__()
        self.job, self.go = job, go

    def send(self, files: dict[str, int]) -> None:
        self.go.touch()
        until(lambda: not tree.with_cookie(self.job.name), what="the end of the command")
        super().send(files)


@pytest.mark.parametrize("first", first(1, ["start_spawned", "output_moved"]))
def test_a_command_may_end_while_its_adopter_is_on_its_way(cli: Cli, root: Path, work: Path, first: str) -> None:
    """All that held its FIFOs and its exit code was the command itself, and the reader that found it."""
    job = start_and_lose(cli, work, first, "guardian:takeover_seen")
    with reader(root, LateLauncher(root / job, work / "go")) as ctx, lookup.open_job(ctx, job) as found:
        assert adoption.inspect_and_adopt(ctx, found).supervised
    check_known_or_lost(cli.ok("wait", job, "--timeout-ms", "50s"))
    check_whole(cli, root, work, code=None)


@pytest.mark.parametrize("failing", first(1, ["pair", "memory_file"]))
def test_a_reader_without_open_files_leaves_the_adoption_to_the_next(
    cli: Cli, root: Path, work: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """A server that kept the job's locks would be taken for its supervisor as long as it lives."""
    job = start_and_lose(cli, work, "output_moved", "guardian:takeover_seen")

    def none_left(*_: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with reader(root, fork_server_client.Launcher()) as ctx, lookup.open_job(ctx, job) as found:
        with monkeypatch.context() as patch:
            patch.setattr(fds, failing, none_left)
            with pytest.raises(OutliveError) as caught:
                adoption.inspect_and_adopt(ctx, found)
        assert caught.value.retryable and not found.is_supervised()
    check_adopted(cli, root, work)


@contextlib.contextmanager
def reader(root: Path, launcher: fork_server_client.Launcher) -> Iterator[Context]:
    """A caller as a server is one, in this process."""
    store = Store.open(str(root), {})
    settings = config.load({"XDG_CONFIG_HOME": "/nonexistent"}, None)
    with contextlib.closing(launcher), contextlib.closing(store):
        yield context_of(store, config=settings, launcher=launcher, shell_words=("sh", "-c"))


@pytest.mark.parametrize("point", only(lambda point: point != "lost_locked", points("lost")))
def test_a_reader_that_dies_over_a_lost_job_leaves_it_to_the_next(cli: Cli, root: Path, work: Path, point: str) -> None:
    job = start_and_lose(cli, work, "output_moved", "guardian:takeover_seen")
    pid = json.loads((root / job / "state.json").read_bytes())["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{pid}"), what="the end of the command")
    (work / "crashes").unlink()
    assert by_cli(cli, at(point, work), "status", job) is None
    assert crashed(work) == [point]
    for _ in range(2):
        found = cli.ok("status", job)
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "lost", None)
    pair.until_free(root, job)
    history = kinds(root, job)
    assert history.count("finished") == 1, history
    assert runs(work) == 1


@pytest.mark.fault("F25")
@pytest.mark.parametrize(
    ("point", "verb"),
    only(
        lambda way: way in (("delete_renamed", "gc"), ("delete_emptied", "remove")),
        [(point, verb) for point in points("delete") for verb in ("gc", "remove")],
    ),
)
def test_a_deletion_that_dies_is_finished_by_the_next_gc(
    cli: Cli, root: Path, work: Path, point: str, verb: str
) -> None:
    job = cli.ok("run", "--wait", "echo kept", env=UNASKED)["job_id"]
    pair.until_free(root, job)
    words = ("gc", "--older-than", "0s") if verb == "gc" else ("remove", job)
    assert by_cli(cli, at(point, work), *words) is None
    assert crashed(work) == [point]
    error = cli.error("status", job, code="job_not_found")
    assert error.get("details", {}).get("bound") == ("older_than" if verb == "gc" else None)
    assert cli.ok("list", "--all")["jobs"] == []
    assert cli.ok("gc")["leftovers"] == 1
    assert [path.name for path in root.iterdir() if path.name.startswith((".tmp", ".gc")) or path.name == job] == []


def test_every_point_is_reached_by_a_test() -> None:
    # See test_pairs.py, test_approval.py, parts/hosts/test_host_starts.py, test_waiting_jobs.py, parts/after, parts/queues
    alone = {"start_taken", "output_relayed", "input_moved", *points("free", "approve", "host", "mirror", "wait")}
    alone |= {*points("after", "queue", "chain", "turn")}
    tested = {*EVERYWHERE, *alone, *points("pair", "scope", "gap", "kill", "takeover", "adopt", "lost", "delete")}
    assert tested == set(fault_points.POINTS)


def test_a_point_that_is_not_reached_changes_nothing(cli: Cli, root: Path, work: Path) -> None:
    (work / "go").touch()
    assert cli.ok("run", "--wait", COMMAND, env=at("kill_sent", work))["exit_code"] == CODE
    assert crashed(work) == []
    check_whole(cli, root, work, told=False)
