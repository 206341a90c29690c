"""The ports that a call asks for: what is refused before anything is made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from outlive.core.base_directories import state_directory
from outlive.core.labels import is_port_name
from outlive.core.members import texts_of
from outlive.core.records import Definition
from outlive.errors import argument, invalid
from outlive.jobs.context import Context
from outlive.limits import PORT_NAME_CHARS
from outlive.parts.ports import PORTS, settings
from outlive.parts.ports.asked import Asked, mark, of_job, variable

_MOST = 16  # ports of one job
_TABLE = "ports"  # in the directory of outlive's state: all job roots of a user share it
_MARK = re.compile(r"\{port:([^{}]*)\}")


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call: the ports that it asks for. Errors: invalid_argument, config_error."""
    names = texts_of(args, PORTS)
    if not names:
        return {}
    wrong = next((name for name in names if not is_port_name(name)), None)
    if wrong is not None:
        hint = (
            f"The job gets a free port for each name, such as web: a letter, and at most {PORT_NAME_CHARS - 1} letters, "
            "digits, - and _."
        )
        raise invalid(PORTS, f"{argument(PORTS)} takes names of ports, not {wrong!r}", hint=hint)
    twice = next((name for at, name in enumerate(names) if variable(name) in map(variable, names[:at])), None)
    if twice is not None:
        raise invalid(PORTS, f"two ports would both be {variable(twice)}: {twice}")
    if len(names) > _MOST:
        raise invalid(PORTS, f"{len(names)} ports; a job has at most {_MOST}")
    taken = settings.of(ctx.config)
    table = os.path.join(state_directory(ctx.env), _TABLE)
    return {PORTS: Asked(names=names, first=taken.first, last=taken.last, table=table).to_dict()}


def require(definition: Definition) -> None:
    """Errors: invalid_argument for a job that could not be given its ports."""
    try:
        asked = of_job(definition)
    except ValueError as error:
        raise invalid(PORTS, str(error)) from error
    if asked is None:
        return
    if definition.host is not None:
        message = f"{argument(PORTS)} is of this machine, and the job is to run on {definition.host}"
        raise invalid(PORTS, message, hint="Choose the port yourself there, or run the job here.")
    given = {*definition.env, *definition.masked_env}
    both = next((one for one in (*map(variable, asked.names), *_single(asked)) if one in given), None)
    if both is not None:
        raise invalid("env", f"{argument('env')} sets {both}, which {argument(PORTS)} sets too")
    if definition.script is not None and _MARK.search(definition.command[0]):
        hint = f"Write ${variable(asked.names[0])} there."
        raise invalid("command", f"in so long a script {mark(asked.names[0])} is not replaced", hint=hint)
    unknown = next(
        (name for word in definition.command for name in _MARK.findall(word) if name not in asked.names), None
    )
    if unknown is not None:
        hint = f"The ports of this job: {', '.join(asked.names)}."
        raise invalid("command", f"the job has no port {unknown!r}, and its command names one", hint=hint)


def _single(asked: Asked) -> list[str]:
    return ["PORT"] if len(asked.names) == 1 else []
