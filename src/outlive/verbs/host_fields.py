"""The fields of answers about hosts, and about jobs on them."""

from __future__ import annotations

from outlive.core.host_settings import KINDS
from outlive.core.records import LOCAL
from outlive.verbs.field_kinds import flag, maybe_string, object_of, string

_TIME = {"format": "date-time"}
_FINDING = object_of(
    "One check.",
    {
        "name": string("What it is about."),
        "status": string("fail: jobs do not run there. warn: something to know.", enum=["ok", "warn", "fail"]),
        "found": string("What there is, in one sentence."),
    },
    {"advice": string("What to do about it.")},
)
CHECKS = {"type": "array", "description": "What was checked.", "items": _FINDING}
KIND = string("What starts the jobs there.", enum=[LOCAL, *KINDS])

OF_A_JOB = {
    "host": string("Where the job runs, or is to run; absent: on this machine."),
    "engine": object_of(
        "What started it there, in its own words.",
        {"name": string("slurm: the scheduler of a cluster. ssh: outlive itself, on the other machine.")},
        {
            "job_id": maybe_string("The engine's own name for the job."),
            "state": maybe_string("The engine's word for its state; null: not known yet."),
        },
    ),
    "queue": object_of(
        "There while the job waits for its start.",
        {"state": string("The engine's word."), "since": string("When it was handed over.", **_TIME)},
        {
            "reason": maybe_string("Why it waits, in the engine's words."),
            "estimated_start": string("When the engine means to start it.", **_TIME),
        },
    ),
    "reachable": flag("There, and false, while its host is out of reach: the answer says what was known before."),
    "unreachable_since": string("Since when.", **_TIME),
    "machine": string("The machine that has its processes, where that is another than this: ask there."),
}
OF_HOSTS = {
    "kind": KIND,
    "hosts": {
        "type": "array",
        "description": "Where jobs can run.",
        "items": object_of(
            "One host.",
            {
                "name": string("Its name, for `host`."),
                "kind": KIND,
                "default": flag("Do jobs run there that name no host?"),
            },
            {
                "target": string("Of ssh: where that leads."),
                "healthy": flag("Of a host that was checked: did no check fail?"),
                "checks": CHECKS,
            },
        ),
    },
}
