"""`doctor`: look for what is wrong here, and say what to do about it."""

from __future__ import annotations

import os

from outlive import config
from outlive.core.real_path import real_path
from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.parts.doctor import checks
from outlive.parts.doctor.answers import Examined
from outlive.parts.finding import FAIL, CheckContext
from outlive.store.root import Store, default_path
from outlive.verbs.spec import Verb
from outlive.verbs.spelling import CLI, spelled


def doctor(ctx: Context) -> Examined:
    """Run every check. A broken configuration or an unsafe root is a finding, not an error."""
    context = CheckContext(ctx.env, ctx.flags, ctx.cwd)
    try:
        context.config = config.load(ctx.env, ctx.flags.get("config"))
    except OutliveError as error:
        context.config_error = error
    path = real_path(ctx.flags.get("root") or default_path(ctx.env))
    try:
        if os.path.lexists(path):
            context.store = Store.open(path, ctx.env)
        else:  # to look creates nothing
            context.absent = path
    except OutliveError as error:
        context.store_error = spelled(error, CLI, ())
    try:
        findings = checks.run(context)
    finally:
        if context.store is not None:
            context.store.close()
    return Examined(
        healthy=all(finding.status != FAIL for finding in findings.values()),
        checks=[finding.told(name) for name, finding in findings.items()],
    )


DOCTOR = Verb(
    "doctor",
    "Look for what is wrong here, and say what to do about it.",
    doctor,
    group="Set up",
    store=False,
    configuration=False,
    long=True,
    result=Examined,
    detail="It answers even where no other verb does: with a broken configuration or an unsafe root. The exit status is 0 "
    "whatever it finds; `healthy` is false if a check failed.",
)
