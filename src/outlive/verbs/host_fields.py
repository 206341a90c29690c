"""The fields of answers about hosts, and about jobs on them."""

from __future__ import annotations

from outlive.core.host_settings import KINDS
from outlive.core.records import LOCAL
from outlive.verbs.field_kinds import _flag, _maybe_string, _object, _string

_TIME = {"format": "date-time"}
_FINDING = _object(
    "One check.",
    {
        "name": _string("What it is about."),
        "status": _string("fail: jobs do not run there. warn: something to know.", enum=["ok", "warn", "fail"]),
        "found": _string("What there is, in one sentence."),
    },
    {"advice": _string("What to do about it.")},
)
CHECKS = {"type": "array", "description": "What was checked.", "items": _FINDING}
KIND = _string("What starts the jobs there.", enum=[LOCAL, *KINDS])

OF_A_JOB = {
    "host": _string("Where the job runs, or is to run; absent: on this machine."),
    "engine": _object(
        "What started it there, in its own words.",
        {"name": _string("slurm: the scheduler of a cluster. ssh: outlive itself, on the other machine.")},
        {
            "job_id": _maybe_string("The engine's own name for the job."),
            "state": _maybe_string("The engine's word for its state; null: not known yet."),
        },
    ),
    "queue": _object(
        "There while the job waits for its start.",
        {"state": _string("The engine's word."), "since": _string("When it was handed over.", **_TIME)},
        {
            "reason": _maybe_string("Why it waits, in the engine's words."),
            "estimated_start": _string("When the engine means to start it.", **_TIME),
        },
    ),
    "reachable": _flag("There, and false, while its host is out of reach: the answer says what was known before."),
    "unreachable_since": _string("Since when.", **_TIME),
    "machine": _string("The machine that has its processes, where that is another than this: ask there."),
}
OF_HOSTS = {
    "kind": KIND,
    "hosts": {
        "type": "array",
        "description": "Where jobs can run.",
        "items": _object(
            "One host.",
            {
                "name": _string("Its name, for `host`."),
                "kind": KIND,
                "default": _flag("Do jobs run there that name no host?"),
            },
            {
                "target": _string("Of ssh: where that leads."),
                "healthy": _flag("Of a host that was checked: did no check fail?"),
                "checks": CHECKS,
            },
        ),
    },
}
