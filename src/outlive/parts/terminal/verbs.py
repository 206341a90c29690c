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
