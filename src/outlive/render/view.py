"""How a call wants output shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlive.core.records import PLAIN
from outlive.parts.encodings.encodings import Encoding, asked

if TYPE_CHECKING:
    from outlive.config import Config


class View:
    """At most `max_bytes` of text, with escape sequences if `raw`. `show`: what is chosen of longer output; `auto`:
    the lines that report a failure, which `matchers` of the configuration and those built in name, the end and the beginning; `plain`: the
    beginning and the end. `encoding` of the output; None: UTF-8, or what its byte order mark says. (A NamedTuple would
    take a call of the command line 1 ms.)"""

    def __init__(
        self,
        max_bytes: int,
        raw: bool = False,
        show: str = PLAIN,
        matchers: tuple[Any, ...] = (),
        encoding: Encoding | None = None,
    ) -> None:
        self.max_bytes, self.raw, self.show, self.matchers, self.encoding = max_bytes, raw, show, matchers, encoding
        self.replay = False  # as of a Source
        self.goes_on = False  # the command works: of steps that are all alike only the last ones are shown


def asked_for(
    config: Config, max_bytes: int, *, raw: bool = False, show: str | None = None, encoding: str | None = None
) -> View:
    """Return the view of a call. Errors: invalid_argument (`encoding`)."""
    matchers = config.get("output", "problem_matcher") or ()
    view = View(max_bytes, raw, show or config.get("output", "show"), matchers, asked(encoding))
    view.replay = True
    return view
