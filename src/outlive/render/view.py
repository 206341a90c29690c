"""How a call wants output shown."""

from __future__ import annotations

from outlive.core.records import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.config import Config
    from outlive.matching.problem_matchers import Matcher


class View:
    """At most `max_bytes` of text, with escape sequences if `raw`. `show`: what is chosen of longer output; `auto`:
    the lines that report a failure, which `matchers` and those built in name, the end and the beginning; `plain`: the
    beginning and the end."""

    __slots__ = ("matchers", "max_bytes", "raw", "show")

    def __init__(
        self, max_bytes: int, raw: bool = False, show: str = PLAIN, matchers: tuple[Matcher, ...] = ()
    ) -> None:
        self.max_bytes, self.raw, self.show, self.matchers = max_bytes, raw, show, matchers


def asked_for(config: Config, max_bytes: int, *, raw: bool = False, show: str | None = None) -> View:
    """Return the view of a call."""
    return View(max_bytes, raw, show or config.get("output", "show"), config.get("output", "problem_matcher") or ())
