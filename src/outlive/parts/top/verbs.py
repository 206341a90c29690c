"""The verb of the screen of all jobs."""

from __future__ import annotations

from outlive.verbs.spec import Verb

TOP = Verb(
    "top",
    "Show the jobs on one screen, with keys: open, follow, answer, kill, filter.",
    group="Read and wait",
    follow="outlive.parts.top.main:main",
    detail="It shows the newest 1,000 jobs of every directory and client, those that run first, and keeps them up to date. Below "
    "stand the last lines of the chosen job. Enter opens its output, a answers what it asks, x kills it after a question, / "
    "filters, ? shows all keys, q quits. It needs the package urwid: `pip install 'outlive[top]'`.",
)
