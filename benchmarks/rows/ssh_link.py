"""Measure jobs on a host of kind `ssh` that is behind a link, as most are."""

from __future__ import annotations

from benchmarks import link
from benchmarks.bench import Bench
from benchmarks.rows import row, ssh
from benchmarks.samples import Found


@row(
    "ssh-gib-link",
    f"1 GiB of stdout of a job over SSH, through a link of {link.RATE_TEXT}",
    floor="`ssh … > FILE`",
    ratio=1.25,
)
def fetch(bench: Bench) -> Found:
    return ssh.fetched(bench, linked=True)
