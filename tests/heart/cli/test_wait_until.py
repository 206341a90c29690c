"""wait --until: one wait over several conditions, level-triggered, with the truth about what came first."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.errors import OutliveError
from outlive.jobs.conditions import parse
from support import processes
from support.cli import Cli, Jobs
from support.commands import PUT, in_order, python
from support.jobs import background
from support.wait import until

LISTEN = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as sock:
    time.sleep(60)
"""


def wait(cli: Cli, job: str, *conditions: Any, **options: Any) -> dict[str, Any]:
    words = [json.dumps(one) if isinstance(one, dict) else one for one in conditions]
    flags = [word for one in words for word in ("--until", one)]
    more = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return cli.ok("wait", job, *flags, *more)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        found: int = sock.getsockname()[1]
        return found


# --- regex -----------------------------------------------------------------------------------------------------------


def test_a_match_before_the_call_counts(cli: Cli, jobs: Jobs) -> None:
    job = background(cli, "echo Ready on port 80; echo more; exec sleep 60")
    cli.ok("wait", job, "--until", "regex=more")
    fired = wait(cli, job, {"regex": r"^Ready on port (\d+)"}, "exit")["fired"]
    assert (fired["condition"], fired["match"], fired["line"]) == ("regex", "Ready on port 80", "Ready on port 80")
    assert (fired["seq"], fired["stream"], fired["job_id"], fired["earlier"]) == (0, "stdout", job, True)
    jobs.end()


def test_a_match_is_looked_for_from_a_cursor_on(cli: Cli, work: Path) -> None:
    job = background(cli, "echo hit 1; until [ -e go ]; do sleep 0.1; done; echo hit 2; exec sleep 60")
    first = wait(cli, job, "regex=hit")
    timed_out = wait(cli, job, "regex=hit", since_seq=6, timeout_ms=100)
    assert (timed_out["timed_out"], timed_out["fired"], timed_out["state"]) == (True, None, "running")
    (work / "go").touch()
    again = wait(cli, job, "regex=hit", since_seq=6)
    assert (first["fired"]["line"], again["fired"]["line"], again["fired"]["seq"]) == ("hit 1", "hit 2", 6)
    assert "earlier" not in again["fired"]
    cli.ok("kill", job)


def test_lines_are_seen_across_pieces_and_without_their_newline(cli: Cli) -> None:
    pieces = ("lis", "ten", "ing on 8", "0\nlogin: ")
    job = background(cli, *python(f"{PUT}\nfor piece in {pieces!r}: put(1, piece.encode())\ntime.sleep(60)"))
    assert wait(cli, job, "regex=^listening on 80$")["fired"]["line"] == "listening on 80"
    assert wait(cli, job, "regex=login: $")["fired"]["match"] == "login: "
    cli.ok("kill", job)


def test_the_match_that_came_first_counts_whatever_stream_it_is_in(cli: Cli) -> None:
    pieces = in_order((1, "start\n"), (2, "bad\n"), (1, "good\n"), (1, "bad\n"))
    job = cli.ok("run", "--wait", *pieces)["job_id"]
    found = wait(cli, job, "regex=good", "fail_regex=bad")["fired"]
    assert (found["condition"], found["line"], found["stream"], found["seq"]) == ("fail_regex", "bad", "stderr", 6)
    later = wait(cli, job, "regex=good", "fail_regex=bad", since_seq=10)["fired"]
    assert (later["condition"], later["seq"]) == ("regex", 10)
    only = wait(cli, job, {"regex": "bad", "stream": "stdout"})["fired"]
    assert (only["stream"], only["seq"]) == ("stdout", 15)


def test_the_last_words_of_a_job_match(cli: Cli) -> None:
    job = background(cli, "sleep 0.2; printf 'the end'")
    assert wait(cli, job, "regex=end$")["fired"]["condition"] == "regex"


def test_a_large_log_is_searched_to_its_end(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "yes a line of output | head -c 30000000; echo; echo the needle")["job_id"]
    fired = wait(cli, job, "regex=^the n", "fail_regex=(x+)+y")["fired"]
    assert (fired["line"], fired["seq"]) == ("the needle", 30_000_001)


