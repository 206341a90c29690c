"""The verbs of terminals."""

from __future__ import annotations

from outlive.verbs.spec import BOOL, JOB, Arg, Verb

ATTACH = Verb(
    "attach",
    "Join your terminal to the terminal of a pty job.",
    group="Write to a job",
    follow="outlive.parts.terminal.attach:main",
    args=(JOB, Arg("read_only", BOOL, "Only watch: nothing is typed, and the size stays.", default=False)),
    detail="What you type goes to the job, and what the job prints comes to you; the size of its terminal follows yours. "
    "Ctrl-] d detaches, and the job goes on; Ctrl-] twice sends one Ctrl-]. Several people can attach at once: one holds "
    "the keyboard, and Ctrl-] k takes it. What a "
    "program reads with echo off, such as a password, is not stored anywhere. Of a job that waits for approval, with or "
    "without a terminal, attach shows the command and takes your answer.",
)
TOP = Verb(
    "top",
    "Show the jobs on one screen, with keys: open, follow, answer, kill, filter.",
    group="Read and wait",
    follow="outlive.parts.terminal.top.main:main",
    detail="It shows the newest 1,000 jobs of every directory and client, those that run first, and keeps them up to date. Below "
    "stand the last lines of the chosen job. Enter opens its output, a answers what it asks, x kills it after a question, / "
    "filters, ? shows all keys, q quits. It needs the package urwid: `pip install 'outlive[top]'`.",
)
