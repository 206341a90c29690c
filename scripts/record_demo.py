"""Run `outlive demo` in a terminal and write what it showed, with its timing, as docs/demo.svg.

    python scripts/record_demo.py                   # record and write docs/demo.svg
    python scripts/record_demo.py --at 4 still.svg  # how the recording looks after 4 s, for a look without a browser

The SVG is animated by CSS alone, so it moves where a page shows it as an image. Viewers that prefer less motion, and those
without CSS animations, show the last picture. Pauses of more than IDLE_S are cut to it; the times in the text
stay those of the run.
"""

from __future__ import annotations

import errno
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PAGE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
COLUMNS, ROWS = 104, 40
FONT_PX, CELL_PX, LINE_PX, PAD_PX, BAR_PX = 14, 8.43, 20, 16, 30
TYPING_S, IDLE_S, HOLD_S = 1.0, 1.2, 6.0
COLOURS = {"36": "#56b6c2", "1;32": "#98c379", "1;31": "#e06c75"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")


class Line(NamedTuple):
    at_s: float
    text: str  # with its SGR sequences


def record() -> list[Line]:
    """Run the demo in a terminal of its own. Return its lines; `at_s` counts from its start. Exit if it fails."""
    master, slave = os.openpty()
    with tempfile.TemporaryDirectory(prefix="outlive-recording-") as home:
        env = {name: value for name, value in os.environ.items() if not name.startswith("OUTLIVE_")}
        env |= {"HOME": home, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):  # what the demo of a reader does not have
            env.pop(name, None)
        words = [sys.executable, "-m", "outlive", "demo"]
        with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=home) as process:
            os.close(slave)
            lines = list(read(master))
    os.close(master)
    if process.returncode:
        sys.exit(f"the demo ended with {process.returncode}:\n" + "\n".join(line.text for line in lines))
    return lines


def read(master: int) -> list[Line]:
    began, rest, lines = time.monotonic(), b"", []
    while True:
        select.select([master], [], [], 60)
        try:
            data = os.read(master, 65_536)
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal tells that its last user closed it (Linux)
                raise
            data = b""
        if not data:
            return lines
        at_s = time.monotonic() - began
        *whole, rest = (rest + data).replace(b"\r\n", b"\n").split(b"\n")
        lines += [Line(at_s, line.decode()) for line in whole]


def paced(lines: list[Line]) -> list[Line]:
    """Return the lines behind the typed command, with no pause longer than IDLE_S."""
    found, now, before = [Line(0.0, "$ outlive demo")], TYPING_S, 0.0
    for line in lines:
        now += min(line.at_s - before, IDLE_S)
        before = line.at_s
        found.append(Line(now, line.text))
    return found


def drawn(lines: list[Line], until_s: float | None = None) -> str:
    """Return the SVG: animated, or with `until_s` as it looks after so many seconds."""
    total = lines[-1].at_s + HOLD_S
    shown = [line for line in lines if until_s is None or line.at_s <= until_s]
    width = round(COLUMNS * CELL_PX + 2 * PAD_PX)
    height = BAR_PX + len(lines) * LINE_PX + 2 * PAD_PX
    rules = [
        (
            f"text{{font:{FONT_PX}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#dcdfe4;"
            "white-space:pre}"
        )
    ]
    if until_s is None:
        rules += [
            f"@keyframes k{n}{{0%{{opacity:0}}{100 * line.at_s / total:.2f}%{{opacity:1}}}}" for n, line in timed(lines)
        ]
        names = "".join(f"#l{n}{{animation:k{n} {total:.2f}s step-end infinite}}" for n, _ in timed(lines))
        rules.append(f"@media (prefers-reduced-motion:no-preference){{{names}}}")
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-label="A recording of outlive demo">'
        ),
        f"<style>{''.join(rules)}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#282c34"/>',
        *(f'<circle cx="{PAD_PX + 6 + 20 * n}" cy="{BAR_PX // 2 + 3}" r="6" fill="#4b5263"/>' for n in range(3)),
    ]
    for number, line in enumerate(shown):
        y = BAR_PX + PAD_PX + number * LINE_PX + FONT_PX
        parts.append(f'<text id="l{number}" x="{PAD_PX}" y="{y}" xml:space="preserve">{coloured(line.text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def timed(lines: list[Line]) -> list[tuple[int, Line]]:
    """Return the lines that are not there from the beginning, with their numbers."""
    return [(number, line) for number, line in enumerate(lines) if line.at_s]


def coloured(text: str) -> str:
    """Return the text of a line as SVG, a colour being a tspan."""
    parts = SGR.split(text)  # text, then a sequence and the text behind it, again and again
    found = escape(parts[0])
    for code, piece in zip(parts[1::2], parts[2::2], strict=True):
        fill = COLOURS.get(code)
        found += f'<tspan fill="{fill}">{escape(piece)}</tspan>' if fill and piece else escape(piece)
    return found


def main(words: list[str]) -> int:
    if words and (len(words) != 3 or words[0] != "--at"):
        print(__doc__, file=sys.stderr)
        return 2
    lines = paced(record())
    svg = drawn(lines, float(words[1]) if words else None)
    (Path(words[2]) if words else PAGE).write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
