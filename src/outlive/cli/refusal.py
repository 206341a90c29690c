"""What a call answers that failed."""

from __future__ import annotations

import traceback

from outlive.cli import help as help_
from outlive.cli import human, parse, person, stdio
from outlive.cli.call import ERROR, Call
from outlive.errors import OutliveError, from_os
from outlive.verbs import envelope, spelling

USAGE = 2
_BUG = "This is a bug in outlive; the same call with -v shows where. The job, if there is one, is not affected."


def report(call: Call, error: Exception) -> int:
    """Print what went wrong, and return the exit status."""
    if isinstance(error, stdio.Unwritten):  # the caller sees half an object, so say why
        stdio.note(f"outlive: while writing the answer: {error.strerror}\n")
        return ERROR
    if isinstance(error, OutliveError):
        return _failed(call, error)
    if stdio.level(call.options.verbose, call.env) >= stdio.INFO:
        stdio.note(traceback.format_exc())
    if isinstance(error, OSError):  # of a system call that no verb expects to fail: a full disk, no more descriptors
        doing = f"running outlive {call.verb.name}" if call.verb else "starting outlive"
        return _failed(call, from_os(doing, error, on="store"))
    return _failed(call, OutliveError("internal_error", f"{type(error).__name__}: {error}", hint=_BUG))


def _failed(call: Call, error: OutliveError) -> int:
    error = spelling.spelled(error, spelling.CLI, (*parse.GLOBALS, *(call.verb.args if call.verb else ())))
    # The mistake may stand before the flag, which was not read then
    sentences = call.options.human or (error.usage and "--human" in call.argv)
    sentences = sentences or (call.verb is not None and person.reads_sentences(call.verb, call.argv))
    if sentences:
        stdio.note(human.error(error.to_dict()))
    elif call.verb and call.verb.name == "mcp" and not error.usage:  # a client takes every line of stdout for a message
        stdio.note(" ".join(filter(None, (f"outlive mcp: {error.code}: {error.message}.", error.hint))) + "\n")
    else:
        try:
            call.print(envelope.failure(error))
        except stdio.Unwritten as unwritten:
            return report(call, unwritten)
    if not error.usage:
        return ERROR
    hinted = sentences and "--help`" in (error.hint or "")
    stdio.note(help_.short_usage(call.verb).splitlines(keepends=True)[0] if hinted else help_.short_usage(call.verb))
    return USAGE
