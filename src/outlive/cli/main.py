"""argv → verb → one JSON object on stdout and an exit status.

No logic of a verb is here. A verb imports only what it needs: `outlive status` may take 4.2 times as long as a bare
Python."""

from __future__ import annotations

import gc
import importlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from outlive import __version__, config, parts, verbs
from outlive.answers import advice
from outlive.cli import parse, stdio
from outlive.cli.call import (
    Call,
    ProgressLine,
    answer_of,
    is_asked,
    report_error,
    shell_words,
    status_of_job,
)
from outlive.config import Config
from outlive.core.ids import short_id
from outlive.core.object_reference import resolve_name
from outlive.core.records import Definition
from outlive.errors import OutliveError, invalid
from outlive.jobs import context
from outlive.jobs.context import Context
from outlive.launch.from_cli import Launcher
from outlive.store.inbox import Inbox
from outlive.store.root import Store
from outlive.system import fds, waiting
from outlive.verbs import envelope
from outlive.verbs.spec import FULL, GlobalOptions, Verb

_T = TypeVar("_T")

ANSWERED, INTERRUPTED = 0, 130

_OFF = ("", "0", "false", "no")  # values of OUTLIVE_HUMAN
_NAMED = 5  # jobs that the message about ^C names


def main(argv: list[str], launcher: Launcher | None = None) -> int:
    """Run one command line and return the exit status. `launcher`: already starting a pair, if given."""
    fds.open_standard()
    call = Call(argv, launcher)
    try:
        status = _dispatch(argv, call)
    except KeyboardInterrupt:
        return _interrupted(call)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an error object
        status = report_error(call, error)
    call.log(stdio.INFO, _summary(call, status))
    return status


def _dispatch(argv: list[str], call: Call) -> int:
    options = call.options
    if call.env.get("OUTLIVE_HUMAN", "0").lower() not in _OFF and os.isatty(1):
        options.human = True
    words = parse.leading(argv, options, call.cwd)
    if words[:1] == ["help"]:
        options.help, words = True, words[1:]
    if options.version:
        return _version()
    if options.help and not words:
        return _help(None)
    return _verb(words, call)


def _verb(words: list[str], call: Call) -> int:
    if len(words) < 3 and parse.asks_about_several(words, call.options):
        return _help(words[0])
    name, words = parse.verb_name(words)
    if name == "run" and not call.options.help and words[:1] not in (["--help"], ["-h"]):
        call.launcher.prepare()
    verb = verbs.load(name)
    if not verb.cli:
        raise invalid("verb", f"{name} is an action of the MCP server only", usage=True)
    call.verb = verb
    if not call.options.help:
        call.values = parse.arguments(verb, words, call.options, call.cwd)
    if call.options.help:
        return _help(verb)
    if call.options.version:
        return _version()
    follow = bool(call.values.get("follow")) or is_asked(verb)
    if call.values.get("propagate"):
        parse.check_propagate(call.values, follow=follow)
    if verb.program:
        program: Callable[[dict[str, Any], GlobalOptions], int] = resolve_name(verb.program)
        _collect_again()
        return program(call.values, call.options)
    if follow or not verb.function:
        return _follow(verb, call)
    detail: str = call.values.pop("detail", FULL)
    answer = _run(verb, call, partial(answer_of, verb, call.values, human=call.options.human), detail)
    assert call.context is not None
    advice.say(answer, call.options.notes)
    _tell(call, call.context, answer)
    return status_of_job(answer) if call.values.get("propagate") else ANSWERED


def _tell(call: Call, ctx: Context, answer: dict[str, object]) -> None:
    """Print the answer, and note what the caller's session was told, where there is one."""
    written = False
    try:
        # A person is shown what there is; the size is that of the object
        call.print(envelope.sized(answer, FULL if call.options.human else ctx.detail))
        written = True
    finally:
        if ctx.sent is not None:
            ctx.sent(written)
        if written:
            note_told(ctx, answer)


def note_told(ctx: Context, answer: dict[str, object]) -> None:
    """Note that the agent's session, if this is its shell, was told this of jobs."""
    if ctx.inbox is not None:
        from outlive.jobs.told import notices  # late: 4 ms, for the shell of an agent

        notices.known(ctx, answer)(True)
        ctx.inbox.close()


def _follow(verb: Verb, call: Call) -> int:
    """Show what comes until nothing can come any more: one JSON object a line, or for a person."""
    values = {name: value for name, value in call.values.items() if name not in ("follow", "detail")}
    call.values["wait"] = True  # a job that has to be approved is waited for
    code = verb.follow or parts.follows(verb.name)
    if not code:
        raise OutliveError("not_supported", f"--follow needs {parts.not_there(['follow'])}")
    follow = resolve_name(code)
    return int(_run(verb, call, lambda ctx: follow(ctx, verb, call.options, **values)))


