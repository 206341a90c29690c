"""Hand every hit of a watch to its command and its file.

Unlike the reports in the history, deliveries have no cap. When commands are slower than hits come,
the search waits for them: the log on disk is the queue.
"""

from __future__ import annotations

from outlive import limits
from outlive.store import history
from outlive.store.job_dir import DELIVERED, WATCHED
from outlive.store.output.patterns import seen
from outlive.supervisor.events.notification_log import NotificationLog
from outlive.supervisor.events.sinks import MATCHED, matched_event
from outlive.supervisor.events.watcher import Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.core.records import Definition
    from outlive.store.output.merged import Output
    from outlive.store.output.patterns import Hit
    from outlive.supervisor.events.sinks import Sinks
    from outlive.supervisor.events.watcher import Watch

AGENT_EXEC = "output_match"  # the id of the one pattern in the form of agent-exec
_MOST = 100  # hits of one turn: about as much as takes SCAN_S
_LEAST_ROOM = limits.MAX_WATCHES + 1  # so many watches may match one line


def is_delivered(spec: dict[str, Any]) -> bool:
    """Return whether the hits of this watch go anywhere but into the history."""
    return bool(sinks_of(spec)) or spec["id"] == AGENT_EXEC


class HitDelivery(Watcher):
    """The search that tells the sinks of watches."""

    positions = DELIVERED
    timer = "deliver"

    def __init__(self, *args: Any, sinks: Sinks, definition: Definition, **how: Any) -> None:
        self._sinks = sinks
        self._definition = definition
        self._undelivered: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        self._log = NotificationLog(args[0], how["tell"])
        super().__init__(*args, **how)

    def configure(self, specs: list[dict[str, Any]]) -> None:
        wanted = [spec for spec in specs if is_delivered(spec)]
        for gone in {watch.id for watch in self._watches} - {spec["id"] for spec in wanted}:
            self._sinks.drop(gone)
        super().configure(wanted)
        if wanted:  # at once: without this file a successor goes on where the reports came to
            self._save()
        self._resume({spec["id"]: spec for spec in wanted})

    def _resume(self, specs: dict[str, dict[str, Any]]) -> None:
        """Deliver what a killed supervisor had not delivered."""
        found, self._undelivered = self._undelivered, []
        owed = []
        for event, results in found:
            sinks = sinks_of(specs.get(event["watch"], {}))
            left = {sink["sink_type"] for sink in sinks} - {result.get("sink_type") for result in results}
            if left:
                self._log.expect(event, len(sinks))
                owed.append((event, results, left))
            else:
                self._log.forget(event)
        if owed:
            self._sinks.end_predecessors()
        for event, results, left in owed:
            spec = specs[event["watch"]]
            self._tell_sinks({kind: spec[kind] for kind in left}, event, results)

    def _save(self) -> None:
        super()._save()
        self._log.bound()

    def _load(self) -> list[int] | None:
        # A job of a version without the first file: its sinks were told of what was reported
        return self._load_from(DELIVERED) or self._load_from(WATCHED)

    def _reported(self) -> set[tuple[str, str, int]]:
        known, self._undelivered = self._log.load()
        return known

    def _has_room(self) -> bool:
        return self._sinks.room >= _LEAST_ROOM

    def _chosen(self, stream: int, at: int, text: bytes, *, unfinished: bool) -> list[tuple[int, Watch, Hit]]:
        """Return as many hits as there is room for. The search goes on behind the last of them."""
        most = min(_MOST, self._sinks.room)
        found: list[tuple[int, Watch, Hit]] = []
        for watch, hits in self._hits(stream, at, text):
            for count, (start, hit) in enumerate(hits):
                found.append((start, watch, hit))
                if watch.spec["once"] or count >= most:
                    break
        found.sort(key=lambda one: one[0])
        if len(found) <= most or unfinished:
            return found[:most]
        rest = found[most][0]
        self._scanners[stream].offset = rest
        return [one for one in found if one[0] < rest]

    def _report(self, watch: Watch, hit: dict[str, Any], output: Output, end: int) -> None:
        before = output.read(max(0, end - limits.SNIPPET_BYTES), end)
        found = {**hit, "snippet": seen(before).decode("utf-8", "replace")}
        event = matched_event(self._definition, self._job, found)
        self._log.add(event, sinks_of(watch.spec))
        if sinks_of(watch.spec):
            self._tell_sinks(watch.spec, event, [])

    def _tell_sinks(self, sinks: dict[str, Any], event: dict[str, Any], results: list[dict[str, Any]]) -> None:
        """Tell the command and the file in `sinks`. `results`: of those that were told before."""
        command, path = sinks.get("command"), sinks.get("file")
        self._sinks.matched(event, self._definition.cwd, command, path, results, self._log.record)

    def _failed(self, spec: dict[str, Any], error: Exception) -> None:
        return  # the search for the history says it

    def _skipped(self, stream: str, count: int) -> None:
        error = f"{count:,} bytes of {stream} were gone before they could be searched"
        self._tell(history.NOT_NOTIFIED, event_type=MATCHED, error=error)


def sinks_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return {sink_type, target} of each sink of a watch."""
    return [{"sink_type": kind, "target": spec[kind]} for kind in ("file", "command") if spec.get(kind)]
