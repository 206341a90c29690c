"""Which events of a job on another machine are not in the history here yet."""

from __future__ import annotations

from outlive.annotations import Any, Iterator
from outlive.store import history
from outlive.store.job_dir import JobDir

Event = dict[str, Any]

# The mirror tells these itself, from the state
_OWN = frozenset({history.FINISHED, history.LEFT_OUT})


class FarEvents:
    """The events that came. `job`: its directory here, in whose history an earlier mirror may have
    put some of them."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._here: dict[tuple[str, int, str], int] | None = None  # event → how often it is here
        self._last = 0  # `n` of the newest event

    def new(self, events: list[Event]) -> Iterator[Event]:
        """Yield the events that are not here, without the number that they have there."""
        if self._here is None:
            self._here = {}
            for event in history.read(self._job)[0]:
                self._here[_key(event)] = self._here.get(_key(event), 0) + 1
        for event in events:
            key, number = _key(event), event.pop("n")
            if number <= self._last or event["type"] in _OWN:
                continue
            self._last = number
            if self._here.get(key):
                self._here[key] -= 1
            else:
                yield event


def _key(event: Event) -> tuple[str, int, str]:
    return event["type"], event["seq"], event["at"]
