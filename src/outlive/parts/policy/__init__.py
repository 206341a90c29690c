"""What may run: the rules of the configuration."""

from __future__ import annotations

from outlive.part import Part

POLICY = "policy"  # the section of the configuration


class Policy(Part):
    name = "policy"
    verbs = {
        "policy check": "outlive.parts.policy.verbs:POLICY_CHECK",
        "policy list": "outlive.parts.policy.verbs:POLICY_LIST",
        "policy forget": "outlive.parts.policy.verbs:POLICY_FORGET",
    }
    for_person = {"policy_list": "outlive.parts.policy.text:policy_list"}
    settings = {POLICY: "outlive.parts.policy.settings:KEYS"}
    gates = {POLICY: "outlive.parts.policy.gate:GATE"}
    tables = {"policy.rule": "outlive.parts.policy.rules:checked"}


PART = Policy()
