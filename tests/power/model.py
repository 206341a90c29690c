"""What a file system may leave of a recording (recorder.py) after a power cut.

**Assumed**: the weakest that ext4 (`data=ordered`), xfs and btrfs allow together, each with its default options.

1. *Names.* Changes of names and of lengths reach the disk in the order in which they were made; any number of the last
   ones may be missing. fsync(2) of a file or directory brings all up to the last one that concerns it. This is the
   journal of ext4 and xfs, where also any other program's fsync commits what came before.
2. *Names, as btrfs logs them.* fsync(2) may bring only what was synced: for a file its present names and the way to
   them, for a directory its entries, the new ones of them as empty files. Changes before that need not be there.
3. *Bytes.* What was written since the last fsync(2) or fdatasync(2) of that file may be there or not, each write for
   itself; so a rename that is there does not bring the bytes of what was renamed, and a file that was only written may
   be empty. (ext4 and btrfs write a file out that replaces another one; xfs does not.)
4. *Lengths.* A file may have any length that it had since its last sync, or end at a page that was written first. Bytes
   below its length that never came are zeros: the end of a page that was there before (ext4), an extent that was
   allocated and not written (all), a page whose neighbour came first (xfs, btrfs).
5. *Torn writes.* A sector of 512 bytes is whole; of a longer write some sectors may be missing, the first or the last.
   A sector is what the page cache held of it at one moment: no write to it is there without the earlier ones.
6. Nothing is ever there of a change that was not made, and synced bytes stay what they are. Device and file system
   do what they promise: a flush flushes, and no checksum fails.

**Sources**: fsync(2), rename(2), fallocate(2); the kernel's Documentation/filesystems/ext4 (journal, `auto_da_alloc`),
xfs/xfs-delayed-logging-design, and fs/btrfs/tree-log.c; Pillai et al., "All File Systems Are Not Created Equal"
(ALICE, OSDI 2014), for the idea to enumerate what is allowed instead of what happened; Mohan et al., "Finding
Crash-Consistency Bugs with Bounded Black-Box Crash Testing" (CrashMonkey and ACE, OSDI 2018), for the bound and for what
the three really guarantee beyond POSIX; Rebello et al., "Can Applications Recover from fsync Failures?" (ATC 2020).

**Left out**: fsync(2) that fails, links between directories, file systems on a network, `data=writeback`, `nobarrier`.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SECTOR, PAGE = 512, 4096
BASE = 0  # the directory below which everything was recorded
_MAKE = frozenset("create mkdir fifo socket symlink".split())
_NAME = _MAKE | frozenset("link rename unlink rmdir".split())
_DATA = frozenset("write truncate allocate punch".split())
_SUBSETS = 3  # of so many writes every subset is tried; of more, each one missing
_STEPS = 6  # so many of a file's lengths are tried

Names = dict[int, dict[str, int]]  # directory → name → inode
Tree = tuple[tuple[str, str, bytes], ...]  # path, kind, content; sorted


class Change(NamedTuple):
    """A line of a recording. Inodes have numbers of their own, which are never used again."""

    number: int
    op: str
    pid: int
    ns: int
    dir: int = -1
    name: str = ""
    ino: int = -1
    to_dir: int = -1
    to_name: str = ""
    at: int = 0
    to: int = 0
    data: bytes = b""
    mark: dict[str, Any] = {}


class Crash(NamedTuple):
    """One state: what is there after a cut behind the first `cut` changes."""

    cut: int
    tree: Tree


class Recording:
    """The changes of one recording, and the states that a cut may leave."""

    def __init__(self, changes: list[Change], kinds: dict[int, str]) -> None:
        self.changes = changes
        self.kinds = kinds
        self._data: dict[int, list[Change]] = {}
        self._syncs: list[Change] = []
        for change in changes:
            if change.op in _DATA:
                self._data.setdefault(change.ino, []).append(change)
            elif change.op in ("sync", "datasync"):
                self._syncs.append(change)
        self._names = self._all_names()
        self._touched = self._last_touched()
        self._versions: dict[tuple[int, int, tuple[int, ...]], list[bytes]] = {}

    @classmethod
    def load(cls, log: Path) -> Recording:
        known: dict[int, int] = {}  # inode on disk → our number
        kinds = {BASE: "mkdir"}
        changes = []
        names: Names = {BASE: {}}
        for index, line in enumerate(log.read_text().splitlines()):
            raw = json.loads(line)
            op, where = raw["op"], known.get(raw.get("dir", -1), BASE)
            if op == "mark":
                mark = {name: raw[name] for name in raw.keys() - {"op", "pid", "ns"}}
                changes.append(Change(index, op, raw["pid"], raw["ns"], mark=mark))
                continue
            if op == "socket" and raw["name"] in names.get(where, {}):  # another process noticed it before
                changes.append(Change(index, "mark", raw["pid"], raw["ns"]))
                continue
            if op in _MAKE:
                known[raw["ino"]] = index + 1
                kinds[index + 1] = op
            ino = known.get(raw.get("ino", -1), BASE)
            if op in ("rename", "unlink", "rmdir"):
                ino = names[where].get(raw["name"], -1)
            change = Change(
                index, op, raw["pid"], raw["ns"], where if "dir" in raw else -1, raw.get("name", ""), ino,
                known.get(raw.get("to_dir", -1), BASE) if "to_dir" in raw else -1, raw.get("to_name", ""),
                raw.get("at", 0), raw.get("to", 0), raw.get("data", raw.get("target", "")).encode("latin-1"),
            )  # fmt: skip
            changes.append(change)
            _rename(names, change)
        return cls(changes, kinds)

    # --- names ---

    def _all_names(self) -> list[Names]:
        """The names after each number of changes. Directories that do not change are shared."""
        now: Names = {BASE: {}}
        found = [now]
        for change in self.changes:
            if change.op in _NAME:
                now = {**now, **{one: dict(now.get(one, {})) for one in (change.dir, change.to_dir) if one >= 0}}
                _rename(now, change)
            found.append(now)
        return found

    def _last_touched(self) -> list[tuple[int, int]]:
        """For each sync: its index, and how many changes of names are on disk for certain then."""
        last: dict[int, int] = {}
        found = []
        for change in self.changes:
            if change.op in _NAME:
                for one in (change.ino, change.dir, change.to_dir):
                    last[one] = change.number + 1
            elif change.op in _DATA:
                last[change.ino] = change.number + 1
            elif change.op == "sync":
                found.append((change.number, last.get(change.ino, 0)))
        return found

    def names(self, cut: int, prefix: int) -> Names:
        """The names after a cut if the first `prefix` changes were committed as a whole."""
        found = self._names[prefix]
        if prefix >= self._sure(cut):
            return found
        for sync in self._syncs:
            if prefix <= sync.number < cut:
                found = self._logged(found, self._names[sync.number], sync.ino)
        return found

    def _logged(self, names: Names, now: Names, ino: int) -> Names:
        """`names`, and what btrfs adds to them at a sync of `ino`, when everything was as in `now`."""
        names = {one: dict(entries) for one, entries in names.items()}
        parents = {child: (above, name) for above, entries in now.items() for name, child in entries.items()}
        moved = [ino, *now.get(ino, {}).values()] if ino in now else [ino]
        for one in moved:  # a name that it had before
            for above, entries in names.items():
                for name in [name for name, child in entries.items() if child == one]:
                    if now.get(above, {}).get(name) != one:
                        del entries[name]
        if ino in now:
            names[ino] = dict(now[ino])
        for above, entries in now.items():
            for name, child in entries.items():
                if child == ino:
                    names.setdefault(above, {})[name] = ino
                    self._lead_to(names, parents, above)
        return names

    @staticmethod
    def _lead_to(names: Names, parents: dict[int, tuple[int, str]], ino: int) -> None:
        while ino != BASE and ino in parents:
            above, name = parents[ino]
            for entries in names.values():
                for old in [old for old, child in entries.items() if child == ino]:
                    del entries[old]
            names.setdefault(above, {})[name] = ino
            ino = above

    # --- bytes ---

    def content(self, ino: int, cut: int) -> bytes:
        """All that was written into a file before a cut."""
        return _applied(b"", [change for change in self._data.get(ino, ()) if change.number < cut])

    def written(self, ino: int, cut: int) -> bytes:
        """The same, with what was given back since: every byte that was ever written."""
        return _applied(b"", [one for one in self._data.get(ino, ()) if one.number < cut and one.op == "write"])

    def synced(self, ino: int, cut: int) -> int:
        """The index of the last sync of a file before a cut; -1 without one."""
        return max((sync.number for sync in self._syncs if sync.ino == ino and sync.number < cut), default=-1)

    def versions(self, ino: int, cut: int, prefix: int) -> list[bytes]:
        """What the file may hold after a cut: first what is there for certain, last all of it."""
        data = self._data.get(ino)
        if not data:
            return [b""]
        synced = self.synced(ino, cut)
        since = [change for change in data if synced < change.number < cut]
        sure = self.content(ino, synced + 1)
        # A length is committed like a name: not before what was done earlier
        since = [change for change in since if change.number < prefix or _is_inside(change, len(sure))]
        key = (ino, synced, tuple(change.number for change in since))
        if key not in self._versions:
            self._versions[key] = list(dict.fromkeys(_versions(sure, since)))
        return self._versions[key]

    # --- states ---

    def replayed(self) -> Tree:
        """What is there if nothing is lost: what the recorded program has left."""
        end = len(self.changes)
        return self._tree(self._names[end], {ino: self.content(ino, end) for ino in self._data})

    def crashes(self, width: int, seed: int = 1) -> Iterator[Crash]:
        """Every state of every cut up to a bound: of the combinations of what its files may hold, at most `width` of
        each set of names. States of one cut differ, those of two may be equal."""
        chance = random.Random(seed)
        for cut in range(1, len(self.changes) + 1):
            if self._is_before_mark(cut):
                continue
            seen: set[Tree] = set()
            for prefix in self._prefixes(cut):
                names = self.names(cut, prefix)
                files = sorted(ino for ino in _reachable(names) if self.kinds[ino] == "create")
                choices = [self.versions(ino, cut, prefix) for ino in files]
                for chosen in _combinations(choices, width, chance):
                    tree = self._tree(names, dict(zip(files, chosen, strict=True)))
                    if tree not in seen:
                        seen.add(tree)
                        yield Crash(cut, tree)

    def sample(self, count: int, seed: int = 1) -> Iterator[Crash]:
        """So many states of random cuts."""
        chance = random.Random(seed)
        cuts = [cut for cut in range(1, len(self.changes) + 1) if not self._is_before_mark(cut)]
        for _ in range(count):
            cut = chance.choice(cuts)
            prefix = chance.choice(list(self._prefixes(cut)))
            names = self.names(cut, prefix)
            files = sorted(ino for ino in _reachable(names) if self.kinds[ino] == "create")
            choices = [self.versions(ino, cut, prefix) for ino in files]
            chosen = [one[chance.choice((0, -1))] for one in choices]
            for number in chance.sample(range(len(files)), min(len(files), chance.choice((0, 1, 2, len(files))))):
                chosen[number] = chance.choice(choices[number])
            yield Crash(cut, self._tree(names, dict(zip(files, chosen, strict=True))))

    def _is_before_mark(self, cut: int) -> bool:
        """Behind a mark the same is there as before it, and more is promised."""
        return cut < len(self.changes) and self.changes[cut].op == "mark"

    def _prefixes(self, cut: int) -> Iterator[int]:
        """The numbers of changes that may have been committed as a whole. Less than what the syncs need is what btrfs
        has committed before it logged the rest."""
        yield 0
        yield from (change.number + 1 for change in self.changes[:cut] if change.op in _NAME or change.op in _DATA)

    def _sure(self, cut: int) -> int:
        """How many changes of names are on disk for certain in a journal."""
        return max((count for index, count in self._touched if index < cut), default=0)

    def _tree(self, names: Names, contents: dict[int, bytes]) -> Tree:
        found: list[tuple[str, str, bytes]] = []
        left = [(BASE, "")]
        while left:
            ino, above = left.pop()
            for name, child in names.get(ino, {}).items():
                path = above + name
                found.append((path, self.kinds[child], contents.get(child, b"")))
                if self.kinds[child] == "mkdir":
                    left.append((child, f"{path}/"))
        return tuple(sorted(found))


def _rename(names: Names, change: Change) -> None:
    """Do a change of names; any other one changes nothing."""
    if change.op in _MAKE or change.op == "link":
        names.setdefault(change.dir, {})[change.name] = change.ino
        if change.op == "mkdir":
            names[change.ino] = {}
    elif change.op in ("unlink", "rmdir"):
        names[change.dir].pop(change.name, None)
    elif change.op == "rename":
        names[change.dir].pop(change.name, None)
        names[change.to_dir][change.to_name] = change.ino


def _reachable(names: Names) -> set[int]:
    found: set[int] = set()
    left = [BASE]
    while left:
        children = names.get(left.pop(), {}).values()
        left += [one for one in children if one not in found]
        found.update(children)
    return found


def _is_inside(change: Change, size: int) -> bool:
    return change.op == "write" and change.at + len(change.data) <= size


def _applied(content: bytes, changes: list[Change]) -> bytes:
    data = bytearray(content)
    for change in changes:
        if change.op == "write":
            data += bytes(max(0, change.at + len(change.data) - len(data)))
            data[change.at : change.at + len(change.data)] = change.data
        elif change.op == "truncate":
            del data[change.to :]
            data += bytes(change.to - len(data))
        elif change.op == "allocate":
            data += bytes(max(0, change.to - len(data)))
        else:
            stop = min(change.to, len(data))
            data[change.at : stop] = bytes(max(0, stop - change.at))
    return bytes(data)


def _versions(sure: bytes, since: list[Change]) -> Iterator[bytes]:
    """What may be there if `sure` is for certain, and `since` was done to it after that."""
    yield sure
    if not since:
        return
    lengths = _spread(list(range(1, len(since))), _STEPS)
    for count in lengths:
        yield _applied(sure, since[:count])
    whole = _applied(sure, since)
    if len(since) <= _SUBSETS:
        missing = [set(some) for n in range(1, len(since) + 1) for some in itertools.combinations(range(len(since)), n)]
    else:
        missing = [{number} for number in _spread(list(range(len(since))), _STEPS)] + [set(range(len(since)))]
    for some in missing:
        part = _applied(sure, _without(some, since))
        yield (part + bytes(max(0, len(whole) - len(part))))[: len(whole)] if len(whole) >= len(sure) else part
    last = since[-1]
    if last.op == "write":
        yield from _torn(_applied(sure, since[:-1]), last, whole)
    yield whole


def _without(missing: set[int], since: list[Change]) -> list[Change]:
    """The changes that are there if these are not: a write to a sector of which an earlier one is missing is not, either."""
    gone: set[int] = set()  # sectors
    there = []
    for number, change in enumerate(since):
        sectors = (
            range(change.at // SECTOR, -(-(change.at + len(change.data)) // SECTOR)) if change.op == "write" else ()
        )
        if number in missing or not gone.isdisjoint(sectors):
            gone.update(sectors)
        else:
            there.append(change)
    return there


def _torn(before: bytes, last: Change, whole: bytes) -> Iterator[bytes]:
    """The last write, torn between two of its sectors or pages."""
    stop = last.at + len(last.data)
    inside = range(last.at - last.at % SECTOR + SECTOR, stop, SECTOR)
    padded = before + bytes(max(0, len(whole) - len(before)))
    for at in _spread(list(inside), 2):
        yield whole[:at] + padded[at:]
        yield padded[:at] + whole[at:]
    for at in _spread([at for at in inside if at % PAGE == 0 and at >= len(before)], 2):
        yield whole[:at]


def _spread(values: list[int], most: int) -> list[int]:
    """At most so many of the values, from first to last."""
    if len(values) <= most:
        return values
    return [values[number * (len(values) - 1) // (most - 1)] for number in range(most)]


def _combinations(choices: list[list[bytes]], width: int, chance: random.Random) -> Iterator[tuple[bytes, ...]]:
    """All combinations, or `width` of them: all lost, all there, each file's versions among either, then any."""
    count = 1
    for one in choices:
        count *= len(one)
    if count <= width:
        yield from itertools.product(*choices)
        return
    least, most = [one[0] for one in choices], [one[-1] for one in choices]
    first = [tuple(least), tuple(most)]
    for number, versions in enumerate(choices):
        for base in (most, least):
            first += [(*base[:number], version, *base[number + 1 :]) for version in versions]
    first = list(dict.fromkeys(first))[:width]
    yield from first
    for _ in range(width - len(first)):
        yield tuple(chance.choice(one) for one in choices)
