"""An answer of a made-up verb."""

from __future__ import annotations

from typing import Any

from outlive.answers import Answer


class Given(Answer):
    """Answers these members, whatever they are."""

    def __init__(self, **members: Any) -> None:
        self.members = members

    def write_into(self, content: dict[str, Any]) -> None:
        content |= self.members