# --- idle, file, port, http ---------------------------------------------------------------------------------------------


def test_silence(cli: Cli) -> None:
    for quiet_ms in (600, 2_400, 9_600):  # enough for a shell to start and to print
        job = background(cli, "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; exec sleep 60")
        fired = wait(cli, job, f"idle={quiet_ms}ms")["fired"]
        assert fired["condition"] == "idle_ms"
        assert fired["idle_ms"] >= quiet_ms
        printed = cli.ok("poll", job)["output"].split()
        cli.ok("kill", job)
        if len(printed) == 5:
            break
    assert printed == ["1", "2", "3", "4", "5"]


def test_a_file_that_appears_or_changes(cli: Cli, work: Path) -> None:
    (work / "old").write_text("before")
    os.utime(work / "old", (1, 1))
    script = "until [ -e go ]; do sleep 0.1; done; mkdir -p a/b; echo x > a/b/new; until [ -e go2 ]; do sleep 0.1; done; echo y >> old; exec sleep 60"
    job = background(cli, script)
    assert wait(cli, job, "file=a/b/new", timeout_ms=100)["timed_out"]
    (work / "go").touch()
    assert wait(cli, job, "file=a/b/new")["fired"] == {
        "condition": "file",
        "path": str(work / "a/b/new"),
        "job_id": job,
    }
    assert (
        wait(cli, job, {"file": str(work / "a" / "b" / "new")})["waited_ms"] < 20_000
    )  # made since the start: already true
    cli.ok("kill", job)


