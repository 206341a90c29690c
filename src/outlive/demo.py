"""`outlive demo`: a job outlives the MCP server that started it, shown with real processes, and then proved.

Everything happens below one temporary directory, with the SDK's own client; what is shown is what was measured. The
exit status is 0 only if no line is missing, none came twice, and the exit code is the command's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from outlive.cli import stdio
from outlive.core.units import seconds_of
from outlive.errors import invalid
from outlive.system import process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

    from mcp.client.client import Client

USAGE = """\
Usage: outlive demo

Show in a few seconds that a job outlives its server: start an MCP server and a client, run a command in the background,
SIGKILL the server, look at the job from the command line, read on through a second server, and prove that no line is
missing.

It works in a temporary directory of its own, which is deleted at the end; your jobs and your configuration are not
touched. Exit status: 0 the proof holds, 1 it does not (and what was missing), 130 interrupted.

  -h, --help    Print this help.
"""
LINES, PAUSE_S, EXIT_CODE = 60, "0.05", 7
LIMIT_S = 60  # a machine that needs longer than this is told so
_SCRIPT = (
    f'n=0; while [ $n -lt {LINES} ]; do n=$((n + 1)); echo "line $n of {LINES}"; sleep {PAUSE_S}; done; '
    f"exit {EXIT_CODE}"
)
EXPECTED = [f"line {number} of {LINES}" for number in range(1, LINES + 1)]


class Failed(Exception):
    """The demo could not go on."""


class Teller:
    """Short lines with the time since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._colour = os.isatty(1) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def step(self, text: str, *more: str) -> None:
        mark = self._paint("36", f"{time.monotonic() - self._began:6.2f} s")
        stdio.text(f"{mark}  {text}\n" + "".join(f"          {line}\n" for line in more))

    def verdict(self, *, good: bool, text: str, more: list[str]) -> None:
        word = self._paint("1;32" if good else "1;31", "   proof" if good else "  FAILED")
        stdio.text(f"{word}  {text}\n" + "".join(f"          {line}\n" for line in more))

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


class Seen:
    """What was learned on the way: the proof is made from this alone."""

    def __init__(self) -> None:
        self.job_id = ""
        self.log_path = ""
        self.received: list[str] = []  # what each server answered, in order
        self.next_seq = 0
        self.outlived = False
        self.end: dict[str, Any] = {}


def main(argv: list[str], options: dict[str, Any]) -> int:
    """`options`: the global options, of which a root or a configuration would change nothing here."""
    if argv and argv[0] in ("-h", "--help"):
        stdio.text(USAGE)
        return 0
    if argv:
        raise invalid("demo", f"unknown argument of outlive demo: {argv[0]}", hint="It takes none.", usage=True)
    for name in ("root", "config"):
        if options.get(name):
            hint = "Leave it out: your jobs and your configuration are not touched."
            raise invalid(name, f"outlive demo uses a root of its own; --{name} is not for it", hint=hint, usage=True)
    tell, seen = Teller(), Seen()
    with _ended_like_an_interrupt(), _place() as place:
        tell.step(f"a temporary job root: {_root(place)}")
        missing = _run(place, tell, seen)
        _say(tell, seen, missing)
    left = _left(place, seen)
    tell.step("cleaned up: " + (left or "job removed, temporary root deleted, no process left"))
    return 1 if missing or left else 0


def _run(place: str, tell: Teller, seen: Seen) -> list[str]:
    """What is missing from the proof."""
    import anyio

    try:
        anyio.run(_show, place, tell, seen)
        return missing_from(seen)
    except Exception as error:  # noqa: BLE001 - a demo that breaks says where, in words
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            error = Failed(f"not done within {LIMIT_S} s")
        return [f"the demo stopped here: {error or type(error).__name__}", *_log_of_servers(place)]


