"""How long a new user needs from nothing to the first job in each client, from the clone:

    python tests/clients/first_job.py                  all five clients: a table in Markdown, seconds
    python tests/clients/first_job.py codex claude     these clients alone

Everything happens in an empty home: `uv tool install` of the wheel that the clone builds, with an empty cache, as a user
has it; `outlive install CLIENT`, as the page of the client says; and the client with a scripted model that calls `exec`
once. Needs the package index, npm the first time, and the extra `dev`. Exit status: 0, 1 if a client got no job, 3 if one
could not be installed.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOT_INSTALLED = 3
STEPS = ("install outlive", "install it in the client", "the first job")


def main(names: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    from clients.launch import CLIENTS, installed
    from conformance import npm

    try:
        places = {name: installed(name) for name in names or CLIENTS}
    except npm.Unavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return NOT_INSTALLED
    with tempfile.TemporaryDirectory(prefix="outlive-wheel-") as folder:
        wheel = built(Path(folder))
        rows = {name: first_job(name, modules, wheel) for name, modules in places.items()}
    lines = [f"| client | {' | '.join(STEPS)} | together |", f"|---|{'---|' * (len(STEPS) + 1)}"]
    for name, (seconds, answer) in rows.items():
        lines.append(f"| {name} | {' | '.join(f'{one:.1f}' for one in seconds)} | {sum(seconds):.1f} |")
        if "the first job" not in answer:
            sys.stderr.write(f"{name}: its model was not shown the output, but: {answer or 'nothing'}\n")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any("the first job" not in answer for _, answer in rows.values()))


def built(to: Path) -> Path:
    """Build the wheel of the clone."""
    checkout = Path(__file__).resolve().parents[2]
    words = [sys.executable, "-m", "build", "--wheel", "--outdir", str(to), str(checkout)]
    subprocess.run(words, check=True, capture_output=True)
    return next(to.glob("*.whl"))


def first_job(name: str, modules: Path, wheel: Path) -> tuple[list[float], str]:
    """Return the seconds of each step, and what the model was shown of the job."""
    from clients.launch import CLIENTS, Place
    from clients.measure import ran, shown_in
    from clients.model import Model
    from clients.script import prompt
    from support.package_index import for_uv

    with tempfile.TemporaryDirectory(prefix="outlive-first-") as folder:
        log, home, work = (Path(folder) / part for part in ("requests", "home", "work"))
        for path in (log, home, work):
            path.mkdir()
        programs = home / ".local" / "bin"
        times = [time.monotonic()]
        with Model(log) as model:
            place = Place(modules, home, work, model.url, prompt("first"), programs / "outlive")
            words = [sys.executable, "-m", "uv", "tool", "install", "--python", sys.executable, str(wheel)]
            subprocess.run(words, env={**os.environ, **place.env(), **for_uv()}, check=True, capture_output=True)
            times.append(time.monotonic())
            start = CLIENTS[name].start(place)  # runs `outlive install`
            times.append(time.monotonic())
            ran(start.command, {**place.env(), **start.env}, work, Path(folder))
            times.append(time.monotonic())
        shown = shown_in(log)["shown"]
        answer = json.dumps(next(iter(shown.values()))["text"]) if shown else ""
        return [later - earlier for earlier, later in itertools.pairwise(times)], answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
