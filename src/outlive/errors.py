"""The one class of expected errors: `code`, `message`, `retryable`, and where it helps `hint` and `details`."""

from __future__ import annotations

import errno
import io
import os
import resource
import sys
from contextlib import redirect_stderr
from typing import Any, Literal

from outlive import limits

Object = Literal["root", "store", "process", "file"]

# All codes; the enum in the schema is made from them
CODES = (
    "job_not_found",
    "ambiguous_job_id",
    "invalid_argument",
    "invalid_state",
    "invalid_tag",
    "stdin_closed",
    "not_a_pty",
    "launch_failed",
    "denied",
    "sandbox_unavailable",
    "not_supported",
    "store_unsafe",
    "config_error",
    "io_error",
    "internal_error",
)

_LONGEST, _HEAD = 4_000, 3_000  # characters of a message, and of them those before what is left out
# What the machine or this user has too little of just now
SCARCE = frozenset(
    {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.ETOOMANYREFS}
)
_RETRYABLE = SCARCE | {errno.EINTR, errno.EBUSY}


class OutliveError(Exception):
    """An expected failure. `usage`: the call was worded wrongly, which ends the CLI with status 2."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        hint: str | None = None,
        details: dict[str, Any] | None = None,
        usage: bool = False,
    ) -> None:
        message = shortened(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.hint = hint if hint is None else shortened(hint)
        self.details = details
        self.usage = usage

    def to_dict(self) -> dict[str, Any]:
        """Return the `error` member of an error object."""
        member: dict[str, Any] = {"code": self.code, "message": self.message, "retryable": self.retryable}
        if self.hint is not None:
            member["hint"] = self.hint
        if self.details is not None:
            member["details"] = {
                name: shortened(value) if isinstance(value, str) else value for name, value in self.details.items()
            }
        return member


def shortened(text: str) -> str:
    """Return the head and the tail of a long text: what a caller gave may be megabytes."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_HEAD]}[… {len(text) - _LONGEST:,} characters …]{text[_HEAD - _LONGEST :]}"


def invalid(field: str, message: str, *, hint: str | None = None, usage: bool = False, **details: Any) -> OutliveError:
    """Return an `invalid_argument` error about one field."""
    return OutliveError("invalid_argument", message, hint=hint, details={"field": field, **details}, usage=usage)


def misconfigured(message: str, hint: str | None = None) -> OutliveError:
    """Return the error of a configuration that is wrong."""
    return OutliveError("config_error", message, hint=hint)


MARK = "⟨⟩"
FACES = "␟"  # between the two texts of `per_face`


def argument(name: str) -> str:
    """Return a mark for a text, in whose place `verbs/spelling.py` puts the name that a face has for the parameter
    `name` of a verb's function."""
    return f"{MARK[0]}{name}{MARK[1]}"


def per_face(cli: str, mcp: str) -> str:
    """Return a mark in whose place `verbs/spelling.py` puts the text for a face, which may hold marks of `argument`."""
    return f"{MARK[0]}{cli}{FACES}{mcp}{MARK[1]}"


def from_os(doing: str, error: OSError, *, code: str = "io_error", on: Object = "file") -> OutliveError:
    """Return the error of an operation that a system call failed in: "while opening /x for the
    job's stdin: Permission denied". The path that the system call failed on is added where `doing`
    does not name it.

    `on` is what the operation works on, and decides which advice can help: "root" the job root
    itself or a new job in it, "store" a file in the root, "process" a process that is started,
    "file" any other file.
    """
    number = error.errno or 0
    reason = os.strerror(number) if number else error.strerror or str(error)
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    return OutliveError(
        code,
        f"while {doing}: {reason}" + (f" ({path})" if path and path not in doing else ""),
        retryable=number in _RETRYABLE,
        hint=_HINTS[on].get(number) or _of_limit(number, on) or (OTHER_ROOT if on == "root" else None),
        details={"errno": errno.errorcode.get(number, str(number))} if number else None,
    )


def limit_of(kind: str) -> int:
    """Return the limit of this process of a kind, as `NOFILE` (getrlimit(2)); -1 for none."""
    return int(resource.getrlimit(getattr(resource, f"RLIMIT_{kind}"))[0])


def _of_limit(number: int, on: Object) -> str | None:
    """Return what can be done about a limit that was met, with its value."""
    if number == errno.ENFILE:
        return "All files that this machine may have open are (/proc/sys/fs/file-max)."
    kind = {errno.EMFILE: "NOFILE", errno.EFBIG: "FSIZE", errno.EAGAIN: "NPROC"}.get(number)
    if kind is None or (kind == "NPROC" and on != "process"):
        return None
    most = limit_of(kind)
    if kind == "FSIZE":
        return (
            None if most < 0 else f"No file of this process may be larger than {most:,} bytes (`ulimit -f`): raise it."
        )
    if kind == "NPROC":
        allowed = "" if most < 0 else f" (`ulimit -u`: {most:,}; a container may allow fewer)"
        return f"The limit of processes is reached{allowed}: try again when some have ended, or raise it."
    if most < limits.OPEN_FILES:
        return f"This process may open {most} files (`ulimit -n`), and outlive needs {limits.OPEN_FILES}: raise it."
    return f"This process may open {most:,} files (`ulimit -n`): try again when other calls have ended, or raise it."


OTHER_ROOT = per_face(
    "Choose another job root with --root or OUTLIVE_ROOT.",
    "Tell the user: the client's entry of this server can name another job root (`outlive mcp --root DIR`).",
)
ENDED_JOBS = per_face(
    "`outlive clear all` deletes the jobs of this directory that have ended, `outlive gc --older-than 0s` those of all.",
    "`process` action=clear job_id=all or action=gc older_than=0s deletes all jobs that have ended, of this session and of "
    "ended ones of this client here.",
)
_ROOM = per_face("`outlive gc`", "`process` action=gc")
_SPACE_IN_ROOT = {
    errno.ENOSPC: f"Free some space or inodes (`df -h`, `df -i`; {_ROOM} deletes old finished jobs) and try again.",
    errno.EDQUOT: f"The disk quota is used up: free some space ({_ROOM} deletes old finished jobs) and try again.",
}
_HINTS: dict[Object, dict[int, str]] = {
    "root": {
        **_SPACE_IN_ROOT,
        errno.EROFS: f"The job root is on a read-only file system. {OTHER_ROOT}",
        errno.EACCES: f"No permission. {OTHER_ROOT}",
    },
    "store": _SPACE_IN_ROOT,
    "process": {
        **_SPACE_IN_ROOT,
        errno.ETOOMANYREFS: "The running jobs of this user keep as many files open as its limit of open files "
        "(`ulimit -Hn`) allows; try again when some have ended, or raise it.",
    },
    "file": {errno.ENOSPC: "Free some space or inodes on that file system (`df -h`, `df -i`) and try again."},
}


def traceback_of(error: BaseException) -> str:
    """Return it as text. The module `traceback` is 4 ms of each call, and 0.2 MB of each job."""
    with redirect_stderr(io.StringIO()) as text:
        sys.__excepthook__(type(error), error, error.__traceback__)
    return text.getvalue()
