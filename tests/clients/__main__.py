"""What real clients show to a model of the answers of outlive, in one command, from the clone:

    python tests/clients                     all five clients, Codex in both modes: a table in Markdown
    python tests/clients codex claude        these clients alone
    python tests/clients codex --keep DIR    requests, settings and output of each client stay in DIR/CLIENT
    python tests/clients --terminal claude   the same in a terminal, and whether the end of a job wakes the model
    python tests/clients --json FILE codex   everything that was measured, into FILE
    python tests/clients codex --sessions lose/find    sessions one after the other; fails+other: at once (script.py)

Each client is driven by a scripted model on loopback, in a network namespace of its own where that is possible. Needs
`npm`, and the registry the first time; what is installed stays in $OUTLIVE_TEST_CACHE or ~/.cache/outlive-tests.
Exit status: 0, 1 when a client did not come to the end of the script, 3 when a client could not be installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NOT_INSTALLED = 3


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    from clients.launch import CLIENTS, installed
    from clients.measure import conversed, loopback, measured
    from conformance import npm

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", nargs="*", help="default: all")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--sessions", metavar="SCRIPTS", help="such as lose/find, one session after the other, or fails+other"
    )
    parser.add_argument("--page", action="store_true", help="type what its page in docs/clients has to try it")
    parser.add_argument("--terminal", action="store_true", help="each client in a terminal, as a person has it")
    parser.add_argument("--alone", nargs=2, metavar=("MODULES", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    asked.sessions = asked.sessions or ("page" if asked.page else None)
    if asked.alone:  # in the namespace
        modules, found = map(Path, asked.alone)
        loopback()
        name = asked.client[0]
        if asked.sessions:
            rounds = [part.split("+") for part in asked.sessions.split("/")]
            with tempfile.TemporaryDirectory(prefix="outlive-clients-") as folder:
                told = conversed(name, modules, rounds, asked.keep or Path(folder) / "sessions", page=asked.page)
            found.write_text(json.dumps(told), encoding="utf-8")
            return 0
        found.write_text(json.dumps(measured(name, modules, asked.keep, terminal=asked.terminal)), encoding="utf-8")
        return 0
    try:
        places = {name: installed(name) for name in asked.client or CLIENTS}
    except npm.Unavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return NOT_INSTALLED
    rows = [_apart(name, modules, asked) for name, modules in places.items()]
    if asked.json:
        asked.json.write_text(json.dumps(rows), encoding="utf-8")
    if asked.sessions:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    sys.stdout.write(_table(rows) + "\n")
    return int(any(_missing(row) for row in rows))


def _apart(name: str, modules: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Measure a client in a process that has no network but loopback."""
    from clients.measure import namespace

    with tempfile.NamedTemporaryFile(suffix=".json") as found:
        command = [*namespace(), sys.executable, str(Path(__file__).parent), name, "--alone", str(modules), found.name]
        command += ["--keep", str((asked.keep / name).absolute())] if asked.keep else []
        command += ["--sessions", asked.sessions] if asked.sessions else []
        command += ["--page"] if asked.page else []
        command += ["--terminal"] if asked.terminal else []
        subprocess.run(command, check=True)
        row: dict[str, Any] = json.load(found)
        return row


def _missing(row: dict[str, Any]) -> list[str]:
    from clients.script import STEPS

    return [step.name for step in STEPS if step.name not in row["shown"]]


def _woken(wake: dict[str, Any] | None) -> str:
    return "" if wake is None else f" {'yes' if wake['task'] else 'no'} | {'yes' if wake['told'] else 'no'} |"


def _table(rows: list[dict[str, Any]]) -> str:
    from clients.script import STEPS

    names = [step.name for step in STEPS]
    wakes = any("wake" in row for row in rows)
    more = " a task | woken |" * wakes
    lines = [
        f"| client | {' | '.join(names)} | failing: exit code / stderr seen |{more}",
        f"|---|{'---|' * (len(names) + 1 + 2 * wakes)}",
    ]
    for row in rows:
        shown = row["shown"]
        counts = [f"{shown[name]['characters']:,}" if name in shown else "–" for name in names]
        failing = shown.get("failing", {"exit_code": False, "stderr": False})
        seen = " / ".join("yes" if failing[part] else "no" for part in ("exit_code", "stderr"))
        lines.append(f"| {row['client']} | {' | '.join(counts)} | {seen} |{_woken(row.get('wake'))}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
