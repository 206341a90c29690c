"""The list of tools, as it goes over the wire, and their schemas: JSON Schema 2020-12, made from the declarations of the verbs.

They are flat objects without $ref and without oneOf at the top, since not every client takes more,
and short, since every conversation pays for them. They do not forbid other arguments: aliases are
accepted, and a client that validates would refuse them. Defaults are in the descriptions, because
clients drop the keyword.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping

from outlive import parts, verbs
from outlive.config import Config
from outlive.core.record import Value
from outlive.core.records import CONTROL, READ
from outlive.core.records import EXEC as EXEC_RIGHT
from outlive.core.rights import Rights
from outlive.limits import MAX_SHOWN_BYTES
from outlive.mcp import introduction
from outlive.mcp.tools.offer import (
    EXEC,
    PROCESS,
    RUN,
    STARTING,
    WAIT_ARGUMENTS,
    default_of,
    defaults_of,
    listed,
    process_verbs,
    shell_of,
    tool_annotations,
)
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb

# Claude Code puts a longer result into a file, and shows 2 kB of it
_MOST_CHARS = MAX_SHOWN_BYTES + 20_000


_AS_IN_EXEC = "as in exec"
_TEXTS: dict[str, object] = {"type": "array", "items": {"type": "string"}}
_TYPES: dict[str, dict[str, object]] = {
    spec.STR: {"type": "string"},
    spec.RUN: {"type": "string"},
    spec.PATH: {"type": "string"},
    spec.INT: {"type": "integer"},
    spec.MS: {"type": "integer"},
    spec.BYTES: {"type": "integer"},
    spec.FLOAT: {"type": "number"},
    spec.SECONDS: {"type": "number"},
    spec.BOOL: {"type": "boolean"},
    spec.STRS: _TEXTS,
    spec.ITEMS: {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    spec.ENV: {"type": "object", "additionalProperties": {"type": "string"}},
    spec.OBJECT: {"type": "object"},
    spec.WORDS: {"anyOf": [{"type": "string"}, _TEXTS]},
}


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
    of_answers = {"outputSchema": of_answer()} if audience.output_schema else {}
    alone = PROCESS not in offers
    rights = Rights(level=audience.level).within(EXEC_RIGHT if EXEC in offers else CONTROL)
    runs = rights.allows(EXEC_RIGHT)
    if runs:
        offered.append(
            {
                "name": EXEC,
                "title": "Run a command",
                "description": introduction.EXEC_ALONE_DESCRIPTION if alone else introduction.EXEC_DESCRIPTION,
                "inputSchema": of_verb(
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
                "inputSchema": of_actions(allowed, run if runs else None, config, audience.limited),
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


# --- schemas ---


def of_verb(
    verb: Verb,
    config: Config,
    *,
    without: Iterable[str] = (),
    limited: Collection[str] = (),
    workdir_required: bool = False,
) -> dict[str, object]:
    """Return the input schema of a tool that is one verb, without the arguments in `without`.
    `limited`: see `listed`. `workdir_required`: there is no directory for jobs that name none."""
    args = [arg for arg in listed(verb, config, limited) if arg.mcp not in set(without)]
    defaults = defaults_of(verb, config)
    # Of this server's own environment: the list does not wait for the login shell
    shell = shell_of(config, os.environ)[0].rpartition("/")[2]
    texts = {arg.mcp: _sentence_of(arg).replace("shell string", f"{shell} string") for arg in args}
    if workdir_required:
        texts["workdir"] = "Absolute path; `cd` and `export` do not last"
    properties = {arg.mcp: of_argument(arg, texts[arg.mcp], defaults) for arg in args}
    return _object(properties, [arg.mcp for arg in args if arg.required or (workdir_required and arg.mcp == "workdir")])


def of_actions(
    verbs: Mapping[str, Verb], elsewhere: Verb | None, config: Config, limited: Collection[str] = ()
) -> dict[str, object]:
    """Return the input schema of a tool that is several verbs: `action`, and the union of their
    arguments.

    A description begins with the actions that take the argument. An argument that `elsewhere`, the
    verb of another tool, declares alike is not described again; of an action that defines or
    starts a job it is not even listed, since that takes almost all of them.
    """
    verbs = {action: verb for action, verb in verbs.items() if verb.section is None or config.has(verb.section)}
    others = listed(elsewhere, config, limited) if elsewhere else []
    known = {_alike(arg) for arg in others}
    told = {
        (arg.mcp, arg.kind): arg.mcp_help for arg in others if arg.mcp_help and len(arg.mcp_help) > len(_AS_IN_EXEC)
    }
    union: dict[str, list[tuple[str, Arg, str]]] = {}
    for action, verb in verbs.items():
        for arg in listed(verb, config, limited):
            if _alike(arg) not in known:
                text = _sentence(arg.help) if arg.mcp_help is None else arg.mcp_help
                begins = told.get((arg.mcp, arg.kind))  # the same, and more
                if begins and text.startswith(begins):
                    text = text.replace(begins, _AS_IN_EXEC, 1)
                union.setdefault(arg.mcp, []).append((action, arg, text))
            elif action not in STARTING:
                union.setdefault(arg.mcp, []).append((action, arg, _AS_IN_EXEC))
    properties: dict[str, object] = {"action": {"type": "string", "enum": list(verbs)}}
    for name, users in union.items():
        properties[name] = _shared(users, len(verbs))
    return _object(properties, ["action"])


def _alike(arg: Arg) -> tuple[str, str, str]:
    return arg.mcp, arg.kind, arg.help


def _shared(users: list[tuple[str, Arg, str]], actions: int) -> dict[str, object]:
    texts: dict[str, list[str]] = {}
    for action, _, text in users:
        texts.setdefault(text, []).append(action)
    # A list of most actions says little
    parts = [
        text if len(takers) > actions // 2 else f"{' '.join(takers)}: {text}".removesuffix(": ")
        for text, takers in texts.items()
    ]
    args = [arg for _, arg, _ in users]
    if len({(arg.kind, arg.choices) for arg in args}) == 1:
        return of_argument(args[0], "; ".join(parts), {}, bare=len(users) > 1 or _AS_IN_EXEC in texts)
    assert {arg.kind for arg in args} == {spec.STR, spec.STRS}, args[0].mcp
    return {**_TYPES[spec.WORDS], "description": "; ".join(parts)}  # one job; for wait also several


def of_argument(arg: Arg, text: str, defaults: Mapping[str, object], *, bare: bool = False) -> dict[str, object]:
    """Return the schema of one argument. `bare` leaves out the default: several share it, or another tool tells it."""
    default = defaults.get(arg.mcp, default_of(arg))
    if default and not bare and "default" not in text:
        text = f"{text} (default {_written(arg, default)})".lstrip()
    schema = {**_TYPES[arg.kind], **({"description": text} if text else {})}
    if arg.choices:
        schema["enum"] = list(arg.choices)
    return schema


def _written(arg: Arg, default: object) -> str:
    if arg.kind == spec.SECONDS and isinstance(default, (int, float)):
        return f"{default / 1000:g}"
    if isinstance(default, (list, tuple)):
        return ", ".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def _sentence_of(arg: Arg) -> str:
    return whole(arg.help) if arg.mcp_help is None else arg.mcp_help[:1].upper() + arg.mcp_help[1:]


def whole(text: str) -> str:
    """Return a help text without the sentences about the command line."""
    ours = re.sub(r"\s*\(CLI:[^)]*\)", "", text.strip())
    sentences = re.split(r"(?<=\.)\s", ours)
    return " ".join(sentence for sentence in sentences if not sentence.startswith("CLI")).rstrip(".")


def _sentence(text: str) -> str:
    """Return the first sentence of a help text: enough to choose; errors say the rest."""
    return re.split(r"(?<=[.;])\s", whole(text), maxsplit=1)[0].rstrip(".;")


def _object(properties: Mapping[str, object], required: list[str]) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def of_answer() -> dict[str, object]:
    """Return the output schema of both tools: the fields that programs need most. `outlive schema` has all."""
    properties: dict[str, object] = {
        "ok": {"type": "boolean"},
        "job_id": {"type": "string"},
        "state": {"type": "string"},
        "exit_code": {"type": ["integer", "null"]},
        "output": {"type": "string"},
    }
    return {"type": "object", "properties": properties, "required": ["ok"]}
