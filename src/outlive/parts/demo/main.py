"""Show with real processes that a job outlives the MCP server that started it, then prove it.

The MCP client is the SDK's, the command line is the installed one, and every number that is printed
was measured in this run. All files lie in one temporary directory, which is deleted at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import Implementation

from outlive.cli import stdio
from outlive.core.real_path import real_path
from outlive.core.units import seconds_of
from outlive.errors import invalid
from outlive.system import own_programs, process, tree
from outlive.system.interpreter import isolated
from outlive.verbs.spec import GlobalOptions

LINES, PAUSE_S, EXIT_CODE = 60, "0.05", 7
LIMIT_S = 60  # more than a very busy machine needs
_SCRIPT = f"for n in $(seq {LINES}); do echo line $n of {LINES}; sleep {PAUSE_S}; done; exit {EXIT_CODE}"
EXPECTED = [f"line {number} of {LINES}" for number in range(1, LINES + 1)]


class Evidence:
    """What this run observed; the verdict uses nothing else."""

    def __init__(self) -> None:
        self.job_id = ""
        self.log_path = ""
        self.received: list[str] = []
        self.next_seq = 0
        self.outlived = False
        self.end: dict[str, Any] = {}


def main(_values: Mapping[str, object], options: GlobalOptions) -> int:
    """Run the demo. Return 0 if the proof holds and nothing is left behind, else 1. Errors: invalid_argument;
    KeyboardInterrupt after the clean-up."""
    for name, value in (("root", options.root), ("config", options.config)):
        if value:
            hint = "Leave it out: your jobs and your configuration are not touched."
            raise invalid(name, f"outlive demo has a job root of its own and takes no --{name}", hint=hint, usage=True)
    if not own_programs.is_safe(tempfile.gettempdir(), os.environ):  # it would be configured from there
        raise invalid(
            "TMPDIR", f"jobs may write {tempfile.gettempdir()}, the directory for temporary files: name another"
        )
    _end_as_interrupted()
    demo = _Demo(real_path(tempfile.mkdtemp(prefix="outlive-demo-")))
    try:
        faults = demo.run()
        demo.judge(faults)
    finally:
        # an impatient second ^C must not leave the job behind
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        left = demo.clean_up()
    demo.say(left or "Cleaned up: the job, its processes and the temporary directory are gone.")
    return 1 if faults or left else 0


def _end_as_interrupted() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as SIGINT does, so that all three clean up."""
    # The event loop turns SIGINT into a cancellation, but only with Python's own handler in place,
    # and a shell script starts its background commands with SIGINT ignored. A closed terminal sends
    # SIGHUP.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


