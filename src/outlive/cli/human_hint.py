"""Tell a person once that answers can be read more easily."""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.cli import stdio
from outlive.config import state_directory

_GIVEN = "human-hint"  # an empty file: the hint was given
_HINT = "outlive: --human shows this for reading; OUTLIVE_HUMAN=1 makes it the default on a terminal.\n"


def give_once(env: Mapping[str, str]) -> None:
    """Give the hint on stderr if a person has typed this call, and none was ever given to this user.

    An interactive shell gives each command that is typed a process group of its own, a script does
    not. A program that has a terminal is told nothing either: a job of ours, a build. Where it
    cannot be recorded that the hint was given, it is not given.
    """
    typed = os.isatty(0) and os.isatty(2) and os.getpgrp() == os.getpid()
    if not typed or any(name in env for name in ("OUTLIVE_HUMAN", "OUTLIVE_JOB_ID", "CI")):
        return
    place = state_directory(env)
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(os.path.join(place, _GIVEN), flags, 0o600))
    except OSError:
        return
    stdio.note(_HINT)
