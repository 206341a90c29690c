"""The line of a failed command's output that says why."""

from __future__ import annotations

from outlive import limits
from outlive.config import Config
from outlive.parts.failures.lines.looked import compiled
from outlive.parts.failures.lines.problem_matchers import Matcher, Matchers
from outlive.render.plain_text import readable
from outlive.store.output.merged import Output
from outlive.store.output.patterns import seen, valid

_SEARCHED_BYTES = 65_536
_FARTHER_BYTES = 256 * 1024  # before them, if they report no failure: `make -k` goes on behind an error


def telling(output: Output, config: Config) -> str | None:
    """Return the line that says why, by the matchers of the configuration too."""
    return reported(output, config.get("output", "problem_matcher"))


def reported(output: Output, added: tuple[Matcher, ...]) -> str | None:
    """Return the line near the end of the output that a tool prints for a failure alone: of several the first that the
    first matcher names, as those of tools stand before those of any program. None if there is none."""
    matchers = compiled(added)
    if matchers is None:
        return None
    near = max(0, output.end - _SEARCHED_BYTES)
    far = max(0, near - _FARTHER_BYTES)
    return _first(matchers, output.read(near, output.end)) or (
        _first(matchers, output.read(far, near)) if near else None
    )


def _first(matchers: Matchers, printed: bytes) -> str | None:
    text = valid(seen(printed))
    strong = [(hit.matcher, hit.start) for hit in matchers.hits(text) if hit.strong]
    if not strong:
        return None
    _, start = min(strong)
    stop = text.find(b"\n", start)
    shown = readable(text[start : stop if stop >= 0 else len(text)].decode("utf-8", "replace"))
    return shown.strip()[: limits.LAST_LINE_CHARS]
