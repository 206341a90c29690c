"""Run a client with the fake model, and measure what it shows of each answer."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clients.apis import Anthropic, Chat, Gemini, Responses
from clients.launch import CLIENTS, Place
from clients.model import Model, asked, steps_done, woken
from clients.script import SCRIPTS, STEPS, prompt
from clients.terminal import ran_in_terminal
from outlive.mcp.shown import ANSWER
from support.preloaded import OUTLIVE

MOST_S = 360
DOCS = Path(__file__).resolve().parents[2] / "docs" / "clients"
_UP = struct.pack("16sh", b"lo", 0x1)  # IFF_UP
_SIOCSIFFLAGS = 0x8914
_APIS = {api.__name__: api for api in (Anthropic, Responses, Chat, Gemini)}
_EXIT_3 = re.compile(r'exit(?:ed)?(?:[_ ]code\\?"?:)?(?: with code| code)?\s*3\b')


def namespace() -> list[str]:
    """Return what to put before a command, so that it has a network of its own with loopback alone; nothing where
    the kernel or the user's rights do not allow that."""
    for words in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        with contextlib.suppress(OSError):
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
    return []


def loopback() -> None:
    """Bring loopback up, in a network namespace that is new."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _UP)


def measured(name: str, modules: Path, folder: Path | None = None, *, terminal: bool = False) -> dict[str, Any]:
    """Return what the model was shown in this client, see `shown_in`, in a terminal with `wake`. Requests, settings and the
    client's own output stay in `folder`; without one they are deleted."""
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outlive-clients-")))
        log, home, work = (folder / part for part in ("requests", "home", "work"))
        for path in (log, home, work):
            path.mkdir(parents=True)
        model = stack.enter_context(Model(log))
        place = Place(modules, home, work, model.url)
        start = (CLIENTS[name].in_terminal if terminal else CLIENTS[name].start)(place)
        env = {**place.env(), **start.env}
        if terminal:
            ran_in_terminal(start.command, env, work, folder, MOST_S, lambda: len(shown_in(log)["shown"]) == len(STEPS))
            found: dict[str, Any] = {"wake": wake(name, modules, folder / "wake")}
        else:
            found = {"status": ran(start.command, env, work, folder)}
        end_jobs(place.env(), work)
        return {"client": name, **found, **shown_in(log)}


_TEE = """\
#!/bin/sh
[ "$1" = mcp ] || exec {outlive} "$@"
tee -a {folder}/asked | {outlive} "$@" | tee -a {folder}/answered
"""
AFTER_S = 20  # a client that wakes its model looks at a task at least every 5 s


def wake(name: str, modules: Path, folder: Path) -> dict[str, Any]:
    """Return, of a job that runs in the background while the turn of a client in a terminal is over: whether a `task` was sent,
    what the model was `shown` at first, and what it was told when the job had ended, None if nothing within AFTER_S."""
    log, home, work, programs = (folder / part for part in ("requests", "home", "work", "bin"))
    for path in (log, home, work, programs):
        path.mkdir(parents=True)
    tee = programs / "outlive"
    real = Place(modules, home, work, "").outlive
    tee.write_text(_TEE.format(outlive=real, folder=folder), encoding="utf-8")
    tee.chmod(0o755)
    with Model(log) as model:
        place = Place(modules, home, work, model.url, prompt("wake"), tee)
        start = CLIENTS[name].in_terminal(place)
        ends: list[float] = []

        def over() -> bool:
            if not ends and (work / "ended").exists():
                ends.append(time.monotonic())
            return bool(ends) and (told_later(log) is not None or time.monotonic() > ends[0] + AFTER_S)

        ran_in_terminal(start.command, {**place.env(), **start.env}, work, folder, MOST_S, over)
        end_jobs(place.env(), work)
    answered = folder / "answered"
    task = answered.exists() and b'"resultType":"task"' in answered.read_bytes().replace(b" ", b"")
    return {"task": task, "shown": told(log).get("wake", {}).get("start"), "told": told_later(log)}


def told_later(log: Path) -> str | None:
    """Return what a client told its model after the turn, without having been asked."""
    for path in sorted(log.glob("*.json"), reverse=True):
        api = _APIS.get(path.stem.partition("-")[2])
        with contextlib.suppress(ValueError):  # it is being written
            told = [] if api is None else woken(api.read(json.loads(path.read_text(encoding="utf-8")))[0])
            if told:
                return "\n".join(told)
    return None


