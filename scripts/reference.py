"""Write the pages that say what the declarations say: cli.md, mcp-tools.md and answers.md of docs/reference/, docs/clients/,
and the named steps of docs/explanation/steps.md.

    python scripts/reference.py            # write the pages
    python scripts/reference.py --check    # exit 1 and name the pages that are out of date

A change of a verb, an argument or a field of an answer changes these pages. A test runs the check.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import client_pages
import named_steps

from outlive import verbs
from outlive.answers import FULL_ONLY
from outlive.cli import help as cli_help
from outlive.mcp.tools import listing, offer
from outlive.parts.schema import document as answer_schema

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
COMMAND = "python scripts/reference.py"
AS_SESSION = ("sessionId", "status")  # of every answer about a job; the head of answers.md says so
NOTE = f"<!-- Written by `{COMMAND}` from the declarations of the verbs. Do not edit. -->"
WIDE = 100_000  # columns: each entry of a help text in a line of its own


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def plain(text: str) -> str:
    """Return a text of a declaration as Markdown that shows the same: no `*` in it means emphasis."""
    return text if "`" in text else text.replace("*", "\\*")


def folded(text: str) -> list[str]:
    return textwrap.wrap(plain(" ".join(text.split())), 100, break_on_hyphens=False, break_long_words=False)


def anchor(name: str) -> str:
    return name.replace(" ", "-").lower()


# --- cli.md ----------------------------------------------------------------------------------------------------------

CLI_HEAD = """\
# The command line

This page lists every verb and option of `outlive`. The same text is in the
terminal: `outlive --help` lists the verbs, `outlive VERB --help` explains one.

Every verb prints exactly one JSON object on stdout; [Answers](answers.md) explains its fields.
Logs go to stderr. `attach`, `completion`, `mcp`, `serve` and `demo` print no object, `events --follow` and
`list --follow` print one object a line, and `log`, `run`, `start` and `restart` with `--follow` print what the job prints.
The exit status of `outlive` is

- 0: the verb answered, whatever became of the job;
- 1: the answer is an error object ([Errors](errors.md));
- 2: the command line was wrong (an error object on stdout, the usage line on stderr);
- 130: interrupted with `Ctrl-C`. The job goes on.

`--propagate` with `--wait` or `--follow` is the exception: the call exits with the job's exit code, with 128 plus the
number of the signal that ended the job, with 127 if the program was not found, and with 126 if it
could not be executed.
"""


def overview() -> tuple[list[tuple[str, list[str]]], list[tuple[str, str]]]:
    """Return the groups of verbs, (heading, names) each, and the global options, (option, meaning) each."""
    text = help_text()
    groups, options = [], []
    for heading, rows in sections(text):
        if heading.startswith("Global options"):
            options = list(rows)
        elif heading != "Examples":
            groups.append((heading, [name for name, _ in rows]))
    return groups, options


def sections(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each `Heading:` of a help text with the (left, right) entries of its table."""
    for part in re.split(r"\n\n+", text):
        heading, _, body = part.partition(":\n")
        if body and "\n" not in heading:
            yield heading, entries(body)


def entries(body: str) -> list[tuple[str, str]]:
    """Return the (left, right) entries of one table of a help text; folded lines are joined."""
    found: list[list[str]] = []
    for line in body.rstrip("\n").split("\n"):
        if re.match(r"  \S", line):
            left, _, right = line.strip().partition("  ")
            found.append([left, right.strip()])
        else:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(left, right) for left, right in found]


