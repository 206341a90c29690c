"""The list of tools, as it goes over the wire."""

from __future__ import annotations

from outlive.limits import MAX_SHOWN_BYTES
from outlive.mcp import instructions
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
    run: Verb, process: Mapping[str, Verb], offers: Collection[str], config: Config, *, output_schema: bool = True
) -> list[dict[str, Any]]:
    """Return the tools among `offers`: exec, which is the verb `run`, and process, which is the
    verbs `process` by their actions. `output_schema`: the client gets answers as objects."""
    found = []
    of_answers = {"outputSchema": schemas.of_answer()} if output_schema else {}
    alone = PROCESS not in offers
    if EXEC in offers:
        found.append(
            {
                "name": EXEC,
                "title": "Run a command",
                "description": instructions.EXEC_ALONE_DESCRIPTION if alone else instructions.EXEC_DESCRIPTION,
                "inputSchema": schemas.of_verb(run, config, without=WAIT_ARGUMENTS if alone else ()),
                **of_answers,
                "annotations": _annotations(open_world=True),
                "_meta": _meta(instructions.EXEC_SEARCH),
            }
        )
    if PROCESS in offers:
        found.append(
            {
                "name": PROCESS,
                "title": "Follow and control jobs",
                "description": instructions.PROCESS_DESCRIPTION,
                "inputSchema": schemas.of_actions(process, run if EXEC in offers else None, config),
                **of_answers,
                "annotations": _annotations(open_world=False),
                "_meta": _meta(instructions.PROCESS_SEARCH),
            }
        )
    return found


def _annotations(*, open_world: bool) -> dict[str, bool]:
    return {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": open_world}


def _meta(search: str) -> dict[str, Any]:
    """Return what Claude Code reads of a tool and shows to no model: what its tool search looks
    in, and how long a result may be."""
    return {"anthropic/searchHint": search, "anthropic/maxResultSizeChars": _MOST_CHARS}