async def _show(place: str, tell: Teller, seen: Seen) -> None:
    import anyio

    with anyio.fail_after(LIMIT_S):
        async with _server(place) as (client, pid):
            tell.step(f"server 1 is up (pid {pid}), with an MCP client on its stdin and stdout")
            await _exec(client, place, tell, seen)
            await anyio.sleep(0.8)  # so that there is something to read
            answer = await _poll_once(client, seen)
            tell.step(f"poll: {_lines(answer)}, the cursor is now since_seq={answer['next_seq']}")
            killed_at = time.time()
            os.killpg(pid, signal.SIGKILL)
            while process.is_alive(pid):
                await anyio.sleep(0.005)
            tell.step(f"SIGKILL to server 1 and its process group; pid {pid} is gone")
        _look_as_a_person(place, tell, seen, killed_at)
        async with _server(place) as (client, pid):
            tell.step(f"server 2 is up (pid {pid}), with a new client that knows the job's id and the cursor")
            await _poll_to_the_end(client, tell, seen)


@contextlib.asynccontextmanager
async def _server(place: str) -> AsyncIterator[tuple[Client, int]]:
    """A server of its own with the SDK's client connected to it, and the server's pid."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.types import Implementation

    words = [sys.executable, "-m", "outlive", "mcp", "--root", _root(place)]
    how = StdioServerParameters(command=words[0], args=words[1:], env=_environment(place), cwd=place)
    before = set(tree.children(os.getpid()))
    with open(_log_path(place), "a", encoding="utf-8") as log:
        info = Implementation(name="outlive-demo", version="1")
        async with Client(stdio_client(how, errlog=log), client_info=info) as client:
            started = set(tree.children(os.getpid())) - before
            if len(started) != 1:
                raise Failed(f"one server was expected among the new processes, found {len(started)}")
            yield client, started.pop()


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, arguments)
    if found.is_error:
        raise Failed(f"{tool} was refused: {getattr(found.content[0], 'text', found)}")
    answer: dict[str, Any] = found.structured_content or {}
    return answer


async def _exec(client: Client, place: str, tell: Teller, seen: Seen) -> None:
    answer = await _call(
        client, "exec", command=["sh", "-c", _SCRIPT], title="numbered lines", workdir=place, background=True, raw=True
    )
    seen.job_id, seen.log_path = answer["job_id"], answer["stdout_log_path"]
    tell.step(
        f"exec in the background: job {answer['job_id']} (pid {answer['pid']}), answered in {answer['waited_ms']} ms",
        f"it prints {LINES} numbered lines in about 3 s and exits with code {EXIT_CODE}",
    )


async def _poll_once(client: Client, seen: Seen) -> dict[str, Any]:
    """One answer from the cursor on."""
    since = seen.next_seq
    answer = await _call(
        client, "process", action="poll", job_id=seen.job_id, since_seq=since, timeout_ms=LIMIT_S * 500, raw=True
    )
    seen.received.append(answer["output"])
    seen.next_seq = answer["next_seq"]
    return answer


async def _poll_to_the_end(client: Client, tell: Teller, seen: Seen) -> None:
    first = await _poll_once(client, seen)
    tell.step(f"poll since_seq={first['since_seq']}: {_lines(first)}, printed while nobody read")
    answer, count = first, 0
    while answer["state"] == "running" or answer["output"]:
        answer = await _poll_once(client, seen)
        count += answer["output"].count("\n")
    seen.end = answer
    tell.step(f"poll to the end: {count} more lines; {answer['state']}, exit code {answer['exit_code']}")


def _look_as_a_person(place: str, tell: Teller, seen: Seen, killed_at: float) -> None:
    """The command line over the same root, while there is no server at all."""
    table = _cli(place, "list", "--all", "--human").stdout.rstrip().splitlines()
    tell.step("no server lives; a person looks at the same files:", "$ outlive list --all --human", *table)
    found = json.loads(_cli(place, "status", seen.job_id).stdout)
    running = found["state"] == "running"
    # On a machine so busy that all this took longer than the job, the time of its end says the same.
    seen.outlived = running or bool(found["finished_at"] and seconds_of(found["finished_at"]) > killed_at)
    how = f"running, pid {found['pid']} alive" if running and process.is_alive(found["pid"]) else found["state"]
    tell.step(f"outlive status: {how}, {found['stdout_bytes']} bytes of output so far")


def missing_from(seen: Seen) -> list[str]:
    """Why the proof does not hold, a sentence each; empty if it does."""
    lines = "".join(seen.received).splitlines()
    found = []
    absent = [line for line in EXPECTED if line not in lines]
    if absent:
        found.append(f"{len(absent)} lines never came: {', '.join(absent[:5])}{' …' if len(absent) > 5 else ''}")
    if len(set(lines)) != len(lines):
        found.append(f"{len(lines) - len(set(lines))} lines came twice")
    if not found and lines != EXPECTED:
        found.append("the lines came in another order, or others came too")
    try:
        with open(seen.log_path, encoding="utf-8") as log:
            stored = log.read()
        if stored.splitlines() != EXPECTED:
            found.append(f"stdout.log holds other lines ({stored.count(chr(10))} of {LINES})")
    except OSError as error:
        found.append(f"stdout.log cannot be read: {error.strerror}")
    if seen.end.get("exit_code") != EXIT_CODE:
        found.append(f"the exit code is {seen.end.get('exit_code')}, not {EXIT_CODE} (state {seen.end.get('state')})")
    if not seen.outlived:
        found.append("the job had ended before its server was killed: this machine is too busy to show it")
    return found


def _say(tell: Teller, seen: Seen, missing: list[str]) -> None:
    if missing:
        tell.verdict(good=False, text=missing[0], more=missing[1:])
        return
    counts = [text.count("\n") for text in seen.received]
    total = sum(counts)
    tell.verdict(
        good=True,
        text=f"{counts[0]} lines over server 1 + {total - counts[0]} over server 2 = {total} of {LINES}",
        more=[
            "none missing, none twice, all in order, and the same as stdout.log on disk;",
            f"exit code {seen.end['exit_code']}, read by a server that never saw the command start",
        ],
    )


# --- place and clean-up ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _place() -> Iterator[str]:
    """A temporary directory that is gone afterwards with every job in it, however this ends."""
    place = os.path.realpath(tempfile.mkdtemp(prefix="outlive-demo-"))
    try:
        yield place
    finally:
        with _undisturbed():
            _remove_jobs(place)
            shutil.rmtree(place, ignore_errors=True)


def _remove_jobs(place: str) -> None:
    """Whatever was started, also by a call that was interrupted before it answered."""
    try:
        jobs = json.loads(_cli(place, "list", "--all", "--limit", "0").stdout).get("jobs", [])
        for job in jobs:
            _cli(place, "remove", job["job_id"], "--grace-ms", "0")
    except (OSError, ValueError, subprocess.SubprocessError):
        return  # `_left` says what is still there


def _left(place: str, seen: Seen) -> str:
    """What the clean-up did not reach."""
    found = [f"pid {member.pid} still runs" for member in tree.with_cookie(seen.job_id)] if seen.job_id else []
    return ", ".join(found + ([f"{place} could not be deleted"] if os.path.exists(place) else []))


@contextlib.contextmanager
def _ended_like_an_interrupt() -> Iterator[None]:
    """A closed terminal and a TERM clean up too: they raise SIGINT, which the event loop turns into a cancellation.
    It does so only where Python's own handler is set, and a shell script starts its background commands without."""
    wanted = {number: lambda *_: signal.raise_signal(signal.SIGINT) for number in (signal.SIGTERM, signal.SIGHUP)}
    wanted[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """An impatient second ^C must not leave the job behind."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cli(place: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line as a person uses it, in a session of its own: ^C at the terminal does not reach it."""
    return subprocess.run(
        [sys.executable, "-m", "outlive", "--root", _root(place), *words],
        env=_environment(place),
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        start_new_session=True,
    )


def _environment(place: str) -> dict[str, str]:
    """The caller's, without anything that configures outlive."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("OUTLIVE_")}
    return {**env, "XDG_CONFIG_HOME": os.path.join(place, "config")}


def _root(place: str) -> str:
    return os.path.join(place, "jobs")


def _log_path(place: str) -> str:
    return os.path.join(place, "servers.log")


def _log_of_servers(place: str) -> list[str]:
    """The last lines that the servers wrote to stderr."""
    try:
        with open(_log_path(place), encoding="utf-8", errors="replace") as log:
            return log.read().splitlines()[-5:]
    except OSError:
        return []


def _lines(answer: dict[str, Any]) -> str:
    return f"{answer['output'].count(chr(10))} lines"