class _Demo:
    def __init__(self, place: str) -> None:
        """`place`: an empty directory, which `clean_up` deletes."""
        self.place = place
        self.seen = Evidence()
        self._root = os.path.join(place, "jobs")
        self._server_log = open(os.path.join(place, "servers.log"), "a+", encoding="utf-8", errors="replace")
        self._began = time.monotonic()
        # The caller's environment, without anything that configures outlive
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OUTLIVE_")}
        self._env = {**kept, "XDG_CONFIG_HOME": os.path.join(place, "config")}

    def run(self) -> list[str]:
        """Return why the proof does not hold, a sentence each; an empty list if it does."""
        self.say(f"All files of this demo are in {self.place}.")
        try:
            anyio.run(self._play)
            return faults_of(self.seen)
        except Exception as error:  # noqa: BLE001 - a demo that breaks says where, in words
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            why = f"not done within {LIMIT_S} s" if isinstance(error, TimeoutError) else str(error)
            self._server_log.seek(0)
            return [f"The demo stopped here: {why or type(error).__name__}", *self._server_log.readlines()[-5:]]

    async def _play(self) -> None:
        with anyio.fail_after(LIMIT_S):
            async with self._server() as (client, pid):
                self.say(f"Server 1 is up (pid {pid}), with an MCP client on its stdin and stdout.")
                await self._start_job(client)
                await anyio.sleep(0.8)  # so that there is something to read
                first = await self._poll(client)
                self.say(f"The client reads {_lines(first)}, up to byte {first['next_seq']}.")
                killed_at = time.time()
                os.killpg(pid, signal.SIGKILL)
                while process.is_alive(pid):
                    await anyio.sleep(0.005)
                self.say(_paint("31", f"Server 1 is killed with SIGKILL; process {pid} is gone."))
            self._look(killed_at)
            async with self._server() as (client, pid):
                self.say(f"Server 2 is up (pid {pid}), with a new client.")
                await self._read_to_the_end(client)

    async def _start_job(self, client: Client) -> None:
        how = {"title": "numbered lines", "workdir": self.place, "yield_ms": 0, "raw": True}
        answer = await _call(client, "exec", command=["sh", "-c", _SCRIPT], **how)
        self.seen.job_id, self.seen.log_path = answer["job_id"], answer["stdout_log_path"]
        self.say(
            f"The client starts a job in the background; its start takes {answer['waited_ms']} ms.",
            f"The job prints {LINES} lines in about 3 s, then exits with code {EXIT_CODE}.",
        )

    async def _poll(self, client: Client) -> dict[str, Any]:
        how = {"action": "poll", "job_id": self.seen.job_id, "timeout_ms": LIMIT_S * 500, "raw": True}
        answer = await _call(client, "process", since_seq=self.seen.next_seq, **how)
        self.seen.received.append(answer["output"])
        self.seen.next_seq = answer["next_seq"]
        return answer

    async def _read_to_the_end(self, client: Client) -> None:
        answer = await self._poll(client)
        self.say(f"It reads on at byte {answer['since_seq']}: {_lines(answer)}, printed in the meantime.")
        count = 0
        while answer["state"] == "running" or answer["output"]:
            answer = await self._poll(client)
            count += answer["output"].count("\n")
        self.seen.end = answer
        self.say(f"It reads {count} more lines, and the end: {answer['state']}, exit code {answer['exit_code']}.")

    def _look(self, killed_at: float) -> None:
        """Use the command line over the same job root, while no server runs."""
        table = self._cli("list", "--all", "--human").rstrip().splitlines()
        typed = _paint("1", "$ outlive list --all --human")
        self.say("No server runs now. The command line reads the same files:", typed, *table)
        status = json.loads(self._cli("status", self.seen.job_id))
        running = status["state"] == "running" and process.is_alive(status["pid"])
        # On a machine so busy that all this took longer than the job, the time of its end is proof
        # as well.
        finished = status["finished_at"]
        self.seen.outlived = running or bool(finished and seconds_of(finished) > killed_at)
        how = f"still runs (pid {status['pid']})" if running else f"has {status['state']}"
        self.say(f"The job {how}; it has printed {status['stdout_bytes']} bytes so far.")

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncIterator[tuple[Client, int]]:
        """Yield an SDK client that is connected to a server of its own, and the server's pid."""
        command, *args = isolated("outlive")
        args += ["mcp", "--root", self._root]
        how = StdioServerParameters(command=command, args=args, env=self._env, cwd=self.place)
        before = set(tree.children(os.getpid()))
        info = Implementation(name="outlive-demo", version="1")
        async with Client(stdio_client(how, errlog=self._server_log), client_info=info) as client:
            (pid,) = set(tree.children(os.getpid())) - before
            yield client, pid

    def _cli(self, *words: str) -> str:
        """Return what `outlive WORDS` prints. It has a session of its own: ^C does not reach it."""
        command = [*isolated("outlive"), "--root", self._root, *words]
        done = subprocess.run(
            command,
            env=self._env,
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            start_new_session=True,
        )
        return done.stdout

    def clean_up(self) -> str:
        """Remove every job, also that of an interrupted call. Return what is left, in words."""
        with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
            for job in json.loads(self._cli("list", "--all", "--limit", "0")).get("jobs", []):
                self._cli("remove", job["job_id"], "--grace-ms", "0")
        self._server_log.close()
        shutil.rmtree(self.place, ignore_errors=True)
        left = [f"process {member.pid}" for member in tree.with_cookie(self.seen.job_id)] if self.seen.job_id else []
        left += [self.place] if os.path.exists(self.place) else []
        return f"Left behind: {', '.join(left)}." if left else ""

    def judge(self, faults: list[str]) -> None:
        """Print the verdict."""
        if faults:
            self._print(_paint("1;31", "  FAILED"), faults)
            return
        counts = [text.count("\n") for text in self.seen.received]
        first, total = counts[0], sum(counts)
        proof = f"{first} lines from server 1 + {total - first} from server 2 = {total} of {LINES}."
        more = "None is missing, none came twice, all are in order and equal to stdout.log on disk."
        code = f"Server 2 never saw the command start, and has its exit code {self.seen.end['exit_code']}."
        self._print(_paint("1;32", "   proof"), [proof, more, code])

    def say(self, *lines: str) -> None:
        """Print lines after the time since the start."""
        self._print(_paint("36", f"{time.monotonic() - self._began:6.2f} s"), lines)

    def _print(self, mark: str, lines: list[str] | tuple[str, ...]) -> None:
        stdio.text(f"{mark}  " + "\n          ".join(lines) + "\n")


def faults_of(seen: Evidence) -> list[str]:
    """Return why the proof does not hold, a sentence each; an empty list if it does."""
    lines = "".join(seen.received).splitlines()
    faults = []
    absent = [line for line in EXPECTED if line not in lines]
    if absent:
        faults.append(f"{len(absent)} lines are missing, the first is {absent[0]!r}.")
    if len(set(lines)) != len(lines):
        faults.append(f"{len(lines) - len(set(lines))} lines came twice.")
    if not faults and lines != EXPECTED:
        faults.append("The lines came in another order, or others came too.")
    try:
        with open(seen.log_path, encoding="utf-8") as log:
            if log.read().splitlines() != EXPECTED:
                faults.append("stdout.log holds other lines.")
    except OSError as error:
        faults.append(f"stdout.log cannot be read: {error.strerror}.")
    if seen.end.get("exit_code") != EXIT_CODE:
        state, code = seen.end.get("state"), seen.end.get("exit_code")
        faults.append(f"The exit code is {code}, not {EXIT_CODE} (state {state}).")
    if not seen.outlived:
        faults.append("The job ended before its server was killed: this machine is too busy to show it.")
    return faults


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, {"detail": "full", **arguments})
    if result.is_error:
        raise RuntimeError(f"{tool} was refused: {getattr(result.content[0], 'text', result)}")
    return result.structured_content or {}


def _lines(answer: dict[str, Any]) -> str:
    return f"{answer['output'].count(chr(10))} lines"


def _paint(code: str, text: str) -> str:
    coloured = os.isatty(1) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if coloured else text
