"""The directory that a job runs in on this machine."""

from __future__ import annotations

import os
import shlex
import stat

from outlive.errors import argument, invalid
from outlive.jobs.context import Context

_EXISTING = "Name an existing directory."
_WHERE = f"Give an absolute path with {argument('cwd')}."


def working_directory(ctx: Context, given: str | None) -> str:
    """Return the absolute directory that a job runs in.

    Errors: invalid_argument if it cannot be entered, denied if the caller has no right to it.
    """
    if given is None:
        if ctx.cwd is None:
            why, hint = _deleted() if ctx.face == "cli" else ("this server has none for jobs", _WHERE)
            raise invalid("cwd", f"no directory was named, and {why}; nothing was run", hint=hint)
        given = ctx.cwd
    if given == "~" or given.startswith("~/"):  # as on hosts: models write it
        given = os.path.join(ctx.env.get("HOME", "~"), given[2:])
    if not given.strip():
        raise invalid("cwd", f"not a directory: {given!r}; nothing was run")
    if ctx.cwd is None and not os.path.isabs(given):
        raise invalid("cwd", f"not an absolute path: {given!r}; nothing was run", hint=_WHERE)
    path = os.path.normpath(os.path.join(ctx.cwd or "/", given))
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError:
        raise invalid("cwd", f"the directory {path} {_not_entered(path)}; nothing was run") from None
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened: {error.strerror}"
        raise invalid("cwd", f"the directory {path} {what}; nothing was run", hint=_EXISTING) from None
    if not is_directory:
        raise invalid("cwd", f"{path} is not a directory; nothing was run", hint=_EXISTING)
    if not os.access(path, os.X_OK):
        raise invalid("cwd", f"the directory {path} may not be entered; nothing was run")
    if ctx.rights is not None:
        ctx.rights.require_inside(path)
    return path


def _deleted() -> tuple[str, str]:
    """Say which current directory was deleted, and what can be done. A shell stays in the deleted one
    when another is made at its path."""
    path = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
    again = f"Another one is there now: cd {shlex.quote(path)}" if os.path.isdir(path) else _WHERE
    return f"the current one, {path}, was deleted", again


def _not_entered(path: str) -> str:
    names = path.split("/")
    above = ("/".join(names[:count]) or "/" for count in range(1, len(names)))
    closed = next((folder for folder in above if not os.access(folder, os.X_OK)), "a directory above it")
    return f"cannot be reached: {closed} may not be entered"
