"""One call of the command line: what is known of it, what the person at a terminal gets in place of an object or besides it, and
what it answers if it fails."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from outlive.answers import Answer
from outlive.cli import parse, stdio
from outlive.cli.text import Style, cut
from outlive.config import Config
from outlive.core.object_reference import resolve_name
from outlive.core.units import duration, size
from outlive.errors import OutliveError, from_os, traceback_of
from outlive.jobs.context import Context
from outlive.launch.from_cli import Launcher
from outlive.system.signals import number_of
from outlive.verbs import envelope, spelling
from outlive.verbs.spec import GlobalOptions, Verb

ERROR, USAGE = 1, 2  # exit statuses of a call that failed
_BUG = "This is a bug in outlive; the same call with -v shows where. The job, if there is one, is not affected."
FIRST_S, AGAIN_S = 1.0, 0.25
_CLEAR_LINE = "\r\x1b[K"
_FOLLOWING = frozenset({"log", "run", "start", "restart"})  # with --follow; `list --follow` prints JSON


class Call:
    """What is known of the call so far; error answers and ^C need it wherever the call stopped."""

    def __init__(self, argv: list[str], launcher: Launcher | None) -> None:
        self.argv = argv
        self.started = time.monotonic()
        self.env = dict(os.environ)
        self.cwd = _cwd()
        self.options = GlobalOptions()
        self.verb: Verb | None = None
        self.values: dict[str, Any] = {}
        self.context: Context | None = None
        self.launcher = launcher or Launcher()

    def log(self, level: int, text: str) -> None:
        if stdio.level(self.options.verbose, self.env) >= level:
            stdio.note(f"outlive: {text}\n")

    def print(self, answer: dict[str, object]) -> None:
        """Print an answer. Errors: stdio.Unwritten."""
        if self.options.human:
            verbose = self.options.verbose > 0
            stdio.text(texts().answer(answer, Style.of_stdout(self.env), verbose=verbose))
        else:
            stdio.json_line(envelope.encoded(answer))
            if os.isatty(1):
                texts().hint_once(self.env)


def shell_words(settings: Config) -> tuple[str, ...]:
    """Return the words before a shell string: a notification command is one, also of a job without a shell."""
    return tuple(settings.get("shell", "unix") or ("sh", "-lc"))


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # deleted under us, or a parent that may not be searched
        return None


def status_of_job(result: Mapping[str, object]) -> int:
    """Return the exit status that a shell would have for the same command: --propagate."""
    code, signal = result.get("exit_code"), result.get("signal")
    if isinstance(code, int):
        return code & 0xFF
    if isinstance(signal, str) and signal:
        unnamed = signal.removeprefix("SIG")  # SIG32: a signal without a name
        return 128 + (number_of(signal) or (int(unnamed) if unnamed.isdigit() else 0))
    if result.get("reason") == "launch":  # sh(1): 127 not found, 126 found but not executable
        return 127 if result.get("errno") in ("ENOENT", errno.ENOENT) else 126
    return ERROR


# --- a person at a terminal ---


def texts() -> ModuleType:
    from outlive.cli import human  # late: 7 ms, for a person

    return human


def is_asked(verb: Verb) -> bool:
    """Return whether this verb asks the person at this terminal, instead of printing an object."""
    return verb.at_terminal and os.isatty(0) and os.isatty(1)


def reads_sentences(verb: Verb, argv: list[str]) -> bool:
    """Return whether an error of this call is shown as sentences though --human was not given: where it prints text, or
    what is no object of ours."""
    prints_text = not verb.function or (verb.name in _FOLLOWING and not {"-f", "--follow"}.isdisjoint(argv))
    return (prints_text and os.isatty(2)) or is_asked(verb)


def answer_of(verb: Verb, values: dict[str, Any], ctx: Context, *, human: bool) -> dict[str, object]:
    """Run the verb, and return its full answer. With --human a person gets the last lines of the output with `status` too,
    and is shown the job's name and id in any case."""
    done: Answer = verb.run(ctx, **values)
    answer = envelope.full(verb.type, done, ctx, titles=not human or verb.name == "log")
    if verb.name == "status" and human:
        shown = texts().summary.last_lines(ctx, str(answer["job_id"]))
        answer |= {} if shown is None else {"snippet": shown}
    return answer


