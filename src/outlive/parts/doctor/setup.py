"""What a person has set up: the Python that runs outlive and its configuration."""

from __future__ import annotations

import platform
import sys

from outlive import __version__
from outlive.config.file import known
from outlive.parts.finding import CheckContext, Finding, fail, ok, warn


def python(context: CheckContext) -> Finding:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    there = f"outlive {__version__}, Python {platform.python_version()} ({sys.executable}), {system}"
    return ok(there, version=__version__, python=platform.python_version())


def configuration(context: CheckContext) -> Finding:
    if context.config is None:
        error = context.config_error
        return fail(
            str(error),
            (error and error.hint) or "Mend the file or the variable; until then every verb fails like this.",
        )
    told = [
        f"{section}.{key}" for section, keys in known().items() for key in keys if context.config.is_set(section, key)
    ]
    where = context.config.path or "no file; defaults"
    text = f"{where}{'; set: ' + ', '.join(told) if told else ''}"
    if context.config.ignored:
        advice = "Mend or unset them in the environment of the process that starts outlive."
        return warn(f"{text}. {'; '.join(context.config.ignored)}", advice, path=context.config.path, set=told)
    return ok(text, path=context.config.path, set=told)
