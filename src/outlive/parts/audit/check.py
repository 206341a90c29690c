"""What `outlive doctor` says of the audit record."""

from __future__ import annotations

import os

from outlive.parts.audit import settings
from outlive.parts.audit.record import NAME, SYSLOG, old_files
from outlive.parts.finding import CheckContext, Finding, ok, warn


def audit(context: CheckContext) -> Finding:
    target = None if context.config is None else settings.target(context.config, context.env)
    if target is None:
        return ok("off: it is not recorded who does what")
    required = "what cannot be recorded is not done" if target.required else "what cannot be recorded is done"
    if target.to == SYSLOG:
        there = os.path.exists("/dev/log")
        text = f"to syslog; {required}"
        return (
            ok(text) if there else warn(f"{text}: there is no /dev/log", "Start a syslog daemon, or record to a file.")
        )
    directory = target.directory
    path = os.path.join(directory, NAME)
    above = directory
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    is_file = os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.W_OK)
    writable = os.access(above, os.W_OK | os.X_OK) and (is_file or not os.path.lexists(path))
    facts = {"path": path, "files": len(old_files(directory)) + os.path.exists(path)}
    if not writable:
        advice = f"Make {above} a directory that you may write, without a link or a directory in the place of {NAME}."
        return warn(f"{path} cannot be written; {required}", advice, **facts)
    return ok(f"{path}; {required}", **facts)
