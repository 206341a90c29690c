"""Where a path leads, and which links decide that."""

from __future__ import annotations

import os
from collections.abc import Iterable

_MOST_STEPS = 1000  # names and links of one path: links may lead in a circle


def is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in (path, "/") or path.startswith(folder + "/") for folder in folders)


def reached(path: str, roots: Iterable[str], *, fixed: Iterable[str] = ()) -> str | None:
    """Return where a path leads; None if a link in a writable directory is on the way, since a job
    may have made it. In `fixed` directories none can."""
    place, links = followed(path)
    return None if any(is_in(link, roots) and not is_in(link, fixed) for link in links) else place


def followed(path: str) -> tuple[str | None, list[str]]:
    """Return where a path leads, None for a circle of links, and the links on the way."""
    done, left = "/", [*filter(None, path.split("/"))]
    links: list[str] = []
    for _ in range(_MOST_STEPS):
        if not left:
            return done, links
        here = os.path.normpath(os.path.join(done, left.pop(0)))
        try:
            target = os.readlink(here)
        except OSError:
            done = here
            continue
        links.append(here)
        done = "/" if target.startswith("/") else done
        left = [*filter(None, target.split("/")), *left]
    return None, links
