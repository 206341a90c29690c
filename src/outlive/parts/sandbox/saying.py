"""What a model reads of the sandbox of a job, in a line. A person reads its fields."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import object_of, texts_of
from outlive.core.quoted import quoted


def lines(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """`process`: as in the declaration of a part (part.py)."""
    if process is None:
        return []
    its = object_of(answer, "sandbox")
    git = ", git write" if its["git"] == "write" else ""
    added = texts_of(its, "added")  # hidden or read-only
    kept = f", since its first start also kept from {', '.join(map(quoted, added))}" if added else ""
    return [f"sandbox: {its['mode']}, network {its['network']}{git}{kept}"]
