"""Which file systems are mounted where: proc_pid_mountinfo(5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from outlive.core.record import Value
from outlive.system.fds import content
from outlive.system.paths import is_in

_MOUNTS = "/proc/self/mountinfo"


class Mount(Value):
    """One mount. `root` is the directory of the file system `device` that is seen at `point`; `type` is
    `ext4`, `nfs4`, …; `options` are those of the file system."""

    number: str
    device: str
    root: str
    point: str
    type: str
    options: list[str]


def mounts() -> Iterator[Mount]:
    """Yield all mounts, of two at one place the upper one last; none where /proc does not say."""
    for line in content(_MOUNTS).decode("utf-8", "surrogateescape").split("\n"):
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) > 4 and len(after) > 2:
            yield Mount(
                before[0], before[2], _unescaped(before[3]), _unescaped(before[4]), after[0], after[2].split(",")
            )


def holding(path: str, every: Iterable[Mount] | None = None) -> Mount | None:
    """Return the mount that an absolute path without links lies on; None where /proc does not say. `every`: all mounts, if
    they were read before."""
    best: Mount | None = None
    for mount in mounts() if every is None else every:
        if is_in(path, [mount.point]) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def other_names(paths: Sequence[str], *, below: bool = True) -> list[str]:
    """Return where else the directories at absolute paths without links are seen, or parts of them, because a file
    system is mounted in several places (mount --bind); with `below` also what is mounted below them."""
    every = [*mounts()]
    found: dict[str, None] = {}
    for path in dict.fromkeys(paths):
        here = holding(path, every)
        if here is None:
            continue
        inner_ones = [(one, one.root) for one in every if below and one is not here and is_in(one.point, [path])]
        for shown, inner in ((here, _joined(here.root, path, here.point)), *inner_ones):
            found |= dict.fromkeys(_others(shown, inner, every))
    return [path for path in found if path not in paths]


def _others(shown: Mount, inner: str, every: Iterable[Mount]) -> Iterator[str]:
    """Yield where else the directory `inner` of the file system that `shown` shows is seen, or parts of it."""
    for mount in every:
        if mount.device == shown.device and mount is not shown:
            if is_in(inner, [mount.root]):
                yield _joined(mount.point, inner, mount.root)
            elif is_in(mount.root, [inner]):
                yield mount.point


def _joined(top: str, path: str, above: str) -> str:
    """Return the path below `top` of what is `path` below `above`."""
    return (top.rstrip("/") + path.removeprefix(above.rstrip("/"))).rstrip("/") or "/"


def _unescaped(text: str) -> str:
    r"""Blanks, tabs, newlines and backslashes are written as \040 and so on."""
    if "\\" not in text:
        return text
    head, *rest = text.split("\\")
    return head + "".join(chr(int(part[:3], 8)) + part[3:] for part in rest)
