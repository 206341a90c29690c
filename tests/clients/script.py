"""What the fake model does: conversations, the same in every client."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

LINES = "seq -f 'line %g of the big output, with some padding text so that it is long' 1 5000"
# The pause keeps the order of the two streams, which are read from two pipes
ROWS = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); printf 'row %s %01000d\\n' $i 0; done"
LONG = f"{ROWS}; sleep 0.5; echo 'the reason' >&2; exit 3"


# Kills the server of this home. Its own command line has other words
KILL_SERVER = """
import os, pathlib, signal
for place in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        words = (place / "cmdline").read_bytes().split(b"\\0")
        ours = os.fsencode("HOME=" + os.environ["HOME"]) in (place / "environ").read_bytes().split(b"\\0")
    except OSError:
        continue
    if ours and b"mcp" in words[1:4] and any(word.endswith(b"/outlive") for word in words[:2]):
        os.kill(int(place.name), signal.SIGKILL)
"""


def until(name: str) -> str:
    """Return the command that waits for a file in the directory of the client."""
    return f"until [ -e {name} ]; do sleep 0.1; done"


class Step(NamedTuple):
    """One call of a tool of ours, or if `own` of the client's. `{job}` in an argument is the last job id that the model was
    shown, or the last match of `handle`; `{number}` the same as a number. If the answer matches `last`, the steps after it are
    left out."""

    name: str
    tool: str
    args: dict[str, Any]
    last: str = ""
    own: bool = False
    handle: str = ""


STEPS = (
    Step("quick", "exec", {"command": "echo hello from outlive; uname -s", "workdir": "/tmp"}),
    Step("failing", "exec", {"command": LONG, "workdir": "/tmp"}),
    Step("lines", "exec", {"command": LINES, "workdir": "/tmp"}),
    Step(
        "running", "exec", {"command": "echo tick; exec sleep 600", "workdir": "/tmp", "title": "a", "yield_ms": 1500}
    ),
    Step("alias", "process", {"action": "log", "sessionId": "{job}", "maxBytes": 500}),
    Step("kill", "process", {"action": "kill", "job_id": "{job}"}),
)
FAILING = f"{until('second')}; echo broke >&2; touch ended; exit 4"
LONGEST = {"yield_ms": 45_000}
# More than any client allows: outlive takes what this one does
HOUR_MS = 3_600_000
_MOST_WAITS = 30
WAITS_S = {"job": 600, "port": 120, "prompt": 60}
BUILT = "printf b && echo uilt"  # in the output "built", which the command does not have
LAST = {"job": r"built\b|completed \(exit code 0\)", "port": "Port 8217 is open", "prompt": "Password for the vault"}


def waiting(part: float, *, wakes: bool = False) -> dict[str, tuple[Step, ...]]:
    """Return the scripts of what waiting costs: a job ends, a port opens, a program asks. `part`: of WAITS_S. `wakes`: the
    client calls its model, so nothing waits."""
    job, port, prompt = (round(seconds * part) for seconds in WAITS_S.values())
    serve = f"sleep {port}; exec python3 -m http.server 8217 --bind 127.0.0.1"
    ask = f"sleep {prompt}; printf 'Pass'; printf 'word for the vault: '; read a"
    return {
        "job": _waited({"command": f"sleep {job} && {BUILT}"}, {}, LAST["job"], wakes=wakes),
        "port": _waited({"command": serve}, {"until": [{"port": 8217}]}, LAST["port"], wakes=wakes),
        "prompt": _waited({"command": ask, "pty": True}, {"until": ["input"]}, LAST["prompt"], wakes=wakes),
    }


def _waited(start: dict[str, Any], until: dict[str, Any], last: str, *, wakes: bool) -> tuple[Step, ...]:
    how = {"background": True} if wakes else {"yield_ms": HOUR_MS}
    first = Step("start", "exec", {**start, **until, **how}, last)
    wait = {"action": "wait", "job_id": "{job}", **until, "timeout_ms": HOUR_MS}
    return (first, *(() if wakes else _again(Step("wait", "process", wait, last))))


def _again(step: Step) -> tuple[Step, ...]:
    return tuple(step._replace(name=f"{step.name} {number}") for number in range(_MOST_WAITS))


def in_own_shell(client: str, part: float, *, wakes: bool = False) -> tuple[Step, ...]:
    """Return the script in which the model waits for the job with the client's own shell, in the fewest calls that this
    allows."""
    job = round(WAITS_S["job"] * part)
    # Claude Code starts no `sleep`
    does = f"touch began && python3 -c 'import time; time.sleep({job})' && {BUILT}"
    longest = {
        "claude": Step(
            "start", "Bash", {"command": does, **({"run_in_background": True} if wakes else {"timeout": 600_000})}
        ),
        "codex": Step("start", "exec_command", {"cmd": does, "yield_time_ms": 30_000}),
        "gemini": Step("start", "run_shell_command", {"command": does}),
        "opencode": Step("start", "bash", {"command": does, "description": "Build", "timeout": 900_000}),
        "openclaw": Step("start", "exec", {"command": does, "yieldMs": 600_000, "timeoutSeconds": 900}),
    }
    again = {
        "codex": Step(
            "poll", "write_stdin", {"session_id": "{number}", "yield_time_ms": 300_000}, handle=r"session ID (\d+)"
        ),
        "openclaw": Step(
            "poll",
            "process",
            {"action": "poll", "sessionId": "{job}", "timeout": 30_000},
            handle=r"\(session ([\w-]+)",
        ),
    }
    steps = (longest[client], *(_again(again[client]) if client in again else ()))
    return tuple(step._replace(own=True, last=LAST["job"]) for step in steps)


SCRIPTS = {
    "measure": STEPS,
    # The model's turn ends while the job runs
    "wake": (Step("start", "exec", {"command": f"sleep 8; {BUILT}; touch ended; exit 3", "background": True}),),
    "environment": (Step("seen", "exec", {"command": "echo outside=$FROM_OUTSIDE."}),),
    # What the page of each client asks for
    "page": (
        Step("start", "exec", {"command": "sleep 5; echo done", "background": True}),
        Step("wait", "process", {"action": "wait", "job_id": "{job}"}),
    ),
    "first": (Step("first", "exec", {"command": "echo the first job"}),),
    # The server is killed in the middle of a session, and the next session goes on
    "lose": (
        Step("start", "exec", {"command": f"echo begun; {until('go')}; echo over; exit 4", "background": True}),
        Step("killed", "exec", {"command": ["python3", "-c", KILL_SERVER]}),
        Step("after", "process", {"action": "list"}),
    ),
    "find": (
        Step("list", "process", {"action": "list", "all": True}),
        Step("go", "exec", {"command": "touch go"}),
        Step("wait", "process", {"action": "wait", "job_id": "{job}"}),
    ),
    # Two sessions at once: a job of the first one fails while both work
    "fails": (
        Step("start", "exec", {"command": FAILING, "background": True, "title": "of-first"}),
        Step("next", "exec", {"command": f"touch started; {until('called')}; echo I am first", **LONGEST}),
    ),
    "other": (
        Step(
            "first",
            "exec",
            {"command": f"{until('started')}; touch second; {until('ended')}; echo I am second", **LONGEST},
        ),
        Step("second", "exec", {"command": "touch called; echo I am second", **LONGEST}),
    ),
}


def prompt(script: str) -> str:
    return f"SCRIPT={script} Please run the steps."


def script_of(text: str) -> str | None:
    """Return the script that a prompt names."""
    if PAGE in text:
        return "page"
    found = re.search(r"SCRIPT=(\w+)", text)
    return found[1] if found else None


PROMPT = prompt("measure")
PAGE = "Use outlive: run 'sleep 5; echo done' in the background, and wait for it."
