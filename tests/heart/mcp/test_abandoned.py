"""Work that takes long: it ends with its call, and one token's keeps no other token waiting."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Cli, Jobs, environment
from support.mcp_client import LEGACY_VERSION, MODERN_VERSION
from support.serve import INITIALIZE, Served
from support.tiers import MODERN_FIRST, first
from support.wait import until

Serve = Callable[..., Served]

# A search that finds no end and no match, and says when it begins and ends
ENDLESS = """
import sys, time
from outlive.render import search
def blocks(lines, start):
    print("searching", file=sys.stderr, flush=True)
    try:
        while True:
            time.sleep(0.001)
            yield start, b""
    finally:
        print("stopped", file=sys.stderr, flush=True)
search._blocks = blocks
"""
SEARCH = {"action": "log", "search": "x"}


def asked(served: Served, era: str, job: str) -> bytes:
    """A search as a request on a connection of its own."""
    params = {"name": "process", "arguments": {**SEARCH, "job_id": job}}
    if era == "modern":
        prefix = "io.modelcontextprotocol/"
        params["_meta"] = {f"{prefix}protocolVersion": MODERN_VERSION, f"{prefix}clientCapabilities": {}}
        more = f"Mcp-Protocol-Version: {MODERN_VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: process\r\n"
    else:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        session = served.ask("POST", body=hello).headers["mcp-session-id"]
        more = f"Mcp-Protocol-Version: {LEGACY_VERSION}\r\nMcp-Session-Id: {session}\r\n"
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.tokens['tests']}\r\n{more}"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


@MODERN_FIRST
def test_a_search_stops_when_its_client_is_gone(serve: Serve, work: Path, jobs: Jobs, era: str) -> None:
    served = serve(patch=f"exec({ENDLESS!r})")
    job = served.tool("exec", command="echo x", workdir=str(work))["job_id"]
    with served.connect() as connection:
        connection.sendall(asked(served, era, job))
        until(lambda: "searching" in served.said(), what="the search")
    until(lambda: "stopped" in served.said(), what="its end")
    assert "Traceback" not in served.said(), served.said()
    jobs.end()


def test_a_search_over_mcp_has_an_end_and_says_where_to_go_on(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve(patch=f"limits.MCP_SEARCH_S = 0.2; exec({ENDLESS!r})")
    job = served.tool("exec", command="echo x", workdir=str(work))["job_id"]
    answer = served.tool("process", job_id=job, **SEARCH)
    assert answer["hint"] == "The search stopped after 0.2 s at line 0: since_seq=0 goes on."
    assert (answer["matches"], answer["next_seq"]) == (0, 0)
    jobs.end()


def test_one_token_s_searches_keep_no_other_token_waiting(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve(patch=f"exec({ENDLESS!r})")
    served.token("other")
    job = served.tool("exec", command="echo x", workdir=str(work))["job_id"]
    held = [served.connect() for _ in range(8)]
    try:
        for connection in held:
            connection.sendall(asked(served, "modern", job))
        until(lambda: served.said().count("searching") >= 2, what="its share")
        assert served.tool("process", token=served.tokens["other"], action="list")["ok"]
        assert served.tool("process", action="list")["ok"], "its own other calls get their turn too"
    finally:
        for connection in held:
            connection.close()
    until(lambda: served.said().count("stopped") == served.said().count("searching"), what="the end of all")
    jobs.end()


def test_a_search_at_the_command_line_can_be_interrupted(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "echo x")["job_id"]
    words = ["-c", f"exec({ENDLESS!r}); from outlive.__main__ import main; sys.exit(main())"]
    with subprocess.Popen(
        [sys.executable, *words, "log", job, "--search", "x"],
        env=environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "interrupted" in said
    assert process.returncode == 130
    jobs.end()


@pytest.mark.parametrize("action", first(1, ["poll", "log", "wait"]))
def test_long_output_is_rendered_in_a_thread(serve: Serve, work: Path, jobs: Jobs, action: str) -> None:
    told = """
import sys, threading
from outlive.render import sources
def noted(plain):
    def render(text):
        where = "loop" if threading.current_thread() is threading.main_thread() else "thread"
        print(where, len(text) > 20_000, file=sys.stderr, flush=True)
        return plain(text)
    return render
sources.readable, sources.replayed = noted(sources.readable), noted(sources.replayed)
"""
    served = serve(patch=f"exec({told!r})")
    command = "yes '\033[31m' | head -c 300000"
    job = served.tool("exec", command=command, workdir=str(work), max_bytes=1_000)["job_id"]
    answer = served.tool("process", action=action, job_id=job, since_seq=0, max_bytes=250_000)
    assert answer["ok"]
    assert "thread True" in served.said()
    assert "loop True" not in served.said()
    jobs.end()


def test_a_long_answer_is_made_in_a_thread(serve: Serve, work: Path, jobs: Jobs) -> None:
    told = """
import sys, threading
from outlive import verbs
from outlive.mcp import server
from outlive.render import window
def named(what, plain):
    def call(*args, **kwargs):
        where = "loop" if threading.current_thread() is threading.main_thread() else "thread"
        print(what, where, file=sys.stderr, flush=True)
        return plain(*args, **kwargs)
    return call
window.tails = named("read", window.tails)
server.answer_text.render = named("worded", server.answer_text.render)
"""
    served = serve(patch=f"exec({told!r})")
    job = served.tool("exec", command="seq 100000", workdir=str(work), max_bytes=1_000)["job_id"]
    before = len(served.said())
    assert served.tool("process", action="tail", job_id=job, tail_lines=100_000, max_bytes=250_000)["ok"]
    assert served.said()[before:].split("\n")[:-1] == ["read thread", "worded thread"]
    jobs.end()


def test_a_wait_searches_long_output_in_a_thread(serve: Serve, work: Path, jobs: Jobs) -> None:
    told = """
import sys, threading
from outlive.store.output.scanner import Scanner
plain = Scanner.whole_lines
def whole_lines(self):
    where = "loop" if threading.current_thread() is threading.main_thread() else "thread"
    print(where, file=sys.stderr, flush=True)
    return plain(self)
Scanner.whole_lines = whole_lines
"""
    served = serve(patch=f"limits.SCAN_S = 0.0; exec({told!r})")
    job = served.tool("exec", command="seq 100000", workdir=str(work))["job_id"]
    answer = served.tool("process", action="wait", job_id=job, until=[{"regex": "^99999$"}], since_seq=0)
    assert answer["fired"]["condition"] == "regex"
    assert served.said().count("thread") > served.said().count("loop")
    jobs.end()
