"""Mask secrets in texts. What is masked says what it was: `[masked: GITHUB_TOKEN]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.mcp.masks import shapes
from outlive.mcp.masks.values import LEAST_CHARS, Value

_AROUND = " \t\r\"'`…"  # what may stand between the edge of a line and the cut half of a secret
_MORE = "[... "  # how render/ begins to say how much more there is


class Masker:
    """Masks the secrets of one answer. `met` are those that were found."""

    def __init__(self, values: Iterable[Value], *, shapes: bool) -> None:
        # The longest first: one may be a part of another
        self._values = sorted(set(values), key=lambda value: (-len(value.text), value))
        self._shapes = shapes
        self.met: set[str] = set()

    def value(self, value: object) -> object:
        """Return a member of an answer with every text in it masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self.members(value)
        if not isinstance(value, list):
            return value
        if len(value) > 1 and all(isinstance(one, str) and "\n" not in one for one in value):
            return self.text("\n".join(value), keep_lines=True).split("\n")
        return [self.value(one) for one in value]

    def members(self, members: Mapping[str, object]) -> dict[str, object]:
        return {name: self.value(one) for name, one in members.items()}

    def text(self, text: str, *, keep_lines: bool = False) -> str:
        """Return the text masked; `keep_lines`: with as many lines as before, since rows of a screen have numbers."""
        if len(text) < LEAST_CHARS:
            return text
        for value in self._values:
            text = self._without(value, text)
        return self._without_shapes(text, keep_lines=keep_lines) if self._shapes else text

    def _without(self, value: Value, text: str) -> str:
        begins, ends = value.text[:LEAST_CHARS] in text, value.text[-LEAST_CHARS:] in text
        if not begins and not ends:
            return text
        label = _label(value.name)
        masked = text.replace(value.text, label)
        if begins:
            masked = _without_beginnings(value.text, masked, label)
        if ends:
            masked = _without_ends(value.text, masked, label)
        if masked != text:
            self.met.add(value.text)
        return masked

    def _without_shapes(self, text: str, *, keep_lines: bool) -> str:
        data = text.encode("utf-8", "surrogatepass")
        parts, at = [], 0
        for start, end, label in shapes.secrets_in(data):
            secret = data[start:end]
            self.met.add(secret.decode("utf-8", "replace"))
            parts += [data[at:start], _label(label).encode(), b"\n" * secret.count(b"\n") if keep_lines else b""]
            at = end
        return b"".join([*parts, data[at:]]).decode("utf-8", "surrogatepass") if parts else text


def _label(what: str) -> str:
    return f"[masked: {what}]"


def _without_beginnings(secret: str, text: str, label: str) -> str:
    """Mask the beginning of a secret at the end of a line, where the text was cut."""
    head, at = secret[:LEAST_CHARS], 0
    while (at := text.find(head, at)) >= 0:
        rest = text[at : at + len(secret) + len(_AROUND + _MORE)].split("\n", 1)[0]
        shown = _shared(rest, secret)
        after = rest[shown:].lstrip(_AROUND)
        if not after or after.startswith(_MORE):
            text = f"{text[:at]}{label}{text[at + shown :]}"
        at += 1
    return text


def _without_ends(secret: str, text: str, label: str) -> str:
    """Mask the end of a secret at the beginning of a line."""
    tail, at = secret[-LEAST_CHARS:], 0
    while (at := text.find(tail, at)) >= 0:
        end = at + LEAST_CHARS
        before = text[max(0, end - len(secret) - len(_AROUND)) : end].rsplit("\n", 1)[-1].lstrip(_AROUND)
        if secret.endswith(before):
            text = f"{text[: end - len(before)]}{label}{text[end:]}"
        at += 1
    return text


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