def help_text() -> str:
    """Return what `outlive --help` prints in a terminal of 100 columns."""
    command = [sys.executable, "-m", "outlive", "--help"]
    env = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def cli_page() -> str:
    groups, options = overview()
    lines = [NOTE, "", *CLI_HEAD.splitlines(), "", "## The verbs", ""]
    listed = {name: cli_of(name) for _, names in groups for name in names}
    for heading, names in groups:
        lines += [f"**{heading}**", ""]
        lines += table(("verb", "what it does"), ((f"[`{n}`](#{anchor(n)})", listed[n][0]) for n in names))
        lines.append("")
    lines += [
        "`exec` is another name of `run`.",
        "",
        "## Global options",
        "",
        "They stand before or after the verb.",
        "",
    ]
    lines += [*table(("option", "meaning"), ((f"`{left}`", right) for left, right in options)), ""]
    for name, (_, body) in listed.items():
        lines += [f"## {name}", "", *body, ""]
    return "\n".join(lines).rstrip() + "\n"


def cli_of(name: str) -> tuple[str, list[str]]:
    """Return what a verb does in one line, and the body of its section."""
    verb = verbs.load(name)
    text = cli_help.of_verb(verb, WIDE)
    usage, _, rest = text.partition("\n\n")
    lines = ["```text", usage.removeprefix("usage: "), "```", "", *folded(verb.help)]
    for paragraph in verb.detail.split("\n\n"):
        lines += ["", *folded(paragraph)] if paragraph.strip() else []
    for heading, rows in sections(rest):
        lines += [
            "",
            *table((heading.lower().rstrip("s"), "meaning"), ((f"`{left}`", plain(right)) for left, right in rows)),
        ]
    if verb.result:
        lines += ["", f"Answer: [`{verb.type}`](answers.md#{anchor(verb.type)})."]
    return verb.help, lines


# --- mcp-tools.md ----------------------------------------------------------------------------------------------------

MCP_HEAD = """\
# The MCP tools

This page lists what an MCP client can call, and with which arguments.

The server offers two tools. `exec` starts a command. `process` does everything else; its argument
`action` says what. `outlive mcp --tools exec` offers `exec` alone: it then answers when the command
has ended, and ignores `yield_ms` and `background`.

Names may be written in snake_case, camelCase or with hyphens (`since_seq`, `sinceSeq`). An argument
that does not exist is an error that names the nearest one. A job is named by its id, or by any
unique beginning or end of it of at least 6 characters. The structured answer is the object that the
command line prints ([Answers](answers.md)); its text says the same in words. A command that exits
with a code other than 0 is not a failed call.

The text begins with the state of the job (`rc=0`: it exited with code 0), and with everything
else that the server says: a hint, notices, how much output is left out. Then comes a blank line,
and then the output to the end of the text. None of the server's own lines is blank, and nothing
of them follows the output. So a client that cuts a long text does not hide them, and no command
can print something that passes for them.

```text
Command exited with code 2
[job 01M7YVCRE5B97C0QQGX4XBBDV8 (lint): exited 1: "3 problems"]

compiling part 3
part 3 does not link
```

The schemas of the tools are shorter than this page, because every conversation pays for them.
`process` does not list again the arguments of `exec` that `create`, `start` and `restart` take too,
and neither tool lists what is marked here as not in the schema, or what the configuration makes no
use of. All of them are accepted. The schema of `process` has at most 4,500 bytes, because Codex
removes all descriptions from a schema of more than 5,000.

One blocking call lasts as long as its client lets it, less 5 % for the answer (at least 10 s): 15
min in Claude Code, and with the entry that `install` writes for Codex, OpenClaw and OpenCode, 570 s
in Gemini CLI, 50 s elsewhere, because clients give up at 60 s. The time-out that the entry has now
is what counts. The answer to a call that asks for more has `requested_ms` and `effective_ms`; call
again, nothing is lost.
"""


def mcp_page() -> str:
    actions = offer.process_verbs()
    lines = [NOTE, "", *MCP_HEAD.splitlines(), "", "## exec", "", *tool_part(verbs.load("run"))]
    lines += ["## process", "", "The actions, each with the arguments that it takes besides `action`:", ""]
    lines += table(("action", "what it does"), ((f"[`{n}`](#{anchor(n)})", verb.help) for n, verb in actions.items()))
    lines += ["", "`spawn` is `exec` with `background`, for clients that look for it here.", ""]
    for name, verb in actions.items():
        lines += [f"### {name}", "", *tool_part(verb)]
    return "\n".join(lines).rstrip() + "\n"


