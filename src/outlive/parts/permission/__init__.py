"""What may run: the rules of the configuration, and the approval of a person."""

from __future__ import annotations

from outlive.part import Part

POLICY = "policy"  # the section of the configuration


class Permission(Part):
    name = "permission"
    verbs = {
        "inbox": "outlive.parts.permission.verbs.inbox:INBOX",
        "approve": "outlive.parts.permission.verbs.approve:APPROVE",
        "deny": "outlive.parts.permission.verbs.approve:DENY",
        "policy check": "outlive.parts.permission.verbs.policy:POLICY_CHECK",
        "policy list": "outlive.parts.permission.verbs.policy:POLICY_LIST",
        "policy forget": "outlive.parts.permission.verbs.policy:POLICY_FORGET",
    }
    for_person = {
        "inbox": "outlive.parts.permission.at_terminal.text:inbox",
        "policy_list": "outlive.parts.permission.at_terminal.text:policy_list",
    }
    settings = {POLICY: "outlive.parts.permission.settings:KEYS"}
    gates = {POLICY: "outlive.parts.permission.gate:GATE"}
    tables = {"policy.rule": "outlive.parts.permission.policy.rules:checked"}
    extension = "outlive.parts.permission.extension:Permission"
    after_waits = (
        "outlive.parts.permission.gate",
        "outlive.parts.permission.at_terminal.ask",
    )


PART = Permission()
