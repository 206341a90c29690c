"""How a call wants output shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlive.core.records import PLAIN

if TYPE_CHECKING:
    from outlive.config import Config
    from outlive.render.sources import Decoding


class View:
    """At most `max_bytes` of text, with escape sequences if `raw`. `show`: what is chosen of longer output; `auto`:
    the lines that report a failure, which `matchers` of the configuration and those built in name, the end and the beginning; `plain`: the
    beginning and the end. `decoding` of the output (`decoding` in window.py). (A NamedTuple would
    take a call of the command line 1 ms.)"""

    def __init__(
        self,
        max_bytes: int,
        raw: bool = False,
        show: str = PLAIN,
        matchers: tuple[Any, ...] = (),
        decoding: Decoding | None = None,
    ) -> None:
        self.max_bytes, self.raw, self.show, self.matchers, self.decoding = max_bytes, raw, show, matchers, decoding
        self.replay = False  # as of a Source
        self.goes_on = False  # the command works: of steps that are all alike only the last ones are shown


def asked_for(
    config: Config, max_bytes: int, *, raw: bool = False, show: str | None = None, decoding: Decoding | None = None
) -> View:
    """Return the view of a call."""
    matchers = config.get("output", "problem_matcher") or ()
    view = View(max_bytes, raw, show or config.get("output", "show"), matchers, decoding)
    view.replay = True
    return view