# --- a call that failed ---


def report_error(call: Call, error: Exception) -> int:
    """Print what went wrong, and return the exit status."""
    if isinstance(error, stdio.Unwritten):  # the caller sees half an object, so say why
        stdio.note(f"outlive: while writing the answer: {error.strerror}\n")
        return ERROR
    if isinstance(error, OutliveError):
        return _report(call, error)
    if stdio.level(call.options.verbose, call.env) >= stdio.INFO:
        stdio.note(traceback_of(error))
    if isinstance(error, OSError):  # of a system call that no verb expects to fail: a full disk, no more descriptors
        doing = f"running outlive {call.verb.name}" if call.verb else "starting outlive"
        return _report(call, from_os(doing, error, on="store"))
    return _report(call, OutliveError("internal_error", f"{type(error).__name__}: {error}", hint=_BUG))


def _report(call: Call, error: OutliveError) -> int:
    error = spelling.spelled(error, spelling.CLI, (*parse.GLOBALS, *(call.verb.args if call.verb else ())))
    # The mistake may stand before the flag, which was not read then
    sentences = call.options.human or (error.usage and "--human" in call.argv)
    sentences = sentences or (call.verb is not None and reads_sentences(call.verb, call.argv))
    if sentences:
        stdio.note(texts().error(error.to_dict()))
    elif call.verb and call.verb.name == "mcp" and not error.usage:  # a client takes every line of stdout for a message
        stdio.note(" ".join(filter(None, (f"outlive mcp: {error.code}: {error.message}.", error.hint))) + "\n")
    else:
        try:
            call.print(envelope.failure(error))
        except stdio.Unwritten as unwritten:
            return report_error(call, unwritten)
    if not error.usage:
        return ERROR
    hinted = sentences and "--help`" in (error.hint or "")
    usage: str = resolve_name("outlive.cli.help:short_usage")(call.verb)
    stdio.note(usage.splitlines(keepends=True)[0] if hinted else usage)
    return USAGE


# --- how far it is ---


class ProgressLine:
    """A line on stderr that tells a person how far a call is which takes longer than a second. A timer draws it while the call works or waits. Close it before anything else is printed: it
    disappears then."""

    def __init__(self, ctx: Context, verb: str) -> None:
        self._ctx = ctx
        self._verb = verb
        self._began = time.monotonic()
        self._drawn = False
        self._before = signal.signal(signal.SIGALRM, self._draw)
        signal.setitimer(signal.ITIMER_REAL, FIRST_S, AGAIN_S)

    def _draw(self, *_: object) -> None:
        try:
            width = os.get_terminal_size(2).columns or 80
        except OSError:  # it is gone
            return
        self._drawn = True
        line = progress_line(self._verb, time.monotonic() - self._began, self._ctx.progress)
        stdio.note(_CLEAR_LINE + cut(line, width - 1))

    def close(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        if self._drawn:
            stdio.note(_CLEAR_LINE)


def progress_line(verb: str, elapsed_s: float, progress: Callable[[], tuple[int, int | None, str]] | None) -> str:
    """Return the line. `progress` returns how much is done, of how much (None: not known) and of what: "bytes", or a
    plural noun."""
    parts = [duration(int(elapsed_s) * 1000)]
    if progress is not None:
        done, total, what = progress()
        if what == "bytes":
            count = size(done) if total is None else f"{size(done)} of {size(total)}"
        else:
            count = f"{done:,} {what}" if total is None else f"{done:,} of {total:,} {what}"
        parts.insert(0, count + (f" ({min(100, 100 * done // total)} %)" if total else ""))
    return f"outlive {verb}: {', '.join(parts)}"
