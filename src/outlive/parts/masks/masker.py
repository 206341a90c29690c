"""Mask secrets in texts. What is masked says what it was: `[masked: GITHUB_TOKEN]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import lru_cache, partial
from operator import itemgetter

from outlive.parts.masks import shapes
from outlive.parts.masks.values import LEAST_CHARS, MaskedValue
from outlive.render.plain_text import readable
from outlive.store.output import forms
from outlive.store.output.masks import Span

_AROUND = " \t\r\"'`…"  # what may stand between the edge of a line and the cut half of a secret
_MORE = "[... "  # how render/ begins to say how much more there is
_LINE, _LINE_ENDS = "[^\n…]+", "[\n…]"  # … also where a name was cut in its middle
_BEFORE = rf"(?:[0-9]+[:-])?[{_AROUND}]*"  # first the number of a line that a search found
_BEFORE_CHARS = 16
_BEGIN = itemgetter(slice(LEAST_CHARS))
_REMEMBERED_CHARS = 4_096  # the parts of a longer secret take too much memory
_EDGE = _AROUND.encode() + b"\0"
_EDGE_BYTES = 16
# The line drawing of a terminal, character by character
_LETTERS = str.maketrans("→←↑↓█\xa0◆▒␉␌␍␊°±░␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", "+,-.0_`abcdefghhijklmnopqrstuvwxyz{|}~")


class Masker:
    """Masks the secrets of one answer. `met` are those that were found."""

    def __init__(self, values: Iterable[MaskedValue], *, shapes: bool, masked: Iterable[str] = ()) -> None:
        """`masked`: the labels of those that were masked before, where the output was decoded."""
        # The longest first: one may be a part of another
        self._values = sorted(set(values), key=lambda value: (-len(value.text), value.text, value.name))
        self._shapes = shapes
        self._masked = {label: label for label in masked}
        self._masked |= {label: value.text for value in self._values if (label := _label(value.name)) in self._masked}
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

    def members(self, members: Mapping[str, object], verbatim: Set[str] = frozenset()) -> dict[str, object]:
        """Return the members of an object masked, but for those that are shown `verbatim`."""
        shown = {name: one if name in verbatim else self.value(one) for name, one in members.items()}
        line, match = shown.get("line"), shown.get("match")
        if isinstance(line, str) and isinstance(match, str) and match not in line:
            shown["match"] = line  # what a pattern matched within a secret of its line
        return shown

    def is_clean(self, lines: str) -> bool:
        """Return whether nothing is masked in texts that are joined by newlines: most answers have no secret, and one search
        through all their texts takes a fifth of the time. Where an escape sequence might reach into the next text, it is
        not certain."""
        is_clean = readable(lines) == lines and self.text(lines, is_readable=True) == lines and not self.met
        self.met.clear()
        return is_clean

    def text(self, text: str, *, keep_lines: bool = False, is_readable: bool = False) -> str:
        """Return the text masked; `keep_lines`: with as many lines as before, since rows of a screen have numbers, and lines of a log times.
        `is_readable`: it has no control characters."""
        if len(text) < LEAST_CHARS:
            return text
        self.met.update(secret for label, secret in self._masked.items() if label in text)
        masked = self._without_all(text, keep_lines=keep_lines)
        # Control characters in the middle of a secret, which a later reader drops; letters that were drawn as lines
        drawn = masked if masked.isascii() else masked.translate(_LETTERS)
        for plain in (masked if is_readable else readable(masked), drawn):
            if plain != masked and (found := self._without_all(plain, keep_lines=keep_lines)) != plain:
                return found
        return masked

    def _without_all(self, text: str, *, keep_lines: bool) -> str:
        for value in self._values:
            text = self._without(value, text)
        if self._values:
            text = self._without_middles(text)
        return self._without_shapes(text, keep_lines=keep_lines) if self._shapes else text

    def spans(self, data: bytes, encoding: str) -> list[Span]:
        """Return where secrets stand in bytes that will be decoded with `encoding`, in order. Those that overlap are one."""
        found = self._found(data, encoding)
        for view in forms.views(data.replace(b"\t", b"\0")):  # which is no tab in every encoding
            found += [
                Span(view.place(one.start), view.place(one.stop - 1) + 1, one.label)
                for one in self._found(view.plain, encoding)
            ]
        spans: list[Span] = []
        for span in sorted(found, key=lambda span: (span.start, span.stop, span.label)):
            if spans and span.start < spans[-1].stop:
                first = spans[-1]
                spans[-1] = Span(first.start, max(span.stop, first.stop), first.label)
            else:
                spans.append(span)
        return spans

    def _found(self, data: bytes, encoding: str) -> list[Span]:
        found = [
            Span(start, stop, _label(value.name))
            for value in self._values
            for form in forms.forms(value.text, (*forms.WIDE, encoding))
            for start, stop in _places(form, data, LEAST_CHARS * max(1, len(form) // len(value.text)))
        ]
        if self._shapes:
            found += [Span(one.start, one.end, _label(one.label)) for one in shapes.secrets_in(data)]
        return found

    def _without(self, value: MaskedValue, text: str) -> str:
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

    def _without_middles(self, text: str) -> str:
        """Mask lines that are a part of a secret, of which both ends were cut."""
        begins = set(map(_BEGIN, text.replace("…", "\n").split("\n")))
        for value in self._values:
            parts = _remembered_parts if len(value.text) <= _REMEMBERED_CHARS else _parts
            if not begins.isdisjoint(parts(value.text)):
                text = re.sub(_LINE, partial(self._line_without, value), text)
        return text

    def _line_without(self, value: MaskedValue, line: re.Match[str]) -> str:
        part = line[0].partition(_MORE)[0].rstrip(_AROUND)
        if len(part) < LEAST_CHARS or part not in value.text:
            return line[0]
        self.met.add(value.text)
        return _label(value.name) + line[0][len(part) :]

    def _without_shapes(self, text: str, *, keep_lines: bool) -> str:
        data = text.encode("utf-8", "surrogatepass")
        parts, at = [], 0
        for one in shapes.secrets_in(data):
            secret = data[one.start : one.end]
            self.met.add(secret.decode("utf-8", "replace"))
            parts += [
                data[at : one.start],
                _label(one.label).encode(),
                b"\n" * secret.count(b"\n") if keep_lines else b"",
            ]
            at = one.end
        return b"".join([*parts, data[at:]]).decode("utf-8", "surrogatepass") if parts else text


def _label(what: str) -> str:
    return f"[masked: {what}]"


def _places(secret: bytes, data: bytes, least: int) -> Iterator[tuple[int, int]]:
    """Yield where a secret stands, or at least so many bytes of it that were cut off at the edge of a line."""
    at = -1
    while (at := data.find(secret[:least], at + 1)) >= 0:
        stop = at + _shared(data[at : at + len(secret)], secret)
        after = data[stop : stop + _EDGE_BYTES].split(b"\n", 1)[0]
        if stop - at == len(secret) or not after.strip(_EDGE):
            yield at, stop
    at = -1
    while (at := data.find(secret[-least:], at + 1)) >= 0:
        stop = at + least
        whole = data[max(0, stop - len(secret)) : stop]
        start = stop - _shared(whole[::-1], secret[::-1])
        before = data[max(0, start - _EDGE_BYTES) : start].rsplit(b"\n", 1)[-1]
        if not before.strip(_EDGE):
            yield start, stop


def _without_beginnings(secret: str, text: str, label: str) -> str:
    """Mask the beginning of a secret at the end of a line, where the text was cut."""
    head, at = secret[:LEAST_CHARS], 0
    while (at := text.find(head, at)) >= 0:
        rest = re.split(_LINE_ENDS, text[at : at + len(secret) + len(_AROUND + _MORE)], maxsplit=1)[0]
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
        start = end - _shared(text[max(0, end - len(secret)) : end][::-1], secret[::-1])
        before = re.split(_LINE_ENDS, text[max(0, start - _BEFORE_CHARS) : start])[-1]
        at += 1
        if re.fullmatch(_BEFORE, before):
            text = f"{text[:start]}{label}{text[end:]}"
            at = start + len(label)
    return text


def _parts(secret: str) -> frozenset[str]:
    """Return how a part of a secret may begin."""
    return frozenset(secret[at : at + LEAST_CHARS] for at in range(len(secret) - LEAST_CHARS + 1))


_remembered_parts = lru_cache(64)(_parts)


def _shared(one: str | bytes, other: str | bytes) -> int:
    """Return how many characters, or bytes, two begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
