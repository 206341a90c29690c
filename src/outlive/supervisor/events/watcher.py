"""Search the output for the lines that watches name. Loaded only for a job that has a watch.

The log is read, not the pipe: a search never holds up the output, it falls behind and catches up.
How far it came is on disk, so that a supervisor that takes over neither misses a line nor reports
one twice. A hit goes into the history, from which readers report it to models: so many a minute,
and beyond that their number. If its watch has a command or a file, each hit goes into the log of
notifications, too (`notification_log.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice

from outlive import limits
from outlive.core import records
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.store import history
from outlive.store.job_dir import WATCHED, JobDir
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Hit, Pattern, seen
from outlive.store.output.scanner import Scanner
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.notification_log import Known, NotificationLog
from outlive.system.fds import Closing

_UNFINISHED_QUIET_S = 0.3  # an unfinished line is searched after this much silence: it may be a prompt
_HIT_WINDOW_S = 60.0  # in which hits are counted
_MOST = 100  # hits of one turn: about as much as takes SCAN_S

_WATCHED_BYTES = 255  # two positions, and the ids of the watches that were looked for up to there
AGENT_EXEC = "output_match"  # the id of the one pattern in the form of agent-exec


class _Suppressed(Value):
    """Hits of a watch that were too many in this minute. `first` and `last`: (stream, offset) of those."""

    number: int
    first: tuple[int, int]
    last: tuple[int, int]
    hit: Hit  # the last


class Watch:
    """One watch. `first`: for each stream, where the first line begins that counts. `shown`: its
    hits of this minute in the history."""

    def __init__(self, spec: records.Watch, first: list[int]) -> None:
        self.spec = spec
        self.id: str = spec.id
        self.pattern = Pattern(spec.pattern, spec.match_type)
        only = records.STREAMS[spec.stream]
        self.streams = (0, 1) if only is None else (only,)
        self.first = first
        self.done = False
        self.shown = 0
        self.suppressed: _Suppressed | None = None
        self.is_recorded = bool(spec.targets) or self.id == AGENT_EXEC  # in the log of notifications

    def suppress(self, place: tuple[int, int], hit: Hit) -> None:
        """Count a hit that is one too many."""
        known = self.suppressed
        self.suppressed = _Suppressed(known.number + 1 if known else 1, known.first if known else place, place, hit)

    def hits(self, number: int, stream: int, at: int, text: bytes) -> Iterator[tuple[int, int, Watch, Hit]]:
        """Yield the hits in `text`, which begins at `at` in the log, each with the position of its line
        and this number."""
        if self.done or stream not in self.streams or at + len(text) <= self.first[stream]:
            return iter(())
        starts = ((at + hit.start, number, self, hit) for hit in self.pattern.hits(text))
        counted = (one for one in starts if one[0] >= self.first[stream])
        return islice(counted, 1) if self.spec.once else counted


class _Found(Value):
    """A hit, and the position of its line. `is_shown`: it goes into the history."""

    start: int
    watch: Watch
    hit: Hit
    is_shown: bool


class Watcher:
    """The search. `tell(type, seq=…, **content)` puts an event into the history; `on_done` is called
    when the search is over."""

    def __init__(
        self,
        job: JobDir,
        loop: EventLoop,
        log: NotificationLog,
        *,
        tell: Callable[..., None],
        on_done: Callable[[], None],
    ) -> None:
        self._job = job
        self._log = log
        self._tell = tell
        self._on_done = on_done
        self._next_slice = loop.timer(self._guarded, self._look)
        self._quiet = loop.timer(self._look_at_prompt)
        self._minute = loop.timer(self._new_minute)
        self._watches: list[Watch] = []
        self._scanners: dict[int, Scanner] = {}
        self._shown = 0  # hits of all watches in the history, in this minute
        self._ending = self._held = False
        self._covered: set[str] = set()  # watches that a killed supervisor had searched for as far as it came
        self._saved = self._load()
        self._in_history = Known(history.recorded(job, history.WATCH_HIT))

    # --- which ---

    def configure(self, specs: list[records.Watch]) -> None:
        """Look for these from now on. A watch that was there goes on; errors of a pattern go into the history."""
        self._log.configure(specs)
        known = {watch.id: watch for watch in self._watches}
        self._watches = []
        new = []
        for spec in specs:
            old = known.get(spec.id)
            if old is not None and old.spec == spec:
                self._watches.append(old)
                continue
            try:
                new.append(self._new(spec))
                self._watches.append(new[-1])
            except (OutliveError, ImportError) as error:
                self._tell(history.WATCH_FAILED, watch=spec.id, message=str(error))
        self._open_scanners()
        self._rewind([watch for watch in new if watch.id not in self._covered])
        self._covered.clear()
        self._next_slice.after(0)

    def _new(self, spec: records.Watch) -> Watch:
        with Output(self._job) as output:
            first = output.offsets_at(spec.from_seq)
        watch = Watch(spec, first)
        for stream in watch.streams:
            scanner = Scanner(self._job, stream, 0)
            watch.first[stream] = scanner.line_start(first[stream])
            scanner.close()
        watch.done = spec.once and self._in_history.has_any(spec)
        return watch

    def _open_scanners(self) -> None:
        for stream in (0, 1):
            starts = [watch.first[stream] for watch in self._watches if stream in watch.streams and not watch.done]
            if not starts:
                if stream in self._scanners:
                    self._scanners.pop(stream).close()
            elif stream not in self._scanners:
                offset = min(starts) if self._saved is None else max(min(starts), self._saved[stream])
                self._scanners[stream] = Scanner(self._job, stream, offset)

    def _rewind(self, new: list[Watch]) -> None:
        """A new watch counts lines that were searched for the others while its request was under way."""
        for stream, scanner in self._scanners.items():
            first = min((watch.first[stream] for watch in new if stream in watch.streams), default=scanner.offset)
            if first >= scanner.offset:
                continue
            for watch in self._watches:
                if watch not in new:
                    watch.first[stream] = max(watch.first[stream], scanner.offset)
            scanner.offset = first

    # --- looking ---

    @property
    def busy(self) -> bool:
        return self._held or self._next_slice.is_set or self._quiet.is_set

    def go_on(self) -> None:
        """Deliver the next hit, and search again if there was no room for more."""
        self._guarded(self._log.deliver)
        if self._held:
            self._held = False
            self._next_slice.after(0)

    def output(self) -> None:
        """Take note of new output."""
        if self._scanners and not self._held and not self._next_slice.is_set:
            self._quiet.cancel()
            self._next_slice.after(0)

    def finish(self) -> None:
        """Search what the command wrote last: for a moment at once, and the rest without pauses."""
        self._ending = True
        self._guarded(self._look_at_last_words)

    def _look_at_last_words(self) -> None:
        until = time.monotonic() + limits.SCAN_S * 5
        while self._log.has_room:
            if not self._search_some():
                self._search_unfinished()
                break
            if time.monotonic() > until:
                break
        self._quiet.cancel()
        self._next_slice.after(0)  # which also sees whether there was room

    def stop(self) -> None:
        self._watches, self._held = [], False
        self._open_scanners()
        for timer in (self._next_slice, self._quiet, self._minute):
            timer.cancel()

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - no mistake in here may cost the job its supervisor
            self.stop()
            self._tell(history.WATCH_FAILED, message=f"{type(error).__name__}: {error}")

    def _look(self) -> None:
        if not self._log.has_room:
            self._held = True
            return
        began = time.monotonic()
        if self._search_some():
            # A costly pattern gets half of the time, and moving the output the other half
            pause = 0.0 if self._ending else time.monotonic() - began
            self._next_slice.after(pause)
        elif not self._ending:
            if any(scanner.behind for scanner in self._scanners.values()):
                self._quiet.after(_UNFINISHED_QUIET_S)
        else:
            self._search_unfinished()
            self._summarize()
            self._on_done()

    def _search_some(self) -> bool:
        """Search one piece of each stream. Return False if no whole line is left."""
        any_text = False
        for scanner in self._open():
            at, text = scanner.whole_lines()
            if text:
                any_text = True
                self._search(scanner.stream, at, text)
                scanner.searched()
        if any_text:
            self._save()
        if any(scanner.skipped for scanner in self._open()):
            self._start_minute()
        return any_text

    def _look_at_prompt(self) -> None:
        if self._log.has_room:
            self._guarded(self._search_unfinished)
        else:
            self._held = True

    def _open(self) -> Iterator[Scanner]:
        """Yield the open scanners, one after the other: the first hit of a `once` watch can close
        the other stream's."""
        for stream in (0, 1):
            if stream in self._scanners:
                yield self._scanners[stream]

    def _search_unfinished(self) -> None:
        """Search the unfinished last lines. A hit is known then: the finished line is not reported again."""
        for scanner in self._open():
            at, text = scanner.unfinished()
            if text:
                self._search(scanner.stream, at, text, unfinished=True)

    def _search(self, stream: int, at: int, text: bytes, *, unfinished: bool = False) -> None:
        found = self._found(stream, at, text, unfinished=unfinished)
        if not found:
            return
        with Output(self._job) as output:
            for one in found:
                self._report(output, stream, one)

    def _found(self, stream: int, at: int, text: bytes, *, unfinished: bool) -> list[_Found]:
        """Return the hits that go anywhere, in the order of the lines, and count the others. After so
        many the next turn goes on."""
        found: list[_Found] = []
        each = (watch.hits(number, stream, at, text) for number, watch in enumerate(self._watches))
        for start, _, watch, hit in merge(*each):
            if len(found) >= _MOST and start > found[-1].start:
                self._scanners[stream].offset = start
                break
            has_room = watch.shown < limits.HITS_A_MINUTE and self._shown < limits.JOB_HITS_A_MINUTE
            is_shown = watch.spec.once or has_room
            if is_shown:
                watch.shown += 1
                self._shown += 1
            elif not unfinished:
                watch.suppress((stream, start), hit)
            if is_shown or watch.is_recorded:
                found.append(_Found(start, watch, hit, is_shown))
        return found

    def _report(self, output: Output, stream: int, found: _Found) -> None:
        """Report a hit. The history has it last: a successor looks no more for a `once` watch that is there."""
        watch, hit = found.watch, found.hit
        seq = output.seq_of(stream, found.start)
        event = {"seq": seq, "watch": watch.id, "pattern": watch.spec.pattern, "match_type": watch.spec.match_type}
        event |= {"stream": records.STREAM_NAMES[stream], "line": hit.line, "match": hit.match}
        if watch.is_recorded and self._log.known.add(event):
            end = seq + hit.end - hit.start
            before = output.read(max(0, end - limits.SNIPPET_BYTES), end)
            self._log.add({**event, "snippet": seen(before).decode("utf-8", "replace")})
        if found.is_shown and self._in_history.add(event):
            self._start_minute()
            self._tell(history.WATCH_HIT, **event)
        if watch.spec.once:
            watch.done = True
            self._open_scanners()

    def _start_minute(self) -> None:
        if not self._minute.is_set:
            self._minute.after(_HIT_WINDOW_S)

    def _new_minute(self) -> None:
        self._summarize()
        self._shown = 0
        for watch in self._watches:
            watch.shown = 0

    def _summarize(self) -> None:
        """Add the events about hits that were too many, and about output that was gone before it was searched."""
        for watch in self._watches:
            one, watch.suppressed = watch.suppressed, None
            if one is not None:
                with Output(self._job) as output:
                    first, last = output.seq_of(*one.first), output.seq_of(*one.last)
                about = {"watch": watch.id, "pattern": watch.spec.pattern, "count": one.number}
                about |= {"from_seq": first, "to_seq": last, "line": one.hit.line}
                self._tell(history.WATCH_SUPPRESSED, seq=last, **about)
        for scanner in self._open():
            if scanner.skipped:
                self._tell(history.WATCH_SKIPPED, stream=records.STREAM_NAMES[scanner.stream], bytes=scanner.skipped)
                scanner.skipped = 0

    # --- how far it came ---

    def _load(self) -> list[int] | None:
        try:
            with Closing(self._job.open_file(WATCHED)) as fd:
                words = os.read(fd, 2 * _WATCHED_BYTES).split()
            self._covered = {word.decode("ascii") for word in words[2:]}
            return [int(words[0]), int(words[1])]
        except (OSError, ValueError, IndexError):
            return None

    def _save(self) -> None:
        """Record how far the search came, after its hits were reported: a takeover finds those in the
        history and goes on here."""
        self._saved = [
            self._scanners[stream].offset if stream in self._scanners else (self._saved or [0, 0])[stream]
            for stream in (0, 1)
        ]
        ids = " ".join(watch.id for watch in self._watches)
        line = f"{self._saved[0]:020} {self._saved[1]:020} {ids}".ljust(_WATCHED_BYTES) + "\n"
        try:
            with Closing(self._job.open_file(WATCHED, os.O_WRONLY | os.O_CREAT)) as fd:
                os.pwrite(fd, line.encode("ascii"), 0)  # one write of fixed width: old or new
        except OSError:  # full or removed
            return
        self._log.bound()
