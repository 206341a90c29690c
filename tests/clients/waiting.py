"""What waiting costs in each client, from the clone:

    python tests/clients/waiting.py                    all five clients, as one starts them for a script: a table in Markdown
    python tests/clients/waiting.py codex claude       these clients alone
    python tests/clients/waiting.py --part 0.1 codex   a tenth of the times, to try it: fewer calls then

Three jobs in each client, each in a session of its own (`waiting` of script.py): one of ten minutes, one whose port opens
after two, one that asks after one. The scripted model starts the job with the longest `yield_ms`, and calls `wait` until it
is told. All run at once: eleven minutes. Needs npm the first time. Exit status: 0, 1 if a model was never told, 3 if a client
could not be installed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

NOT_INSTALLED = 3
MOST_S = 800
CASES = ("job", "port", "prompt")


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    from clients.launch import CLIENTS, installed
    from clients.measure import loopback, namespace
    from conformance import npm

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", nargs="*", help="default: all")
    parser.add_argument("--part", type=float, default=1.0, metavar="SHARE")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where requests, settings and output stay")
    parser.add_argument("--alone", nargs=2, metavar=("MODULES", "DIR"), help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.alone:  # in the namespace
        loopback()
        modules, place = map(Path, asked.alone)
        with ThreadPoolExecutor(len(CASES)) as threads:
            told = threads.map(lambda case: waited(asked.client[0], modules, case, asked.part, place / case), CASES)
        sys.stdout.write(json.dumps(dict(zip(CASES, told, strict=True))))
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
            words = [*namespace(), sys.executable, __file__, name, *alone]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            found: dict[str, Any] = json.loads(done.stdout)
            return found

        rows = dict(zip(names, threads.map(apart, names), strict=True))
    lines = [
        "| client | case | calls | of them `wait` | characters | seconds until the model knows |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in rows.items():
        for case, row in found.items():
            late = "never" if row["late_s"] is None else f"{row['late_s']:.1f}"
            lines.append(f"| {name} | {case} | {row['calls']} | {row['waits']} | {row['characters']:,} | {late} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any(row["late_s"] is None for found in rows.values() for row in found.values()))


def waited(name: str, modules: Path, case: str, part: float, folder: Path) -> dict[str, Any]:
    """Return the calls of a session, how many of them are a `wait`, the characters that its model was shown, and how many
    seconds after it was so the model was told; None if it never was."""
    from clients import measure, script
    from clients.apis import Anthropic, Chat, Gemini, Responses
    from clients.launch import CLIENTS, Place
    from clients.model import Model, is_over, steps_done

    script.SCRIPTS.update(script.waiting(part))
    log, home, work = (folder / each for each in ("requests", "home", "work"))
    for path in (log, home, work):
        path.mkdir(parents=True)
    with Model(log) as model:
        place = Place(modules, home, work, model.url, script.prompt(case))
        start = CLIENTS[name].start(place)
        measure.ran(start.command, {**place.env(), **start.env}, work, folder, MOST_S)
        began = _began(place)
        measure.end_jobs(place.env(), work)
    apis = {api.__name__: api for api in (Anthropic, Responses, Chat, Gemini)}
    shown: list[str] = []
    told_at = None
    for path in sorted(log.glob("*.json")):
        api = apis.get(path.stem.partition("-")[2])
        texts = [] if api is None else [text for _, text in steps_done(api.read(json.loads(path.read_text()))[0])]
        if len(texts) > len(shown):
            shown, told_at = texts, path.stat().st_mtime
    late = None
    if began is not None and told_at is not None and is_over(script.SCRIPTS[case], shown):
        late = told_at - began - script.WAITS_S[case] * part
    waits = max(len(shown) - 1, 0)
    return {"calls": len(shown), "waits": waits, "characters": sum(map(len, shown)), "late_s": late}


def _began(place: Any) -> float | None:
    """Return when the job started, in seconds since the epoch."""
    from support.preloaded import OUTLIVE

    words = [*OUTLIVE, "list", "--all"]
    done = subprocess.run(words, env=place.env(), cwd=place.work, capture_output=True, check=True)
    jobs = json.loads(done.stdout)["jobs"]
    return datetime.datetime.fromisoformat(jobs[0]["started_at"]).timestamp() if jobs else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
