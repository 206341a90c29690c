"""Jobs that start when other jobs have come so far."""

from __future__ import annotations

from outlive.part import Part

AFTER = "after"  # the argument, and the member of `meta.json` and of `state.json`
CHAIN, CHAIN_FILE = "jobs", "file"  # the arguments for several jobs at once
LAST = "chain"  # the member of `meta.json` with the job of its chain that is started last, and that of `state.json`


class After(Part):
    name = "after"
    arguments = {
        "dedupe_key": "outlive.parts.after.arguments:OF_JOB",
        "background": "outlive.parts.after.arguments:OF_CHAIN",
    }
    kept = {AFTER: "outlive.parts.after.checks:kept"}
    run_instead = dict.fromkeys((CHAIN, CHAIN_FILE), "outlive.parts.after.chain:started")
    of_job = "outlive.parts.after.of_job:Waiting"
    fields = "outlive.parts.after.answers:Waits"
    lines_of = {CHAIN: "outlive.parts.after.of_job:of_chain"}
    why_not_started = {"waiting_for": "outlive.parts.after.of_job:why_not_started"}
    listed = "outlive.parts.after.answers:InList"


PART = After()
