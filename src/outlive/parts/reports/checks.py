"""Where a job writes its test report: what is refused before it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.core.records import Definition
from outlive.errors import argument, invalid
from outlive.part import Context
from outlive.parts.reports import REPORT, bounds
from outlive.system.paths import is_in

_PARENT = ".."


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call."""
    return {REPORT: args[REPORT]}


def require(definition: Definition) -> None:
    """Errors: invalid_argument for a report that could not be read when the job has ended."""
    pattern, sandbox = definition.kept.get(REPORT), definition.sandbox
    if not isinstance(pattern, str):
        return
    if not pattern.strip() or pattern.endswith("/"):
        raise invalid("report", "the report names no file", hint="Give a path or a glob, such as junit.xml.")
    if len(pattern) > bounds.PATTERN_CHARS:
        raise invalid("report", f"the report is longer than {bounds.PATTERN_CHARS:,} characters")
    if definition.host is not None:
        raise invalid(
            "report",
            f"{argument('report')} is for jobs of this machine: the files of {definition.host} are not read from here",
            hint="Let the command print the report at its end.",
        )
    if sandbox is None:
        return
    if sandbox.mode != "workspace-write":
        raise invalid("report", f"a job in the sandbox {sandbox.mode} cannot write a report")
    # Names alone: what is a link later is not followed (find.py)
    path = os.path.normpath(os.path.join(definition.cwd, pattern))
    if _PARENT in pattern.split("/") or not is_in(path, [definition.cwd]):
        hint = "Give a path in its directory."
        raise invalid("report", f"the report of a job in a sandbox is below its directory {definition.cwd}", hint=hint)
    if not is_in(path, sandbox.roots) or is_in(path, sandbox.hide):
        raise invalid("report", f"a job in the sandbox does not write {path}; nothing was run")
