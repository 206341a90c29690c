"""Search the output for the lines that watches name. Loaded only for a job that has a watch.

The log is read, not the pipe: a search never holds up the output, it falls behind and catches up.
How far it came is on disk, so that a supervisor that takes over neither misses a line nor reports
one twice. There are two searches, each at its own pace: `hits.py` reports to readers of the
history, under a cap; `delivery.py` hands every hit to the command and the file of its watch.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from outlive import limits
from outlive.core import records
from outlive.errors import OutliveError
from outlive.store import history
from outlive.store.job_dir import WATCHED, JobDir
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Hit, Pattern
from outlive.store.output.scanner import Scanner
from outlive.supervisor.event_loop import EventLoop
from outlive.system.fds import Closing

_UNFINISHED_QUIET_S = 0.3  # an unfinished line is searched after this much silence: it may be a prompt
_HIT_WINDOW_S = 60.0  # in which hits are counted

_WATCHED_BYTES = 255  # two positions, and the ids of the watches that were looked for up to there
_STREAMS = {"stdout": (0,), "stderr": (1,), "both": (0, 1)}
NAMES = ("stdout", "stderr")


class Watch:
    """One watch. `first`: for each stream, where the first line begins that counts."""

    def __init__(self, spec: records.Watch, first: list[int]) -> None:
        self.spec = spec
        self.id: str = spec.id
        self.pattern = Pattern(spec.pattern, spec.match_type)
        self.streams = _STREAMS[spec.stream]
        self.first = first
        self.done = False

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.spec.pattern

    def hits(self, stream: int, at: int, text: bytes) -> Iterator[tuple[int, Hit]]:
        return ((at + hit.start, hit) for hit in self.pattern.hits(text) if at + hit.start >= self.first[stream])


class Watcher(ABC):
    """One search. `tell(type, seq=…, **content)` puts an event into the history; `on_done` is
    called when the search is over.

    A subclass names the file of its positions, chooses hits in `_chosen` and reports
    them in `_report`.
    """

    positions = WATCHED

    def __init__(self, job: JobDir, loop: EventLoop, *, tell: Callable[..., None], on_done: Callable[[], None]) -> None:
        self._job = job
        self._tell = tell
        self._on_done = on_done
        self._next_slice = loop.timer(self._guarded, self._look)
        self._quiet = loop.timer(self._look_at_prompt)
        self._minute = loop.timer(self._new_minute)
        self._watches: list[Watch] = []
        self._scanners: dict[int, Scanner] = {}
        self._ending = self._held = False
        self._covered: set[str] = set()  # watches that a killed supervisor had searched for as far as it came
        self._saved = self._load()
        # (watch, pattern, seq) of hits that were reported and may be found again; a new watch may
        # have the id of a removed one. Also without positions: they are written after the hits are
        self._known = self._reported()

    # --- of a subclass ---

    @abstractmethod
    def _chosen(self, stream: int, at: int, text: bytes, *, unfinished: bool) -> list[tuple[int, Watch, Hit]]:
        """Return the hits in `text`, which begins at `at` in the log, that are to be reported, each
        with the position of its line, in the order of the lines."""

    @abstractmethod
    def _report(self, watch: Watch, hit: dict[str, object], output: Output, end: int) -> None:
        """Report one hit {seq, watch, pattern, match_type, stream, line, match}, whose line ends at
        `end` of the output."""

    @abstractmethod
    def _reported(self) -> set[tuple[str, str, int]]:
        """Return what a killed supervisor reported, as (watch, pattern, seq)."""

    @abstractmethod
    def _skipped(self, stream: str, count: int) -> None:
        """Say that so many bytes were gone before they were searched."""

    @abstractmethod
    def _failed(self, spec: records.Watch, error: Exception) -> None:
        """Say that the pattern of a watch does not work."""

    def _has_room(self) -> bool:
        """Return whether more hits can be reported now."""
        return True

    # --- which ---

    def configure(self, specs: list[records.Watch]) -> None:
        """Look for these from now on. A watch that was there goes on; errors of a pattern go into the history."""
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
                self._failed(spec, error)
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
        watch.done = spec.once and any(known[:2] == watch.key for known in self._known)
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
        """Search again if there was no room for more hits."""
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
        while self._has_room():
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
        if not self._has_room():
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
        if self._has_room():
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
        """Search the unfinished last lines. `_known` remembers a hit, so that the finished line is
        not reported again."""
        for scanner in self._open():
            at, text = scanner.unfinished()
            if text:
                self._search(scanner.stream, at, text, unfinished=True)

    def _search(self, stream: int, at: int, text: bytes, *, unfinished: bool = False) -> None:
        chosen = self._chosen(stream, at, text, unfinished=unfinished)
        if not chosen:
            return
        with Output(self._job) as output:
            for start, watch, hit in chosen:
                self._hit(output, watch, stream, start, hit, unfinished=unfinished)

    def _hits(self, stream: int, at: int, text: bytes) -> Iterator[tuple[Watch, Iterator[tuple[int, Hit]]]]:
        """Yield each watch that counts here, with its hits and the positions of their lines."""
        for watch in self._watches:
            if not watch.done and stream in watch.streams and at + len(text) > watch.first[stream]:
                yield watch, watch.hits(stream, at, text)

    def _hit(self, output: Output, watch: Watch, stream: int, start: int, hit: Hit, *, unfinished: bool) -> None:
        seq = output.seq_of(stream, start)
        known = (*watch.key, seq)
        if known in self._known:
            if not unfinished:
                self._known.discard(known)
            return
        if unfinished:
            self._known.add(known)
        spec = watch.spec
        event = {"seq": seq, "watch": watch.id, "pattern": spec.pattern, "match_type": spec.match_type}
        event |= {"stream": NAMES[stream], "line": hit.line, "match": hit.match}
        self._report(watch, event, output, seq + hit.end - hit.start)
        if spec.once:
            watch.done = True
            self._open_scanners()

    def _start_minute(self) -> None:
        if not self._minute.is_set:
            self._minute.after(_HIT_WINDOW_S)

    def _new_minute(self) -> None:
        self._summarize()

    def _summarize(self) -> None:
        """Say what was gone before it was searched."""
        for scanner in self._open():
            if scanner.skipped:
                self._skipped(NAMES[scanner.stream], scanner.skipped)
                scanner.skipped = 0

    # --- how far it came ---

    def _load(self) -> list[int] | None:
        try:
            with Closing(self._job.open_file(self.positions)) as fd:
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
            with Closing(self._job.open_file(self.positions, os.O_WRONLY | os.O_CREAT)) as fd:
                os.pwrite(fd, line.encode("ascii"), 0)  # one write of fixed width: old or new
        except OSError:  # full or removed
            return
