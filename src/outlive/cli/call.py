"""One call of the command line."""

from __future__ import annotations

import os
import time
from typing import Any

from outlive.cli import stdio
from outlive.config import Config
from outlive.jobs.context import Context
from outlive.launch.late_launcher import LateLauncher
from outlive.verbs import envelope
from outlive.verbs.spec import GlobalOptions, Verb

ERROR = 1  # the exit status of a call that failed


class Call:
    """What is known of the call so far; error answers and ^C need it wherever the call stopped."""

    __slots__ = ("argv", "context", "cwd", "env", "launcher", "options", "started", "values", "verb")

    def __init__(self, argv: list[str], launcher: LateLauncher | None) -> None:
        self.argv = argv
        self.started = time.monotonic()
        self.env = dict(os.environ)
        self.cwd = _cwd()
        self.options = GlobalOptions()
        self.verb: Verb | None = None
        self.values: dict[str, Any] = {}
        self.context: Context | None = None
        self.launcher = launcher or LateLauncher()

    def log(self, level: int, text: str) -> None:
        if stdio.level(self.options.verbose, self.env) >= level:
            stdio.note(f"outlive: {text}\n")

    def print(self, answer: dict[str, object]) -> None:
        """Print an answer. Errors: stdio.Unwritten."""
        if self.options.human or os.isatty(1):
            from outlive.cli import human, text  # late: 6 ms, for a person

        if self.options.human:
            verbose = self.options.verbose > 0
            stdio.text(human.answer(answer, text.Style.of_stdout(self.env), verbose=verbose))
        else:
            stdio.json_line(envelope.encoded(answer))
            if os.isatty(1):
                human.hint_once(self.env)


def shell_words(settings: Config) -> tuple[str, ...]:
    """Return the words before a shell string: a notification command is one, also of a job without a shell."""
    return tuple(settings.get("shell", "unix") or ("sh", "-lc"))


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # deleted under us, or a parent that may not be searched
        return None
