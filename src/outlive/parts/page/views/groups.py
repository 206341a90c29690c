"""Groups of lines that output marks, as the logs of GitHub, Azure and GitLab show them."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.parts.page.views.rows import Page
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

_MARK = re.compile(
    rb"^(?:(?P<begin>::group::|##\[group\]|section_start:\d+:(?P<name>[\w.-]+))"
    rb"|(?:::endgroup::|##\[endgroup\]|section_end:\d+:(?P<ended>[\w.-]+)))",
    re.MULTILINE,
)
_WORDS = (b"group", b"section_")  # without one of them a block has no mark
_BLOCK = 1 << 20
_MOST = 2_000


def groups(ctx: Context, job_id: str) -> dict[str, Any]:
    """Return `[first row, last row]` of each group that has ended, outer ones before what is in them. Errors:
    job_not_found."""
    with lookup.open_job(ctx, job_id) as job, Output(job) as output:
        page = Page(job, output)
        with closing(page.lines):
            page.count(whole=True)
            found = output.steady(_found, page)
        return {"job_id": job.job_id, "groups": sorted(found)}


def _found(page: Page) -> list[list[int]]:
    begun: list[tuple[bytes | None, int]] = []
    found: list[list[int]] = []
    at = 0
    while len(found) < _MOST:
        at, data = page.lines.take(at, _BLOCK)
        if not data:
            break
        whole = data.rfind(b"\n") + 1  # a mark that is cut comes with the next block
        if whole and at + len(data) < page.lines.end:
            data = data[:whole]
        checkpoint()
        for mark in _MARK.finditer(data) if any(word in data for word in _WORDS) else ():
            row = page.row_at(at + mark.start())
            if mark["begin"]:
                begun.append((mark["name"], row))
            elif begun and begun[-1][0] == mark["ended"]:
                found.append([begun.pop()[1], row])
        at += len(data)
    return found
