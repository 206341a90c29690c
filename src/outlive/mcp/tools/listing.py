"""The list of tools, as it goes over the wire."""

from __future__ import annotations

from outlive.core.records import CONTROL, READ
from outlive.core.records import EXEC as EXEC_RIGHT
from outlive.core.rights import Rights
from outlive.limits import MAX_SHOWN_BYTES
from outlive.mcp import instructions
from outlive.mcp.apps import declaration
from outlive.mcp.tools import schemas
from outlive.mcp.tools.offer import EXEC, PROCESS, WAIT_ARGUMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from outlive.config import Config
    from outlive.verbs.spec import Verb

# Claude Code puts a longer result into a file, and shows 2 kB of it
_MOST_CHARS = MAX_SHOWN_BYTES + 20_000


def tools(
    run: Verb,
    process: Mapping[str, Verb],
    offers: Collection[str],
    config: Config,
    *,
    output_schema: bool = True,
    level: str = EXEC_RIGHT,
    limited: Collection[str] = (),
    view: bool = False,
) -> list[dict[str, Any]]:
    """Return the tools among `offers`: exec, which is the verb `run`, and process, which is the
    verbs `process` by their actions. `output_schema`: the client gets answers as objects. `level`:
    the right of the client, which is offered nothing beyond it. `limited`: the sections of the
    configuration in which the client has a limit of its own. `view`: the client shows views."""
    found = []
    of_answers = {"outputSchema": schemas.of_answer()} if output_schema else {}
    alone = PROCESS not in offers
    rights = Rights(level=level).within(EXEC_RIGHT if EXEC in offers else CONTROL)
    runs = rights.allows(EXEC_RIGHT)
    if runs:
        found.append(
            {
                "name": EXEC,
                "title": "Run a command",
                "description": instructions.EXEC_ALONE_DESCRIPTION if alone else instructions.EXEC_DESCRIPTION,
                "inputSchema": schemas.of_verb(run, config, without=WAIT_ARGUMENTS if alone else (), limited=limited),
                **of_answers,
                "annotations": _annotations(open_world=True),
                "_meta": _meta(instructions.EXEC_SEARCH),
            }
        )
    if PROCESS in offers:
        reads = rights.level == READ
        allowed = {action: verb for action, verb in process.items() if rights.allows(verb.right)}
        found.append(
            {
                "name": PROCESS,
                "title": "Follow jobs" if reads else "Follow and control jobs",
                "description": instructions.process_description(rights.level),
                "inputSchema": schemas.of_actions(allowed, run if runs else None, config, limited),
                **of_answers,
                "annotations": _annotations(open_world=False, reads=reads),
                "_meta": _meta(instructions.PROCESS_SEARCH),
            }
        )
    if view and PROCESS in offers:  # without it there is nothing that the view could ask
        return declaration.with_view(found, controls=rights.allows(CONTROL))
    return found


def _annotations(*, open_world: bool, reads: bool = False) -> dict[str, bool]:
    return {"readOnlyHint": reads, "destructiveHint": not reads, "idempotentHint": False, "openWorldHint": open_world}


def _meta(search: str) -> dict[str, Any]:
    """Return what Claude Code reads of a tool and shows to no model: what its tool search looks
    in, and how long a result may be."""
    return {"anthropic/searchHint": search, "anthropic/maxResultSizeChars": _MOST_CHARS}
