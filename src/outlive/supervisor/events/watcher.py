"""Watches: lines of the output that a caller asked to be told of. Loaded only for a job that has a
watch.

The log is read, not the pipe: a search never holds up the output, it falls behind and catches up.
How far it came is on disk (`.watched`), so that a supervisor that takes over neither misses a line
nor tells of one twice.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.errors import OutliveError
from outlive.store import history
from outlive.store.job_dir import WATCHED
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Pattern, seen
from outlive.store.output.scanner import Scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from outlive.store.job_dir import JobDir
    from outlive.store.output.patterns import Hit
    from outlive.supervisor.event_loop import EventLoop

_UNFINISHED_QUIET_S = 0.3  # an unfinished line is searched after this much silence: it may be a prompt
_HIT_WINDOW_S = 60.0  # in which hits are counted

_WATCHED_BYTES = 255  # two positions, and the ids of the watches that were looked for up to there
_STREAMS = {"stdout": (0,), "stderr": (1,), "both": (0, 1)}
_NAMES = ("stdout", "stderr")


class _Watch:
    """One watch. `first`: for each stream, where the first line begins that counts."""

    def __init__(self, spec: dict[str, Any], first: list[int]) -> None:
        self.spec = spec
        self.pattern = Pattern(spec["pattern"], spec["match_type"])
        self.streams = _STREAMS[spec["stream"]]
        self.first = first
        self.done = False
        self.told = 0  # in this minute
        self.suppressed = 0
        self.span: tuple[tuple[int, int], tuple[int, int]] | None = (
            None  # (stream, offset) of the first and last of those
        )
        self.last: Hit | None = None

    @property
    def id(self) -> str:
        found: str = self.spec["id"]
        return found

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.spec["pattern"]


class Watcher:
    """`tell(type, seq=…, **content)` puts an event into the history, `deliver(spec, event)` hands a
    hit to its sinks.
    """

    def __init__(
        self,
        job: JobDir,
        loop: EventLoop,
        *,
        tell: Callable[..., None],
        deliver: Callable[[dict[str, Any], dict[str, Any]], None],
        on_done: Callable[[], None],
    ) -> None:
        self._job = job
        self._loop = loop
        self._tell = tell
        self._deliver = deliver
        self._on_done = on_done
        self._watches: list[_Watch] = []
        self._scanners: dict[int, Scanner] = {}
        # (watch, pattern, seq) of hits that were told and may be found again; a new watch may have
        # the id of a removed one
        self._known: set[tuple[str, str, int]] = set()
        self._told = 0  # of all watches, in this minute
        self._ending = False
        self._covered: set[str] = set()  # watches that a killed supervisor had searched for as far as it came
        self._saved = self._load()
        self._remember()  # also without `.watched`: it is written after the first hits are

    # --- which ---

    def configure(self, specs: list[dict[str, Any]]) -> None:
        """Look for these from now on. A watch that was there goes on; errors of a pattern go into
        the history.
        """
        known = {watch.id: watch for watch in self._watches}
        self._watches = []
        new = []
        for spec in specs:
            old = known.get(spec["id"])
            if old is not None and old.spec == spec:
                self._watches.append(old)
                continue
            try:
                new.append(self._new(spec))
                self._watches.append(new[-1])
            except (OutliveError, ImportError) as error:
                self._tell(history.WATCH_FAILED, watch=spec["id"], message=str(error))
        self._open_scanners()
        self._rewind([watch for watch in new if watch.id not in self._covered])
        self._covered.clear()
        self._loop.after("watch", 0, self._slice)

    def _new(self, spec: dict[str, Any]) -> _Watch:
        with Output(self._job) as output:
            first = output.offsets_at(spec.get("from_seq", 0))
        watch = _Watch(spec, first)
        for stream in watch.streams:
            scanner = Scanner(self._job, stream, 0)
            watch.first[stream] = scanner.line_start(first[stream])
            scanner.close()
        watch.done = bool(spec["once"]) and any(known[:2] == watch.key for known in self._known)
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

    def _rewind(self, new: list[_Watch]) -> None:
        """A new watch counts lines that were searched for the others while its request was under
        way.
        """
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
        return self._loop.is_set("watch") or self._loop.is_set("watch-quiet")

    def output(self) -> None:
        """Take note of new output."""
        if self._scanners and not self._loop.is_set("watch"):
            self._loop.cancel("watch-quiet")
            self._loop.after("watch", 0, self._slice)

    def finish(self) -> None:
        """Search what the command wrote last: for a moment at once, and the rest without pauses."""
        self._ending = True
        self._guarded(self._look_at_last_words)

    def _look_at_last_words(self) -> None:
        until = time.monotonic() + limits.SCAN_S * 5
        while True:
            if not self._search_some():
                self._search_unfinished()
                break
            if time.monotonic() > until:
                break
        self._loop.cancel("watch-quiet")
        self._loop.after("watch", 0, self._slice)

    def stop(self) -> None:
        """Stop searching."""
        self._watches = []
        self._open_scanners()
        for timer in ("watch", "watch-quiet", "watch-minute"):
            self._loop.cancel(timer)

    def _slice(self) -> None:
        self._guarded(self._look)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - no mistake in here may cost the job its supervisor
            self.stop()
            self._tell(history.WATCH_FAILED, message=f"{type(error).__name__}: {error}")

    def _look(self) -> None:
        began = time.monotonic()
        if self._search_some():
            # A costly pattern gets half of the time, and moving the output the other half
            pause = 0.0 if self._ending else time.monotonic() - began
            self._loop.after("watch", pause, self._slice)
        elif not self._ending:
            if any(scanner.behind for scanner in self._scanners.values()):
                self._loop.after("watch-quiet", _UNFINISHED_QUIET_S, self._look_at_prompt)
        else:
            self._search_unfinished()
            self._summarize()
            self._on_done()

    def _search_some(self) -> bool:
        """Search one piece of each stream. Return False if no whole line is left."""
        found = False
        for scanner in self._open():
            at, text = scanner.whole_lines()
            if text:
                found = True
                self._search(scanner.stream, at, text)
                scanner.searched()
        if found:
            self._save()
        if any(scanner.skipped for scanner in self._open()) and not self._loop.is_set("watch-minute"):
            self._loop.after("watch-minute", _HIT_WINDOW_S, self._new_minute)
        return found

    def _look_at_prompt(self) -> None:
        self._guarded(self._search_unfinished)

    def _open(self) -> Iterator[Scanner]:
        """Yield the open scanners, one after the other: the first hit of a `once` watch can close
        the other stream's.
        """
        for stream in (0, 1):
            if stream in self._scanners:
                yield self._scanners[stream]

    def _search_unfinished(self) -> None:
        """Search the unfinished last lines. `_known` remembers a hit, so that the finished line is
        not told again.
        """
        for scanner in self._open():
            at, text = scanner.unfinished()
            if text:
                self._search(scanner.stream, at, text, unfinished=True)

    def _search(self, stream: int, at: int, text: bytes, *, unfinished: bool = False) -> None:
        found: list[tuple[int, int, _Watch, Hit]] = []
        left = limits.JOB_HITS_A_MINUTE - self._told
        for order, watch in enumerate(self._watches):
            if watch.done or stream not in watch.streams or at + len(text) <= watch.first[stream]:
                continue
            room = min(left, limits.HITS_A_MINUTE - watch.told)
            for hit in watch.pattern.hits(text):
                start = at + hit.start
                if start < watch.first[stream]:
                    continue
                if room > 0 or watch.spec["once"]:
                    found.append((start, order, watch, hit))
                    room -= 1
                    left -= 1
                    if watch.spec["once"]:
                        break
                elif not unfinished:
                    self._suppress(watch, stream, start, hit)
        for start, _, watch, hit in sorted(found, key=lambda one: one[:2]):
            self._hit(watch, stream, start, hit, unfinished=unfinished)

    # --- telling ---

    def _hit(self, watch: _Watch, stream: int, start: int, hit: Hit, *, unfinished: bool) -> None:
        with Output(self._job) as output:
            seq = output.seq_of(stream, start)
            end = seq + hit.end - hit.start
            before = output.read(max(0, end - limits.SNIPPET_BYTES), end)
        known = (*watch.key, seq)
        if known in self._known:
            if not unfinished:
                self._known.discard(known)
            return
        if unfinished:
            self._known.add(known)
        if not self._loop.is_set("watch-minute"):
            self._loop.after("watch-minute", _HIT_WINDOW_S, self._new_minute)
        watch.told += 1
        self._told += 1
        spec = watch.spec
        event = {
            "watch": watch.id,
            "pattern": spec["pattern"],
            "match_type": spec["match_type"],
            "stream": _NAMES[stream],
            "line": hit.line,
            "match": hit.match,
        }
        self._tell(history.WATCH_HIT, seq=seq, **event)
        self._deliver(spec, {"seq": seq, **event, "snippet": seen(before).decode("utf-8", "replace")})
        if spec["once"]:
            watch.done = True
            self._open_scanners()

    def _suppress(self, watch: _Watch, stream: int, start: int, hit: Hit) -> None:
        watch.suppressed += 1
        watch.span = (watch.span[0] if watch.span else (stream, start), (stream, start))
        watch.last = hit

    def _new_minute(self) -> None:
        self._summarize()
        self._told = 0
        for watch in self._watches:
            watch.told = 0

    def _summarize(self) -> None:
        """Add the events about hits that were too many, and about output that was gone before it
        was searched.
        """
        for scanner in self._open():
            if scanner.skipped:
                self._tell(history.WATCH_SKIPPED, stream=_NAMES[scanner.stream], bytes=scanner.skipped)
                scanner.skipped = 0
        for watch in self._watches:
            if watch.span is None or watch.last is None:
                continue
            with Output(self._job) as output:
                first, last = (output.seq_of(*place) for place in watch.span)
            self._tell(
                history.WATCH_SUPPRESSED,
                seq=last,
                watch=watch.id,
                pattern=watch.spec["pattern"],
                count=watch.suppressed,
                from_seq=first,
                to_seq=last,
                line=watch.last.line,
            )
            watch.suppressed, watch.span, watch.last = 0, None, None

    # --- how far it came ---

    def _load(self) -> list[int] | None:
        try:
            fd = self._job.open_file(WATCHED)
        except OSError:
            return None
        try:
            words = os.read(fd, 2 * _WATCHED_BYTES).split()
            self._covered = {word.decode("ascii") for word in words[2:]}
            return [int(words[0]), int(words[1])]
        except (ValueError, IndexError):
            return None
        finally:
            os.close(fd)

    def _save(self) -> None:
        """Record how far the search came, after its hits were told: a takeover finds those in the
        history and goes on here.
        """
        self._saved = [
            self._scanners[stream].offset if stream in self._scanners else (self._saved or [0, 0])[stream]
            for stream in (0, 1)
        ]
        try:
            fd = self._job.open_file(WATCHED, os.O_WRONLY | os.O_CREAT)
        except OSError:  # full or removed
            return
        try:
            ids = " ".join(watch.id for watch in self._watches)
            line = f"{self._saved[0]:020} {self._saved[1]:020} {ids}".ljust(_WATCHED_BYTES) + "\n"
            os.pwrite(fd, line.encode("ascii"), 0)  # one write of fixed width: old or new
        except OSError:
            return
        finally:
            os.close(fd)

    def _remember(self) -> None:
        """Read which hits a killed supervisor told: it may have been killed before it recorded how
        far it came.
        """
        found, _ = history.read(self._job, kinds=(history.WATCH_HIT,))
        self._known = {(event["watch"], event["pattern"], event["seq"]) for event in found}
