"""Record what a caller does, before it is done."""

from __future__ import annotations

from outlive import limits
from outlive.core.records import Definition
from outlive.errors import OutliveError, from_os
from outlive.part import Act, Context
from outlive.parts.audit import record, settings


def note(act: Act) -> None:
    """Record that the caller is about to do this.

    Errors: io_error if it cannot be recorded and [audit] says `required`; else the answer warns.
    """
    ctx = act.ctx
    target = settings.target(ctx.config, ctx.env)
    if target is None:
        return
    about = {
        "job_id": act.job_id,
        "face": ctx.face if ctx.face == "cli" else "stdio" if ctx.caller.token is None else "http",
        "owner": ctx.caller.owner,
        "client": ctx.caller.client,
        "token": ctx.caller.token,
        "root": ctx.store.path if ctx.store else None,
    }
    facts = {**about, **act.facts, **_of_start(act)}
    try:
        record.append(target, act.verb, **{name: value for name, value in facts.items() if value is not None})
    except OSError as error:
        why = from_os("writing the audit record", error)
        if target.required:
            why.hint = (
                "Nothing was done, because [audit] of the configuration says required. `outlive doctor` tells more."
            )
            raise why from error
        ctx.warnings.append(f"This is not in the audit record: {why.message}.")


def _of_start(act: Act) -> dict[str, object]:
    """Return what there is to say of a job that is to be made or started; nothing of another act."""
    definition, decided = act.definition, act.ctx.decision
    if definition is None:
        return {}
    return {
        **_defined(definition, {**act.ctx.env, **act.overrides}),
        **({} if decided is None else vars(decided)),
    }


def _defined(definition: Definition, values: dict[str, str]) -> dict[str, object]:
    """Return what a job is for an entry, without the values of masked variables."""
    secrets = [values[name] for name in definition.mask if len(values.get(name, "")) >= limits.MASKED_CHARS]
    notified = definition.notification
    sinks = [notified.notify_command, notified.notify_file]
    sinks += [sink for watch in notified.watches or () for sink in (watch.command, watch.file)]
    return {
        "command": [_without(secrets, word, is_cut=definition.script is not None) for word in definition.command],
        "command_bytes": definition.command_bytes,
        "command_cut": definition.script and True,
        "shell": definition.shell,
        "cwd": definition.cwd,
        "sinks": [_without(secrets, sink) for sink in sinks if sink] or None,
        "host": definition.host,
        "sandbox": definition.sandbox and definition.sandbox.shown,
        "restarted_from": definition.restarted_from,
    }


def _without(secrets: list[str], text: str, *, is_cut: bool = False) -> str:
    """Return the text without secrets. `is_cut`: it may end within one."""
    for secret in secrets:
        text = text.replace(secret, "***")
        part = next((size for size in range(len(secret) - 1, 0, -1) if is_cut and text.endswith(secret[:size])), 0)
        text = f"{text[:-part]}***" if part else text
    return text


def note_unstarted(ctx: Context, job_id: str, error: OutliveError) -> None:
    """Record that a start failed before the command ran: no supervisor does."""
    target = settings.target(ctx.config, ctx.env)
    if target is None:
        return
    reason = "denied" if error.code == "denied" else "launch"
    try:
        record.append(target, record.END, job_id=job_id, state="failed", reason=reason, message=error.message)
    except OSError as why:
        ctx.warnings.append(f"This is not in the audit record: {why.strerror}.")