def test_a_file_that_was_there_before_has_to_change(cli: Cli, work: Path) -> None:
    (work / "old").write_text("before")
    job = background(cli, "sleep 0.1; echo up; until [ -e go ]; do sleep 0.1; done; echo y >> old; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    with cli.spawn("wait", job, "--until", "file=old") as waiter:
        (work / "go").touch()
        out, _ = waiter.communicate(timeout=60)
    assert json.loads(out)["fired"]["path"] == str(work / "old")
    cli.ok("kill", job)


def test_a_port_and_whose_it_is(cli: Cli, port: int) -> None:
    job = background(cli, "--", "sh", "-c", f"sleep 0.2; exec {sys.executable} -c '{LISTEN}' {port}")
    fired = wait(cli, job, {"port": port})["fired"]
    assert (fired["port"], fired["owned"], fired["address"]) == (port, True, "127.0.0.1")
    assert fired["pid"] == cli.ok("status", job)["pid"]
    other = background(cli, "exec sleep 60")
    foreign = wait(cli, other, f"port=localhost:{port} any")
    assert foreign["fired"]["owned"] is False
    assert wait(cli, other, {"port": port, "host": "127.0.0.2"}, timeout_ms=100)["timed_out"]
    for one in (job, other):
        cli.ok("kill", one)


def test_a_server_in_the_background_is_waited_for_after_its_starter_ended(cli: Cli, port: int, work: Path) -> None:
    script = f"(until [ -e go ]; do sleep 0.1; done; exec {sys.executable} -c '{LISTEN}' {port}) & exit 0"
    job = background(cli, "--", "sh", "-c", script)
    cli.ok("wait", job)
    with cli.spawn("wait", job, "--until", f"port={port}") as waiter:
        (work / "go").touch()
        out, _ = waiter.communicate(timeout=60)
    assert json.loads(out)["fired"]["owned"] is True
    cli.ok("kill", job)


class _Handler(http.server.BaseHTTPRequestHandler):
    ready = threading.Event()

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/none" else 200 if self.ready.is_set() else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    _Handler.ready.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_web_server_that_is_up(cli: Cli, web: str) -> None:
    job = background(cli, "exec sleep 60")
    down = until(
        lambda: "status 503" in (found := wait(cli, job, f"http={web}/health any", timeout_ms=300))["hint"] and found,
        what="a wait as long as the server takes to answer",
    )
    assert down["timed_out"]
    missing = until(
        lambda: "status 404" in (found := wait(cli, job, f"http={web}/none any", timeout_ms=300))["hint"] and found,
        what="a wait as long as the server takes to answer",
    )
    assert missing["hint"].startswith(
        f'Last seen: {web}/none answered with status 404; "status": 404 in the condition takes'
    )
    assert wait(cli, job, {"http": f"{web}/none", "status": 404, "any": True})["fired"]["status"] == 404
    _Handler.ready.set()
    assert wait(cli, job, f"http={web}/health?x=1 any")["fired"]["url"] == f"{web}/health?x=1"
    assert wait(cli, job, f"http={web}/health any", timeout_ms=0)["fired"]["status"] == 200, "true already"
    cli.ok("kill", job)


def test_a_web_server_on_either_loopback_is_localhost(cli: Cli) -> None:
    _Handler.ready.set()
    with _OnIPv6(("::1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        job = background(cli, "exec sleep 60")
        fired = wait(cli, job, f"http=http://localhost:{server.server_port}/ any")["fired"]
        server.shutdown()
        thread.join()
    assert fired["status"] == 200
    cli.ok("kill", job)


class _OnIPv6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


# --- several -------------------------------------------------------------------------------------------------------------


def test_any_of_several_conditions(cli: Cli, port: int) -> None:
    job = background(cli, "sleep 0.1; echo ready; exec sleep 60")
    fired = wait(cli, job, "exit", f"port={port}", "file=never", "regex=ready", "idle_ms=60s")["fired"]
    assert fired["condition"] == "regex"
    cli.ok("kill", job)


def test_all_of_several_jobs(cli: Cli, jobs: Jobs) -> None:
    one, two = (background(cli, f"sleep 0.{n}; echo ready {n}; exec sleep 60") for n in (1, 3))
    answer = cli.ok("wait", one, two, "--until", "regex=ready", "--mode", "all")
    assert [job["fired"]["line"] for job in answer["jobs"]] == ["ready 1", "ready 2"] or [
        job["fired"]["line"] for job in answer["jobs"]
    ] == ["ready 1", "ready 3"]
    jobs.end()


def test_waiting_for_all_ends_when_one_fails(cli: Cli, jobs: Jobs) -> None:
    good = background(cli, "echo ready; exec sleep 60")
    slow = background(cli, "exec sleep 60")
    bad = background(cli, "sleep 0.2; echo panic; exec sleep 60")
    answer = cli.ok("wait", good, slow, bad, "--until", "regex=ready", "--until", "fail_regex=panic", "--mode", "all")
    assert (answer["job_id"], answer["fired"]["condition"]) == (bad, "fail_regex")
    gone = background(cli, "sleep 0.2; exit 1")
    answer = cli.ok("wait", good, slow, gone, "--until", "regex=ready", "--mode", "all")
    assert (answer["job_id"], answer["fired"]["condition"], answer["exit_code"]) == (gone, "exit", 1)
    jobs.end()


def test_a_time_out_tells_what_there_is(cli: Cli) -> None:
    job = background(cli, "echo so far; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    answer = wait(cli, job, "regex=never", timeout_ms=100)
    assert (answer["timed_out"], answer["fired"], answer["output"]) == (True, None, "so far\n")
    empty = wait(cli, job, "regex=never", since_seq=7, timeout_ms=100)
    assert (empty["output"], empty["snippet"]) == ("", "so far\n")
    cli.ok("kill", job)


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat from the state on (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()


def _ticks(pid: int) -> int:
    return int(_stat(pid)[11]) + int(_stat(pid)[12])


def _sleeps(pid: int) -> int:
    """Return how often a process gave its CPU back because it had nothing to do."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_a_wait_costs_no_cpu(cli: Cli, work: Path) -> None:
    job = background(cli, "until [ -e go ]; do sleep 0.1; done; echo hit")

    def looks_at_no_cost() -> bool:  # not in its first second: it loads what a long wait may need
        before, slept = _ticks(waiter.pid), _sleeps(waiter.pid)
        subprocess.run(["sleep", "1"], check=True)
        return _sleeps(waiter.pid) - slept >= 2 and _ticks(waiter.pid) - before <= 2

    with cli.spawn("wait", job, "--until", "regex=hit", "--until", "file=x") as waiter:
        try:
            until(looks_at_no_cost, what="a second in which the waiter looks and sleeps, and has no CPU")
        finally:
            (work / "go").touch()
        waiter.communicate(timeout=60)


# --- bad input -----------------------------------------------------------------------------------------------------------


def test_bad_conditions_are_errors() -> None:
    rows = [
        "", "nothing", "prt=80", "port=0", "port=65536", "port=x y", "port", "regex=", "regex=(", "exit=3", "http=foo", "http=ftp://x/",
        '{"http":"http://x/","status":99}', '{"regex":"x","strem":"stdout"}', '{"regex":"x","stream":"in"}', "{}", "{",
        '{"regex":"x","port":80}', "idle_ms=0", "idle_ms=-1", "idle_ms=soon", "file=", '{"port":"80","host":""}', '{"regex":3}',
        '{"port":80,"any":"yes"}', '{"port":80.5}',
    ]  # fmt: skip
    for conditions in (*([row] for row in rows), [f"regex=x{n}" for n in range(17)]):
        with pytest.raises(OutliveError) as refused:
            parse.parsed(conditions)
        assert (refused.value.code, (refused.value.details or {}).get("field")) == ("invalid_argument", "until")
    whole, usual = parse.parsed(['{"port": 80.0}', "port=80"])
    assert vars(whole) == vars(usual) and type(whole.value) is int, "a number that is whole is one"
    assert len(parse.parsed([f"regex=x{n}" for n in range(16)])) == 16


def test_a_wrong_condition_is_told_the_right_one() -> None:
    rows = {
        '{"pattern":"x"}': 'Did you mean {"regex": "listening"}?',
        '{"type":"regex","pattern":"x"}': 'Did you mean {"regex": "listening"}?',
        "text=x": "Did you mean regex=listening?",
        '{"url":"http://127.0.0.1/"}': 'Did you mean {"http": "http://127.0.0.1:8080/health"}?',
        "finished": "Did you mean exit?",
        "prt=80": "Did you mean port=8080?",
        '{"regex":"x","port":80}': "Give several conditions as several objects.",
    }
    for condition, hint in rows.items():
        with pytest.raises(OutliveError) as refused:
            parse.parsed([condition])
        assert refused.value.hint == hint


def test_an_unknown_condition_is_told_those_there_are(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    unnamed = cli.error("wait", job, "--until", "port=x", code="invalid_argument")
    assert unnamed["details"]["field"] == "--until", "a job has ports of its own by name, and this one has none"
    unknown = cli.error("wait", job, "--until", "when=x", code="invalid_argument")
    assert "regex=…" in unknown["hint"]
    assert "port=HOST:PORT" in unknown["hint"] and "idle_ms" not in unknown["hint"], "as it is typed"


def test_every_condition_that_the_help_shows_is_one(cli: Cli) -> None:
    wrapped = cli.text("wait", "--help").stdout.partition("for example: ")[2].partition("Arguments:")[0]
    words = shlex.split(" ".join(wrapped.split()))
    shown = [word.rstrip(",;.") for word in words if "=" in word or word.startswith("{")]
    assert len(shown) == 8
    assert len(parse.parsed(shown)) == 8


@pytest.mark.parametrize("condition", [(), ("--until", "regex=never")])
def test_a_job_that_is_removed_meanwhile(cli: Cli, condition: tuple[str, ...]) -> None:
    cli.error("wait", "01ARZ3NDEKTSV4RRFFQ69G5FAV", *condition, code="job_not_found")
    job = background(cli, "echo up; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    with cli.spawn("wait", job, *condition) as waiter:
        until(lambda: "socket:" in "".join(processes.open_files(waiter.pid).values()), what="the waiter is connected")
        cli.ok("remove", job)
        out, _ = waiter.communicate(timeout=60)
    answer = json.loads(out)
    ended = answer.get("fired", {}).get("condition") == "exit"  # it saw the kill before the removal
    assert ended or answer["error"]["code"] == "job_not_found"
