"""The approval of a person, who is asked whether a job may run."""

from __future__ import annotations

from outlive.part import Part


class Approvals(Part):
    name = "approvals"
    needs = ("policy",)
    verbs = {
        "inbox": "outlive.parts.approvals.verbs.inbox:INBOX",
        "approve": "outlive.parts.approvals.verbs.approve:APPROVE",
        "deny": "outlive.parts.approvals.verbs.approve:DENY",
    }
    for_person = {"inbox": "outlive.parts.approvals.at_terminal.text:inbox"}
    holding = "outlive.parts.approvals.holding:HOLDING"
    extension = "outlive.parts.approvals.extension:Approvals"
    after_waits = ("outlive.parts.approvals.holding", "outlive.parts.approvals.at_terminal.ask")


PART = Approvals()