def tool_part(verb: Any) -> list[str]:
    """Return the lines of one tool or action: what it does, its arguments, its answer."""
    lines = [*folded(verb.help), ""]
    rows = []
    args = [arg for arg in offer.accepted(verb) if arg.hidden is not True]
    for arg in args:
        schema = listing.of_argument(arg, listing.whole(arg.help), {})
        rows.append((f"`{arg.mcp}`", kind_of(schema), explained(schema, arg)))
    if rows:
        lines += [*table(("argument", "type", "meaning"), rows), ""]
    unlisted = [arg.mcp for arg in args if arg.hidden]
    if unlisted:
        names = ", ".join(f"`{name}`" for name in unlisted)
        lines += [*folded(f"Accepted, but not in the schema that models read: {names}."), ""]
    return [*lines, f"Answer: [`{verb.type}`](answers.md#{anchor(verb.type)}).", ""]


def explained(schema: dict[str, Any], arg: Any) -> str:
    words = [plain(schema["description"]).rstrip(".") + "."]
    words += ["Required."] if arg.required else []
    if "enum" in schema:
        words.append("One of " + ", ".join(f"`{one}`" for one in schema["enum"]) + ".")
    aliases = [other for other in arg.aliases if other.islower()]
    if aliases:
        words.append("Also called " + ", ".join(f"`{one}`" for one in aliases) + ".")
    return " ".join(words)


def kind_of(schema: dict[str, Any]) -> str:
    """Return the JSON type of a value in words: `string`, `array of string`, `string or null`."""
    if "const" in schema:
        return f"`{str(schema['const']).lower()}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_of(one) for one in schema["anyOf"]))
    kinds = schema.get("type", "any")
    if isinstance(kinds, list):
        return " or ".join(kinds)
    if kinds == "array" and (items := schema.get("items")):
        return f"array of {kind_of(items)}"
    return str(kinds)


# --- answers.md ------------------------------------------------------------------------------------------------------

ANSWERS_HEAD = """\
# Answers

This page explains every answer of `outlive`: the object on stdout of the command
line, and the structured content of an MCP answer. They are the same object.

Every answer begins with the envelope:

```json
{"schema_version": "0.1", "ok": true, "type": "status"}
```

`type` is the verb with underscores. An answer with `"ok": false` has the type `error`
([Errors](errors.md)). Over MCP any answer may have `notices` too ([Notices](mcp.md#notices)), and
`masked_secrets`, the number of secrets that are masked in it
([Secrets](../explanation/security.md#secrets-in-what-a-client-is-shown)).

An answer has two sizes, which the argument `detail` chooses. `full` has every member of the lists
below, and is the default on the command line. `brief` is the default over MCP, and has what an agent
acts on: how the job is, what it printed, and what the verb was asked for. It echoes nothing of the
call, and a member that says nothing (null, false or empty) is absent:

```json
{"ok": true, "type": "run", "job_id": "01M7YVCRE5B97C0QQGX4XBBDV8", "state": "exited", "exit_code": 2,
  "reason": "exit", "next_seq": 7, "output": "broken\\n"}
```

The same call with the same `detail` gives the same object on the command line and over MCP, but for
secrets, which are masked over MCP alone. In both sizes the state and the exit code stand before the
output. An error has one size. A full answer about a job also says `sessionId` (its id) and `status`,
for agents that know the tools of OpenClaw.

Times are RFC 3339 in UTC with milliseconds. A name that ends in `_ms` counts milliseconds, one that
ends in `_bytes` bytes. Paths are absolute. Fields may be added in later versions. `outlive schema`
prints all of this as JSON Schema; the repository has it as `schema/outlive.schema.json`.
"""


