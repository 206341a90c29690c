"""Guess the name that a misspelt word means."""

from __future__ import annotations


def nearest(word: str, known: list[str]) -> str | None:
    """Return the known name that `word` is a misspelling or the beginning of; None if there is
    none.

    A wrong guess costs more than none, so two names that only look alike are not near, nor is the
    contrary of a name: `--no-wait` does not mean `--wait`.
    """
    folded = letters_of(word)
    contrary = folded.removeprefix("no") if folded.startswith("no") else f"no{folded}"
    names = [(name, letters_of(name)) for name in known if letters_of(name) != contrary]
    for name, letters in names:  # RUN, dryrun, max-bytes
        if letters == folded:
            return name
    # `--snapshot` means `--snapshot-after`, and `timeout` means `timeout_ms`
    plain = word.strip("-").replace("-", "_").lower()
    if len(folded) >= _LEAST_PREFIX:
        parts = [name for name, _ in names if name.strip("-").replace("-", "_").lower().startswith(plain + "_")]
        begun = [name for name, letters in names if letters.startswith(folded)]
        longer = [name for name, letters in names if letters in (folded[:-1], folded.removesuffix("es"))]
        for names_alike in (parts, begun if len(begun) == 1 else [], longer):
            if names_alike:
                return names_alike[0]
    # A short word that begins otherwise is another one: `ask` is not `mask`
    alike = [(name, letters) for name, letters in names if len(folded) > _SHORT_WORD or letters[:1] == folded[:1]]
    edits = [(_edits(folded, letters), name) for name, letters in alike]
    least = min((count for count, _ in edits), default=_MOST_EDITS + 1)
    near = [name for count, name in edits if count == least]
    return near[0] if least <= _edits_allowed(folded) and len(near) == 1 else None


def meant(word: str, known: list[str], otherwise: str | None = None) -> str:
    """Return a hint about a word that is not known: the name that it may be, else `otherwise`, by default all names."""
    return asked_for(nearest(word, known), f"Known: {', '.join(known)}." if otherwise is None else otherwise)


def asked_for(name: str | None, otherwise: str) -> str:
    """Return a hint that asks whether this name is meant; `otherwise` if there is none."""
    return f"Did you mean {name}?" if name else otherwise


_LEAST_PREFIX = 3
_MOST_EDITS = 2
_SHORT_WORD = 4


def letters_of(name: str) -> str:
    """Return what all spellings of a name have in common: sinceseq of since_seq, sinceSeq, since-seq."""
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


def _edits_allowed(word: str) -> int:
    return 0 if len(word) < 2 else 1 if len(word) < 6 else _MOST_EDITS


def _edits(one: str, other: str) -> int:
    """Return how many letters were left out, added, mistaken or swapped; at most _MOST_EDITS + 1. In a short word a
    mistaken letter makes another word: `end` is not `env`."""
    if abs(len(one) - len(other)) > _MOST_EDITS:
        return _MOST_EDITS + 1
    mistaken = 1 if len(one) > _SHORT_WORD else 2
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        now = [row]
        for column, right in enumerate(other, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + mistaken * (left != right))
            if row > 1 and column > 1 and left == other[column - 2] and right == one[row - 2]:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
