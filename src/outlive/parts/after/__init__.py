"""Jobs that start when other jobs have come so far."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.part import Context, Fields, Part

AFTER = "after"  # the argument, and the member of `meta.json` and of `state.json`
CHAIN, CHAIN_FILE = "jobs", "file"  # the arguments for several jobs at once


class After(Part):
    name = "after"
    arguments = {
        "dedupe_key": "outlive.parts.after.arguments:OF_JOB",
        "background": "outlive.parts.after.arguments:OF_CHAIN",
    }
    of_job = "outlive.parts.after.of_job:Waiting"
    fields = "outlive.parts.after.answers:Waits"
    lines_of = {CHAIN: "outlive.parts.after.of_job:of_chain"}
    listed = "outlive.parts.after.answers:InList"

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        if not args.get(AFTER):
            return {}
        from outlive.parts.after import checks

        return {AFTER: [edge.to_dict() for edge in checks.parsed(ctx, args)]}

    def run_instead(self, ctx: Context, args: Mapping[str, object]) -> Fields | None:
        if args.get(CHAIN) is None and args.get(CHAIN_FILE) is None:
            return None
        from outlive.parts.after import chain

        return chain.started(ctx, args)

    def why_not_started(self, answer: Mapping[str, object]) -> str | None:
        if not answer.get("waiting_for"):
            return None
        from outlive.parts.after import of_job

        return of_job.why_not_started(answer)


PART = After()