def conversed(
    name: str, modules: Path, rounds: list[list[str]], folder: Path, *, page: bool = False
) -> dict[str, dict[str, str]]:
    """Return what the model was shown, by script and step. The scripts of a round run at once, in clients that share home
    and directory. `page`: what the page of the client has to try it is typed instead."""
    log, home, work = (folder / part for part in ("requests", "home", "work"))
    for path in (log, home, work):
        path.mkdir(parents=True)
    with Model(log) as model:
        for number, scripts in enumerate(rounds):
            places = {script: Place(modules, home, work, model.url, prompt(script)) for script in scripts}
            starts = {script: CLIENTS[name].start(place) for script, place in places.items()}
            with ThreadPoolExecutor(len(scripts)) as threads:
                for script, start in starts.items():
                    out = folder / f"{number}-{script}"
                    out.mkdir()
                    env = {**places[script].env(), **start.env}
                    command = start.command
                    if page:
                        env["PATH"] = places[script].path_with(name, out / "bin")
                        command = ["sh", "-c", to_try(name)]
                    threads.submit(ran, command, env, work, out)
        end_jobs(places[script].env(), work)
    return told(log)


def to_try(name: str) -> str:
    """Return what "Try it in a minute" on the page of a client has to type."""
    page = DOCS / f"{'claude-code' if name == 'claude' else name}.md"
    section = page.read_text(encoding="utf-8").partition("## Try it in a minute")[2]
    typed: str = re.findall(r"```text\n(.*?)```", section, re.DOTALL)[0]
    return typed


def told(log: Path) -> dict[str, dict[str, str]]:
    """Return what the model was shown, by script and step."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(log.glob("*.json")):
        api = _APIS.get(path.stem.partition("-")[2])
        if api is not None:
            turns, _ = api.read(json.loads(path.read_text(encoding="utf-8")))
            _, script = asked(turns)
            for step, (_, text) in zip(SCRIPTS.get(script or "", ()), steps_done(turns), strict=False):
                found.setdefault(str(script), {})[step.name] = text
    return found


def ran(command: list[str], env: dict[str, str], work: Path, folder: Path, most_s: float = MOST_S) -> int | None:
    """Return the exit status of the client, None if it was ended, after `most_s` seconds, with all that it started."""
    with (folder / "client.out").open("wb") as out, (folder / "client.err").open("wb") as error:
        client = subprocess.Popen(
            command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=error, start_new_session=True
        )
        try:
            return client.wait(most_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(client.pid, signal.SIGKILL)
            client.wait()


def end_jobs(env: dict[str, str], work: Path) -> None:
    """End what a script that broke off has left, and the daemon that Codex in a terminal leaves."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ours = os.fsencode(f"HOME={env['HOME']}") in (place / "environ").read_bytes().split(b"\0")
            if ours and b"app-server" in (place / "cmdline").read_bytes():
                os.kill(int(place.name), signal.SIGKILL)
    listed = subprocess.run([*OUTLIVE, "list", "--all"], env=env, cwd=work, capture_output=True, check=True).stdout
    for job in json.loads(listed)["jobs"]:
        if job["state"] == "running":
            subprocess.run([*OUTLIVE, "kill", job["job_id"]], env=env, cwd=work, capture_output=True, check=False)


def shown_in(log: Path) -> dict[str, Any]:
    """Return from the requests: `shown` (by step: the characters, whether exit code 3 and the line of stderr are among
    them, the text), `schemas`, the input schemas of our tools as the model gets them, and `meta`: whether it gets what is
    for programs alone."""
    shown: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    requests = sorted(log.glob("*.json"))
    for path in requests:
        api = _APIS.get(path.stem.partition("-")[2])
        if api is None:
            continue
        turns, tools = api.read(json.loads(path.read_text(encoding="utf-8")))
        for tool in tools:
            end = re.search(r"(?:^|[_.-])(exec|process)$", tool.name)
            if end and "outlive" in tool.namespace + tool.name:
                schemas[end[1]] = tool.schema
        for step, (_, text) in zip(STEPS, steps_done(turns), strict=False):
            shown[step.name] = {
                "characters": len(text),
                "exit_code": bool(_EXIT_3.search(text)),
                "stderr": "the reason" in text,
                "text": text,
            }
    meta = any(ANSWER in path.read_text(encoding="utf-8") for path in requests)
    return {"requests": len(requests), "shown": shown, "schemas": schemas, "meta": meta}
