"""The measured rows as JSON, as a table for a terminal and as tables for the documentation."""

from __future__ import annotations

from typing import Any

from benchmarks.rows import ROWS, Row
from benchmarks.samples import Found

HEADER = ("row", "ours", "half between", "floor", "ratio", "goal", "met")


def entry(row: Row, found: Found, date: str) -> dict[str, Any]:
    """One row as JSON."""
    return {
        "name": row.name,
        "title": row.title,
        "unit": row.unit,
        "ours": found.ours.to_dict(),
        "floor": found.floor.to_dict() if found.floor else None,
        "floor_is": row.floor,
        "ratio": round(found.ours.median / found.floor.median, 3) if found.floor else None,
        "ratio_of_best": round(min(found.ours.values) / min(found.floor.values), 3) if found.floor else None,
        "goal": row.goal(),
        "met": row.is_met(found),
        "peers": {name: samples.to_dict() for name, samples in found.peers.items()},
        "notes": {name: round(value, 3) for name, value in found.notes.items()},
        "date": date,
    }


def lines(entries: list[dict[str, Any]]) -> list[str]:
    """The table for a terminal."""
    rows = [HEADER, *(_cells(one, one["name"]) for one in entries)]
    wide = [max(len(cells[column]) for cells in rows) for column in range(len(HEADER))]
    found = []
    for cells, one in zip(rows, [None, *entries], strict=True):
        found.append("  ".join(cell.ljust(width) for cell, width in zip(cells, wide, strict=True)).rstrip())
        found += [f"    {words}" for words in _beside(one)] if one else []
    return found


def markdown(entries: list[dict[str, Any]]) -> list[str]:
    """The table for the documentation."""
    found = [f"| {' | '.join(HEADER)} |", "|" + "---|" * len(HEADER)]
    return found + [f"| {' | '.join(_cells(one, one['title']))} |" for one in entries]


def growth_lines(grown: list[dict[str, Any]]) -> list[str]:
    """How cost grows, for a terminal."""
    found = []
    for one in grown:
        figures = ", ".join(f"{name} {_short(value)}" for name, value in one["figures"].items())
        found.append(f"{one['grows']} {one['size']:,}: {figures}")
    return found


def growth_markdown(grown: list[dict[str, Any]]) -> list[str]:
    """A table for each thing that grows."""
    found: list[str] = []
    for grows in dict.fromkeys(one["grows"] for one in grown):
        mine = [one for one in grown if one["grows"] == grows]
        found += ["", f"| {grows} | {' | '.join(mine[0]['figures'])} |", "|" + "---|" * (len(mine[0]["figures"]) + 1)]
        found += [f"| {one['size']:,} | {' | '.join(map(_short, one['figures'].values()))} |" for one in mine]
    return found[1:]


def peers_markdown(entries: list[dict[str, Any]]) -> list[str]:
    """The rows for which peers were measured."""
    names = list(dict.fromkeys(name for one in entries for name in one["peers"]))
    if not names:
        return ["No peer was installed."]
    found = [f"| row | outlive | {' | '.join(names)} |", "|" + "---|" * (len(names) + 2)]
    for one in entries:
        if one["peers"]:
            cells = [f"{_short(one['peers'][name]['median'])}" if name in one["peers"] else "–" for name in names]
            found.append(f"| {one['title']}, {one['unit']} | {_short(one['ours']['median'])} | {' | '.join(cells)} |")
    return found


def notes_markdown(entries: list[dict[str, Any]]) -> list[str]:
    """Further figures, a line a row."""
    found = []
    for one in entries:
        if one["notes"]:
            words = "; ".join(f"{name} {_short(value)}" for name, value in one["notes"].items())
            found.append(f"- `{one['name']}`: {words}")
    return found


def kept_lines(left: list[dict[str, Any]]) -> list[str]:
    """What each server keeps, for a terminal."""
    return ["  ".join(_kept_cells(one)) for one in left]


def kept_markdown(left: list[dict[str, Any]]) -> list[str]:
    header = ("server", "lines kept", "exit code right", "job known after the server was killed", "command went on")
    found = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return found + [f"| {' | '.join(_kept_cells(one))} |" for one in left]


def _kept_cells(one: dict[str, Any]) -> tuple[str, ...]:
    words = {True: "yes", False: "no", None: "starts none in the background"}
    lines = f"{one['lines_kept']:,} of {one['lines']:,}"
    code = words[one["exit_code"]] if "exit_code" in one else "–"
    return one["name"], lines, code, words[one["known"]], words[one["runs_on"]] if one["known"] is not None else "–"


def _cells(one: dict[str, Any], name: str) -> tuple[str, ...]:
    unit, ours, floor = one["unit"], one["ours"], one["floor"]
    return (
        name,
        f"{_short(ours['median'])} {unit}",
        f"{_short(ours['low'])} … {_short(ours['high'])}",
        f"{_short(floor['median'])} {unit}" if floor else "–",
        f"{one['ratio']:.2f} ×" if floor else "–",
        one["goal"] or "–",
        {True: "yes", False: "**no**", None: "–"}[one["met"]],
    )


def _beside(one: dict[str, Any]) -> list[str]:
    """Peers and notes of a row."""
    found = [f"{name}: {_short(peer['median'])} {one['unit']}" for name, peer in one["peers"].items()]
    return found + [f"{name}: {_short(value)}" for name, value in one["notes"].items()]


def _short(value: float) -> str:
    """Return three significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the rows are declared."""
    names = list(ROWS)
    return sorted((one for one in entries if one["name"] in ROWS), key=lambda one: names.index(one["name"]))
