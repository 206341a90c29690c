"""Put the hits of watches into the history of the job, from which readers report them to models: so
many a minute, and beyond that their number.
"""

from __future__ import annotations

from typing import Any

from outlive import limits
from outlive.core import records
from outlive.store import history
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Hit
from outlive.supervisor.events.watcher import Watch, Watcher


class _Count:
    """What was reported of a watch in this minute, and what was not. `span`: (stream, offset) of the
    first and the last of the suppressed hits."""

    def __init__(self) -> None:
        self.reported = self.suppressed = 0
        self.span: tuple[tuple[int, int], tuple[int, int]] | None = None
        self.last: Hit | None = None


class HitReporter(Watcher):
    """The search that reports to the history."""

    def __init__(self, *args: Any, **how: Any) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}
        self._all_reported = 0  # of all watches, in this minute
        super().__init__(*args, **how)

    def _count(self, watch: Watch) -> _Count:
        return self._counts.setdefault(watch.key, _Count())

    def _reported(self) -> set[tuple[str, str, int]]:
        events = history.told(self._job, history.WATCH_HIT)
        return {(str(event.get("watch")), str(event.get("pattern")), event["seq"]) for event in events}

    def _chosen(self, stream: int, at: int, text: bytes, *, unfinished: bool) -> list[tuple[int, Watch, Hit]]:
        chosen: list[tuple[int, Watch, Hit]] = []
        left = limits.JOB_HITS_A_MINUTE - self._all_reported
        for watch, hits in self._hits(stream, at, text):
            room = min(left, limits.HITS_A_MINUTE - self._count(watch).reported)
            for start, hit in hits:
                if room > 0 or watch.spec.once:
                    chosen.append((start, watch, hit))
                    room -= 1
                    left -= 1
                    if watch.spec.once:
                        break
                elif not unfinished:
                    self._suppress(watch, stream, start, hit)
        return sorted(chosen, key=lambda one: one[0])  # of one line in the order of the watches

    def _report(self, watch: Watch, hit: dict[str, object], output: Output, end: int) -> None:
        self._start_minute()
        self._count(watch).reported += 1
        self._all_reported += 1
        self._tell(history.WATCH_HIT, **hit)

    def _suppress(self, watch: Watch, stream: int, start: int, hit: Hit) -> None:
        count = self._count(watch)
        count.suppressed += 1
        count.span = (count.span[0] if count.span else (stream, start), (stream, start))
        count.last = hit

    def _new_minute(self) -> None:
        self._summarize()
        self._all_reported = 0
        self._counts.clear()

    def _failed(self, spec: records.Watch, error: Exception) -> None:
        self._tell(history.WATCH_FAILED, watch=spec.id, message=str(error))

    def _skipped(self, stream: str, count: int) -> None:
        self._tell(history.WATCH_SKIPPED, stream=stream, bytes=count)

    def _summarize(self) -> None:
        """Add the events about hits that were too many, and about output that was gone before it was searched."""
        super()._summarize()
        for watch in self._watches:
            count = self._count(watch)
            if count.span is None or count.last is None:
                continue
            with Output(self._job) as output:
                first, last = (output.seq_of(*place) for place in count.span)
            self._tell(
                history.WATCH_SUPPRESSED,
                seq=last,
                watch=watch.id,
                pattern=watch.spec.pattern,
                count=count.suppressed,
                from_seq=first,
                to_seq=last,
                line=count.last.line,
            )
            count.suppressed, count.span, count.last = 0, None, None
