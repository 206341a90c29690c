"""Write the measured part of docs/explanation/performance.md, between two marks.

A row that a run left out stays as it was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import table

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write(found: dict[str, Any], page: Path = PAGE) -> None:
    """Put a run into the page, and as JSON into performance.json beside it."""
    beside = page.with_suffix(".json")
    before = json.loads(beside.read_bytes()) if beside.exists() else {}
    merged = {**found, "rows": _merged(before.get("rows", []), found["rows"])}
    for name in ("kept", "growth"):
        merged[name] = found[name] or before.get(name, [])
    beside.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text("\n".join([head + BEGIN, *_measured(merged), END]) + tail, encoding="utf-8")


def _merged(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return table.in_order(list({one["name"]: one for one in [*before, *now]}.values()))


def _measured(found: dict[str, Any]) -> list[str]:
    rows = found["rows"]
    dates = sorted({one["date"] for one in rows})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates)
    parts = [
        f"Measured {when} on {found['machine']}."
        + (" A quick run: sizes are small." if found["quick"] else "")
        + (f" {found['note']}" if found.get("note") else ""),
        table.markdown(rows),
        ["Beside the figures:", "", *table.notes_markdown(rows)],
        ["### Peers", "", "Medians, in the unit of the row.", "", *table.peers_markdown(rows)],
        table.kept_markdown(found["kept"]),
        ["### How cost grows", "", *table.growth_markdown(found["growth"])],
    ]
    lines = [""]
    for part in parts:
        lines += [part] if isinstance(part, str) else part
        lines.append("")
    return lines
