"""The list of tools, as it goes over the wire."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from outlive import parts, verbs
from outlive.config import Config
from outlive.core.record import Value
from outlive.core.records import CONTROL, READ
from outlive.core.records import EXEC as EXEC_RIGHT
from outlive.core.rights import Rights
from outlive.limits import MAX_SHOWN_BYTES
from outlive.mcp import introduction
from outlive.mcp.tools import schemas
from outlive.mcp.tools.offer import EXEC, PROCESS, RUN, WAIT_ARGUMENTS, process_verbs, tool_annotations
from outlive.verbs.spec import Verb

# Claude Code puts a longer result into a file, and shows 2 kB of it
_MOST_CHARS = MAX_SHOWN_BYTES + 20_000


class Audience(Value):
    """For whom the list is made. `output_schema`: the client gets answers as objects. `level`: its right; it is offered
    nothing beyond. `limited`: the sections of the configuration in which it has a limit of its own. `capabilities`: what it declared.
    `workdir_required`: the server has no directory in which a job could run."""

    output_schema: bool = True
    level: str = EXEC_RIGHT
    limited: tuple[str, ...] = ()
    capabilities: Mapping[str, object] = {}
    workdir_required: bool = False


def tools(offers: Collection[str], config: Config, audience: Audience = Audience()) -> list[dict[str, object]]:
    """Return the tools among `offers`: exec, which is the verb `run`, and process, the other verbs by their actions."""
    run = verbs.load(RUN)
    offered: list[dict[str, object]] = []
    of_answers = {"outputSchema": schemas.of_answer()} if audience.output_schema else {}
    alone = PROCESS not in offers
    rights = Rights(level=audience.level).within(EXEC_RIGHT if EXEC in offers else CONTROL)
    runs = rights.allows(EXEC_RIGHT)
    if runs:
        offered.append(
            {
                "name": EXEC,
                "title": "Run a command",
                "description": introduction.EXEC_ALONE_DESCRIPTION if alone else introduction.EXEC_DESCRIPTION,
                "inputSchema": schemas.of_verb(
                    run,
                    config,
                    without=WAIT_ARGUMENTS if alone else (),
                    limited=audience.limited,
                    workdir_required=audience.workdir_required,
                ),
                **of_answers,
                "annotations": tool_annotations(open_world=True),
                "_meta": _meta(introduction.EXEC_SEARCH),
            }
        )
    if PROCESS in offers:
        reads = rights.level == READ
        allowed = {action: verb for action, verb in process_verbs().items() if rights.allows(verb.right)}
        offered.append(
            {
                "name": PROCESS,
                "title": "Follow jobs" if reads else "Follow and control jobs",
                "description": introduction.process_description(rights.level, _of_parts(allowed)),
                "inputSchema": schemas.of_actions(allowed, run if runs else None, config, audience.limited),
                **of_answers,
                "annotations": tool_annotations(open_world=False, reads=reads),
                "_meta": _meta(introduction.PROCESS_SEARCH),
            }
        )
    for of_part in parts.functions("tools"):
        offered = of_part(offered, audience.capabilities, rights)
    return offered


def _meta(search: str) -> dict[str, object]:
    """Return what Claude Code reads of a tool and shows to no model: what its tool search looks in, and how long a
    result may be."""
    return {"anthropic/searchHint": search, "anthropic/maxResultSizeChars": _MOST_CHARS}


def _of_parts(allowed: Mapping[str, Verb]) -> str:
    """Return what the actions of parts that are offered are for."""
    sentences = []
    for part in parts.every():
        names = [name for name in part.actions if any(verb.name == name for verb in allowed.values())]
        if part.about_actions and names:
            sentences.append(f"{', '.join(names)}: {part.about_actions}. ")
    return "".join(sentences)
