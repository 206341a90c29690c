"""What waiting costs in each client, from the clone:

    python tests/clients/waiting.py                    all five clients, as one starts them for a script: a table in Markdown
    python tests/clients/waiting.py --terminal         the same in a terminal
    python tests/clients/waiting.py codex claude       these clients alone
    python tests/clients/waiting.py --part 0.1 codex   a tenth of the times, to try it: fewer calls then

Four jobs in each client, each in a session of its own (`waiting` of script.py): one of ten minutes, one whose port opens
after two, one that asks after one, and that of ten minutes in the client's own shell (`in_own_shell`). The scripted model
starts the job with the longest `yield_ms`, and calls `wait` until it is told; a client that wakes its model gets it in the
background. `characters` are those of all answers, `sent` those of all requests to the model, which is what tokens are paid
for. All run at once: eleven minutes. Needs npm the first time. Exit status: 0, 1 if a model was never told, 3 if a
client could not be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

NOT_INSTALLED = 3
MOST_S = 800
CASES = ("job", "port", "prompt", "shell")
WAKES = ("claude",)  # in a terminal


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    from clients.launch import CLIENTS, installed
    from clients.measure import loopback, namespace
    from conformance import npm

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", nargs="*", help="default: all")
    parser.add_argument("--terminal", action="store_true", help="each client in a terminal, as a person has it")
    parser.add_argument("--case", action="append", choices=CASES, help="this one alone; may be repeated")
    parser.add_argument("--part", type=float, default=1.0, metavar="SHARE")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where requests, settings and output stay")
    parser.add_argument("--alone", nargs=2, metavar=("MODULES", "DIR"), help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.alone:  # in the namespace
        loopback()
        modules, place = map(Path, asked.alone)
        cases = asked.case or CASES
        session = Session(asked.client[0], modules, asked.part, asked.terminal)
        with ThreadPoolExecutor(len(cases)) as threads:
            told = threads.map(lambda case: waited(session, case, place / case), cases)
        sys.stdout.write(json.dumps(dict(zip(cases, told, strict=True))))
        return 0
    names = asked.client or [name for name in CLIENTS if name != "codex-code"]
    try:
        places = {name: installed(name) for name in names}
    except npm.Unavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return NOT_INSTALLED
    with tempfile.TemporaryDirectory(prefix="outlive-waiting-") as folder, ThreadPoolExecutor(len(names)) as threads:

        def apart(name: str) -> dict[str, Any]:
            alone = (
                "--part",
                str(asked.part),
                "--alone",
                str(places[name]),
                str((asked.keep or Path(folder)).absolute() / name),
            )
            alone += ("--terminal",) * asked.terminal
            alone += tuple(word for case in asked.case or () for word in ("--case", case))
            words = [*namespace(), sys.executable, __file__, name, *alone]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            found: dict[str, Any] = json.loads(done.stdout)
            return found

        rows = dict(zip(names, threads.map(apart, names), strict=True))
    lines = [
        "| client | case | calls | polls | characters | sent | seconds until the model knows |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in rows.items():
        for case, row in found.items():
            late = "never" if row["late_s"] is None else f"{row['late_s']:.1f}"
            counts = f"{row['calls']} | {row['polls']} | {row['characters']:,} | {row['sent']:,}"
            lines.append(f"| {name} | {case} | {counts} | {late} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any(row["late_s"] is None for found in rows.values() for row in found.values()))


class Session(NamedTuple):
    """A client, the packages that npm has installed for it, how much of the times, and where it runs."""

    name: str
    modules: Path
    part: float
    terminal: bool


class Shown(NamedTuple):
    """What a model was shown: the answers of the calls, what it was told without one, and when that was."""

    answers: list[str]
    woken: list[str]
    at: float

    def told(self, last: str) -> bool:
        return re.search(last, "".join([*self.answers, *self.woken][-1:])) is not None


def waited(session: Session, case: str, folder: Path) -> dict[str, Any]:
    """Return the calls of a session, how many of them told nothing, the characters that its model was shown and those that
    were sent to it, and how many seconds after it was so the model was told; None if it never was."""
    from clients import measure, script
    from clients.launch import CLIENTS, Place
    from clients.model import Model
    from clients.terminal import ran_in_terminal

    name, modules, part, terminal = session
    scripts = script.waiting(part, wakes=terminal and name in WAKES)
    scripts["shell"] = script.in_own_shell(name, part, wakes=terminal and name in WAKES)
    script.SCRIPTS.update(scripts)
    last = script.LAST["job" if case == "shell" else case]
    log, home, work = (folder / each for each in ("requests", "home", "work"))
    for path in (log, home, work):
        path.mkdir(parents=True)
    with Model(log) as model:
        place = Place(modules, home, work, model.url, script.prompt(case))
        start = (CLIENTS[name].in_terminal if terminal else CLIENTS[name].start)(place)
        env = {**place.env(), **start.env}
        if terminal:
            ran_in_terminal(start.command, env, work, folder, MOST_S * part + 240, lambda: shown_in(log).told(last))
        else:
            measure.ran(start.command, env, work, folder, MOST_S)
        began = _written(work / "began") if case == "shell" else _began(place)
        measure.end_jobs(place.env(), work)
    shown = shown_in(log)
    late = None
    if began is not None and shown.told(last):
        late = shown.at - began - script.WAITS_S["job" if case == "shell" else case] * part
    polls = len(shown.answers) - 1  # the last one told it, or the first one began what was told later
    characters = sum(map(len, [*shown.answers, *shown.woken]))
    found = {"calls": len(shown.answers), "polls": max(polls, 0), "characters": characters}
    return {**found, "sent": sum(map(_characters, requests(log))), "late_s": late}


def requests(log: Path) -> list[tuple[Path, Any]]:
    """Return the requests to the model, in order, each with its file."""
    found = []
    for path in sorted(log.glob("*.json")):
        with contextlib.suppress(ValueError):  # it is being written
            found.append((path, json.loads(path.read_text(encoding="utf-8"))))
    return found


def _characters(request: tuple[Path, Any]) -> int:
    """Return the length of a request as clients write it: JSON without blanks."""
    path, body = request
    is_asked = not path.stem.endswith("-other")
    return len(json.dumps(body, ensure_ascii=False, separators=(",", ":"))) if is_asked else 0


def shown_in(log: Path) -> Shown:
    """Return what the newest request with the most of it shows."""
    from clients.apis import Anthropic, Chat, Gemini, Responses
    from clients.model import steps_done, woken

    apis = {api.__name__: api for api in (Anthropic, Responses, Chat, Gemini)}
    found = Shown([], [], 0.0)
    for path, body in requests(log):
        api = apis.get(path.stem.partition("-")[2])
        turns = [] if api is None else api.read(body)[0]
        answers, later = [text for _, text in steps_done(turns)], woken(turns)
        if (len(answers), len(later)) > (len(found.answers), len(found.woken)):
            found = Shown(answers, later, path.stat().st_mtime)
    return found


def _written(path: Path) -> float | None:
    return path.stat().st_mtime if path.exists() else None


def _began(place: Any) -> float | None:
    """Return when the job started, in seconds since the epoch."""
    from support.preloaded import OUTLIVE

    words = [*OUTLIVE, "list", "--all"]
    done = subprocess.run(words, env=place.env(), cwd=place.work, capture_output=True, check=True)
    jobs = json.loads(done.stdout)["jobs"]
    return datetime.datetime.fromisoformat(jobs[0]["started_at"]).timestamp() if jobs else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