def answers_page() -> str:
    lines = [NOTE, "", *ANSWERS_HEAD.splitlines(), "", "## Which answer has which fields", ""]
    lines += ["A field with `?` may be absent. Every other field is always there; it may be null.", ""]
    users: dict[str, list[str]] = {}
    kinds: dict[str, dict[str, tuple[dict[str, Any], bool]]] = {}
    for verb in map(verbs.load, verbs.names()):
        if verb.result is None:
            continue
        kinds[verb.type] = answer_schema.members(verb.result)
        names = [name for name in kinds[verb.type] if name not in AS_SESSION]
        shown = (f"`{name}{'' if kinds[verb.type][name][1] else '?'}`" for name in names)
        lines += [f"### {verb.type}", "", ", ".join(shown), ""]
        if verb.right:
            kept = (name for name in names if verb.result.flat()[name].brief != FULL_ONLY)
            lines += [f"Brief: {', '.join(f'`{name}`' for name in kept)}.", ""]
        for name in names:
            users.setdefault(name, []).append(verb.type)
    lines += [
        "## The fields",
        "",
        "A name after a dot is a member of an object, `NAME` any name, `[]` an entry of a list. The other",
        "members of an event depend on its type: [Events](events.md).",
        "",
    ]
    rows: list[tuple[str, ...]] = []
    for name in sorted(users):
        for schema, types in meanings({type_: kinds[type_][name][0] for type_ in users[name]}):
            of = f" Of {', '.join(f'`{one}`' for one in types)}." if types else ""
            rows.append((f"`{name}`", kind_of(schema), described(schema) + of))
            rows += members(
                name, schema, {one: [kinds[type_][one][0] for type_ in types_of] for one, types_of in users.items()}
            )
    lines += table(("field", "type", "meaning"), rows)
    return "\n".join(lines).rstrip() + "\n"


def meanings(schemas: dict[str, dict[str, Any]]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield each meaning of a field, with the types of answers that it has there; none where it has only one.
    `schemas`: type → what the field is there."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for type_, schema in schemas.items():
        for known, there in found:
            if known == schema:
                there.append(type_)
                break
        else:
            found.append((schema, [type_]))
    for schema, there in found:
        yield schema, there if len(found) > 1 else []


def members(name: str, schema: dict[str, Any], top: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each member of an object, of an object that may be absent, or of the entries of a list. `top`: name →
    what the field is at the top of answers."""
    if schema.get("type") == "array":
        yield from members(f"{name}[]", schema.get("items", {}), top)
        return
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from members(f"{name}.NAME", values, top)
    for choice in schema.get("anyOf", ()):
        yield from members(name, choice, top)
    for member, inner in schema.get("properties", {}).items():
        if inner in top.get(member, ()):  # an entry of `list` has the fields that jobs have everywhere
            continue
        if name == "events[]" and "type" not in inner:  # events.md has them, by the type of the event
            continue
        yield f"`{name}.{member}`", kind_of(inner), described(inner)
        yield from members(f"{name}.{member}", inner, top)


def described(schema: dict[str, Any]) -> str:
    text = plain(str(schema.get("description", "")).strip())
    choices = [one for one in schema.get("enum", ()) if one is not None]
    return f"{text} One of {', '.join(f'`{one}`' for one in choices)}." if choices else text


# --- all of them -----------------------------------------------------------------------------------------------------

MADE = {"cli.md": cli_page, "mcp-tools.md": mcp_page, "answers.md": answers_page}


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = []
    note = f"<!-- Written by `{COMMAND}`; its words are in scripts/client_pages.py. -->"
    made = {PAGES / name: page() for name, page in MADE.items()} | client_pages.pages(note)
    made[named_steps.PAGE] = named_steps.page()
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(f"docs/{path.parent.name}/{path.name}")
            if not words:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if words and stale:
        print(f"out of date: {', '.join(stale)}. `make generated`, or `{COMMAND}`, writes them.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
