"""What a campaign has done, counted by the threads of its lanes."""

from __future__ import annotations

import threading
from collections import Counter


class Tally:
    """`kinds` counts jobs, `kills` the SIGKILLs that met a process, by the act."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        self.failures = 0
        self._lock = threading.Lock()

    def ran(self, kind: str) -> None:
        with self._lock:
            self.kinds[kind] += 1

    def killed(self, name: str, count: int = 1) -> None:
        with self._lock:
            self.kills[name] += count

    def failed(self) -> None:
        with self._lock:
            self.failures += 1

    def __str__(self) -> str:
        told = [
            ", ".join(f"{name} {n}" for name, n in sorted(found.items()) if n) for found in (self.kinds, self.kills)
        ]
        return "\n".join([*told, f"{self.kinds.total()} jobs, {self.kills.total()} kills, {self.failures} failures"])


def _listed(found: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items()) if count)
