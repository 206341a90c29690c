"""Hand every hit of a watch to its command and its file.

Unlike the reports in the history, deliveries have no cap. When commands are slower than hits come,
the search waits for them: the log on disk is the queue.
"""

from __future__ import annotations

from typing import Any

from outlive import limits
from outlive.core import records
from outlive.core.records import Definition
from outlive.store import history
from outlive.store.job_dir import DELIVERED
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Hit, seen
from outlive.supervisor.events.notification_log import NotificationLog
from outlive.supervisor.events.sinks import MATCHED, Delivery, Sinks, matched_event
from outlive.supervisor.events.watcher import Watch, Watcher

AGENT_EXEC = "output_match"  # the id of the one pattern in the form of agent-exec
_MOST = 100  # hits of one turn: about as much as takes SCAN_S
_LEAST_ROOM = limits.MAX_WATCHES + 1  # so many watches may match one line


def is_recorded(spec: records.Watch) -> bool:
    """Return whether the hits of this watch go anywhere but into the history."""
    return bool(spec.targets) or spec.id == AGENT_EXEC


class HitDelivery(Watcher):
    """The search that tells the sinks of watches."""

    positions = DELIVERED

    def __init__(self, *args: Any, sinks: Sinks, definition: Definition, **how: Any) -> None:
        self._sinks = sinks
        self._definition = definition
        self._undelivered: list[Delivery] = []
        self._log = NotificationLog(args[0], how["tell"])
        super().__init__(*args, **how)

    def configure(self, specs: list[records.Watch]) -> None:
        wanted = [spec for spec in specs if is_recorded(spec)]
        for gone in {watch.id for watch in self._watches} - {spec.id for spec in wanted}:
            self._sinks.drop(gone)
        super().configure(wanted)
        self._resume({spec.id: spec for spec in wanted})

    def _resume(self, specs: dict[str, records.Watch]) -> None:
        """Deliver what a killed supervisor had not delivered."""
        deliveries, self._undelivered = self._undelivered, []
        for delivery in deliveries:
            delivery.targets = specs[delivery.watch].targets if delivery.watch in specs else {}
            if not delivery.left:
                self._log.forget(delivery)
        left = [delivery for delivery in deliveries if delivery.left]
        if left:
            self._sinks.end_predecessors()
        for delivery in left:
            self._sinks.matched(delivery)

    def _save(self) -> None:
        super()._save()
        self._log.bound()

    def _reported(self) -> set[tuple[str, str, int]]:
        known, self._undelivered = self._log.load()
        return known

    def _has_room(self) -> bool:
        return self._sinks.room >= _LEAST_ROOM

    def _chosen(self, stream: int, at: int, text: bytes, *, unfinished: bool) -> list[tuple[int, Watch, Hit]]:
        """Return as many hits as there is room for. The search goes on behind the last of them."""
        most = min(_MOST, self._sinks.room)
        chosen: list[tuple[int, Watch, Hit]] = []
        for watch, hits in self._hits(stream, at, text):
            for count, (start, hit) in enumerate(hits):
                chosen.append((start, watch, hit))
                if watch.spec.once or count >= most:
                    break
        chosen.sort(key=lambda one: one[0])
        if len(chosen) <= most or unfinished:
            return chosen[:most]
        rest = chosen[most][0]
        self._scanners[stream].offset = rest
        return [one for one in chosen if one[0] < rest]

    def _report(self, watch: Watch, hit: dict[str, object], output: Output, end: int) -> None:
        before = output.read(max(0, end - limits.SNIPPET_BYTES), end)
        hit["snippet"] = seen(before).decode("utf-8", "replace")
        event = matched_event(self._definition, self._job, hit)
        self._sinks.matched(self._log.add(event, watch.spec.targets))

    def _failed(self, spec: records.Watch, error: Exception) -> None:
        return  # the search for the history says it

    def _skipped(self, stream: str, count: int) -> None:
        error = f"{count:,} bytes of {stream} were gone before they could be searched"
        self._tell(history.NOT_NOTIFIED, event_type=MATCHED, error=error)