def _run(verb: Verb, call: Call, start: Callable[[Context], _T], detail: str = FULL) -> _T:
    configuration = _configuration(verb, call)
    call.log(stdio.DEBUG, f"config={configuration.path}, cwd={call.cwd}, arguments: {', '.join(call.values)}")
    store = _open_store(verb, call)
    waiting.load_before_long_waits(load_what_answers_need)
    caller = context.Principal(
        store,
        configuration,
        face="cli",
        owner=call.env.get("OUTLIVE_OWNER") or "cli",
        client=None,
        cwd=call.cwd,
        env=call.env,
        launcher=call.launcher,
        shell_words=shell_words(configuration),
        inbox=_inbox(verb, call, store),
    )
    flags = {"root": call.options.root, "config": call.options.config}
    call.context = context.Context(caller, verb.name, detail=detail, flags=flags)
    if call.values.get("wait"):  # the answer, which says it too, may come in an hour
        call.context.asks = _tell_who_approves
    _collect_again()
    progress = _progress(verb, call, call.context)
    try:
        return start(call.context)
    finally:
        if progress:
            progress.close()
        if store and call.context.inbox is None and call.context.sent is None:
            store.close()


def _inbox(verb: Verb, call: Call, store: Any) -> Any:
    """Return the inbox (store/inbox.py) of the agent's session that this call comes from, for a verb that tells of its jobs."""
    if not store or not call.env.get("CLAUDE_CODE_SESSION_ID") or not (verb.waits or verb.reports_end):
        return None
    return Inbox.of_shell(store, call.env, call.cwd)


def _progress(verb: Verb, call: Call, ctx: Context) -> ProgressLine | None:
    """Return the line that tells a person how far this call is, if it may take long and there is a terminal for it."""
    long = verb.long or (verb.name == "list" and not call.values.get("limit"))
    if not long or call.values.get("follow") or not os.isatty(2) or call.env.get("TERM") == "dumb":
        return None
    return ProgressLine(ctx, verb.name)


def _tell_who_approves(definition: Definition) -> bool:
    """Tell the person at this terminal why a command does not start. Return False: it is waited for."""
    job = short_id(definition.job_id)
    stdio.note(f"outlive: job {job} waits for approval: outlive approve {job}, or deny, in another terminal\n")
    return False


def _configuration(verb: Verb, call: Call) -> Config:
    try:
        loaded = config.load(call.env, call.options.config)
        for line in loaded.ignored:
            call.log(stdio.INFO, line)
        return loaded
    except OutliveError:
        if verb.configuration:
            raise
        return config.Config({}, None)


def _open_store(verb: Verb, call: Call) -> Any:
    """Return the store; None for a verb that needs none."""
    return Store.open(call.options.root, call.env) if verb.store else None


def _collect_again() -> None:
    """Enable garbage collection again. Objects loaded so far stay for good and are not searched."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _version() -> int:
    stdio.text(f"outlive {__version__}\n")
    return ANSWERED


def _help(about: Verb | str | None) -> int:
    stdio.text(resolve_name("outlive.cli.help:of")(about))
    return ANSWERED


def _interrupted(call: Call) -> int:
    """Report ^C. The call has given back by now what it held; the job goes on."""
    text = "interrupted"
    if call.verb and call.verb.waits:
        job = getattr(call.context, "job_id", None)
        starts = call.verb.name in ("run", "restart")  # without the id of the new job, which is gone then
        if not starts:
            job = job or call.values.get("job") or getattr(call.context, "awaited", None)
        names = job if isinstance(job, list) else [job] if job else []
        some = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        if names:
            text += f"; jobs {some} go on" if len(names) > 1 else f"; job {some} goes on"
        elif starts:
            text += "; nothing was started"
    stdio.note(f"outlive: {text}\n")
    return INTERRUPTED


def _summary(call: Call, status: int) -> str:
    verb = call.verb.name if call.verb else "-"
    root = getattr(getattr(call.context, "store", None), "path", None) or call.options.root
    took_ms = (time.monotonic() - call.started) * 1000
    return f"root={root or '-'}, verb={verb}, status={status}, took {took_ms:.1f} ms"


# With what these import at once; a unit test follows their imports
_AFTER_WAITS = (
    *("cli.help", "cli.human", "cli.summary"),
    *("cli.text", "config.file", "jobs.conditions.job_wait", "jobs.diagnosis.deleted"),
    *("jobs.interaction.screen", "jobs.starting.new_supervisor", "jobs.told.notices"),
    *("launch.engine", "launch.from_cli", "supervisor.guardian"),
)


def load_what_answers_need() -> None:
    """Load what a call that waits long may import after its wait, before it: an update may replace the files. It takes an
    eighth of a second and 11 MB, which a short call is spared."""
    ours = (f"outlive.{name}" for name in _AFTER_WAITS)
    for name in (*ours, *parts.after_waits()):
        # A library that is not installed, or a file that an update takes away now; an answer that needs it says so
        with suppress(ImportError, OSError):
            importlib.import_module(name)
    with suppress(ImportError, OSError):
        importlib.import_module("outlive.supervisor.large_code").load()
