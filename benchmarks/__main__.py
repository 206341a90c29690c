"""Measure outlive and print a table; the same as JSON beside it.

    python -m benchmarks                    everything (ten minutes, 12 GB of disk for a while)
    python -m benchmarks --quick            the same rows, small: that it runs
    python -m benchmarks --rows exec,list-10000
    python -m benchmarks --markdown         also write docs/explanation/performance.md
    python -m benchmarks --install-peers    first install the peers into build/peers (npm and pip)
    python -m benchmarks --against PATH     compare with another checkout, which has its own .venv

Floor and figure of a row are measured in turn, so compare the ratios: on a machine with other load,
the milliseconds say little. Everything happens in temporary directories (TMPDIR), which are deleted
at the end.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import against, growth, kept, page, peers, table
from benchmarks.bench import Bench, NoRoom
from benchmarks.rows import ROWS
from benchmarks.samples import machine

# importing a module declares its rows
for _room in ("starts", "output", "waiting", "many", "queues", "server", "ssh", "ssh_link", "slurm"):
    importlib.import_module(f"benchmarks.rows.{_room}")
CHECKOUT = Path(__file__).parent.parent
JSON = CHECKOUT / "build" / "benchmarks.json"
PEERS = CHECKOUT / "build" / "peers"
# Not rows: what each server keeps of output and jobs; how cost grows
BESIDE = {"kept": kept.compare, "growth": growth.compare}


def main(argv: list[str]) -> int:
    asked = _parser().parse_args(argv)
    known = [*against.COMPARED] if asked.against else [*ROWS, *BESIDE]
    names = [name.strip() for name in asked.rows.split(",")] if asked.rows else known
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no row {unknown[0]}; rows: {', '.join(known)}", file=sys.stderr)
        return 2
    if not asked.against:
        return _table(names, asked)
    try:
        return _against(names, asked)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2


def _against(names: list[str], asked: argparse.Namespace) -> int:
    """Return 1 if this checkout is slower than the other one in a row."""
    other = against.command_of(asked.against)
    entries = against.compare(names, lambda command=None: _bench(asked, command), other)
    found = {"machine": machine(), "quick": asked.quick, "date": _today(), "against": entries}
    print("\n".join([machine(), *against.lines(entries), _written(found, asked)]))
    return int(any(one["slower"] for one in entries))


def _table(names: list[str], asked: argparse.Namespace) -> int:
    if asked.install_peers:
        peers.install(asked.install_peers)
        asked.peers = asked.install_peers
    found: dict[str, Any] = {"machine": machine(), "quick": asked.quick, "date": _today(), "note": asked.note}
    for name in BESIDE:
        found[name] = _beside(name, asked) if name in names else []
    rows = [name for name in names if name in ROWS]
    found["rows"] = entries = _measured(rows, asked)
    shown = [found["machine"], *table.lines(entries), *table.kept_lines(found["kept"])]
    print("\n".join([*shown, *table.growth_lines(found["growth"]), _written(found, asked)]))
    if asked.markdown:
        page.write(found)
    missed = [one["name"] for one in entries if asked.check and _is_above(one)]
    if missed:
        print(f"above its goal: {', '.join(missed)}", file=sys.stderr)
    return int(bool(missed) or len(entries) < len(rows))


def _is_above(entry: dict[str, Any]) -> bool:
    """Return whether a row is above its goal by its medians and by its best samples too. What else the machine does only
    ever adds, so a busy one spoils the medians; and one lucky sample of the floor spoils the best."""
    ratio = ROWS[entry["name"]].ratio
    return ratio is not None and min(entry["ratio"], entry["ratio_of_best"]) > ratio


def _written(found: dict[str, Any], asked: argparse.Namespace) -> str:
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"JSON: {asked.json}"


def _measured(names: list[str], asked: argparse.Namespace) -> list[dict[str, Any]]:
    date = _today()
    entries = []
    for name in names:
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        try:
            with _bench(asked) as bench:
                entries.append(table.entry(ROWS[name], ROWS[name].measure(bench), date))
        except NoRoom as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        print(f"{entries[-1]['ours']['median']:.4g} {ROWS[name].unit}", file=sys.stderr)
    return entries


def _beside(name: str, asked: argparse.Namespace) -> list[dict[str, Any]]:
    print(f"{name} …", file=sys.stderr, flush=True)
    with _bench(asked) as bench:
        try:
            return BESIDE[name](bench)
        except NoRoom as error:
            print(f"left out: {error}", file=sys.stderr)
            return []


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")


def _bench(asked: argparse.Namespace, command: list[str] | None = None) -> Bench:
    return Bench(quick=asked.quick, rounds=asked.rounds, peers=asked.peers, command=command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure outlive against floors and peers."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and two rounds, to see that it runs")
    parser.add_argument("--rows", metavar="NAME,…", help=f"only these: {', '.join([*ROWS, *BESIDE])}")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PATH",
        help="compare with the checkout at PATH, installed into PATH/.venv: print new/old, exit with 1 if slower",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 if a row is above its goal, by its medians and by its best samples",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="at most so many samples of each figure")
    parser.add_argument("--peers", type=Path, default=PEERS, metavar="DIR", help="where peers were installed")
    parser.add_argument(
        "--install-peers", type=Path, nargs="?", const=PEERS, metavar="DIR", help="install them there first"
    )
    parser.add_argument("--json", type=Path, default=JSON, metavar="FILE", help="where the JSON goes")
    parser.add_argument("--note", default="", metavar="TEXT", help="what else a reader of this run should know")
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="also write it into docs/explanation/performance.md; a row that was left out stays there",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
