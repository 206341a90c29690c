"""What scripts/reference.py needs to write docs/clients/: one page for each client that `outlive install` knows.

The file, the entry, the client's own command and the environment of the server come from the code of the installer.
What is written here is what only the client's documentation, or a measurement, can say.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import NamedTuple

from outlive.parts.clients import registry
from outlive.parts.clients.registry import CLIENTS, PROJECT, USER, Client, Machine

PAGES = Path(__file__).resolve().parent.parent / "docs" / "clients"
# No variable is set that moves a client's file
_HERE = Machine("~", {}, "")


class About(NamedTuple):
    """`shows`: what of an answer and of the tools the model sees; `limits`: of calls and of answers; `attempt`: how to try it;
    `sources`: where the client documents its file."""

    shows: str
    limits: str
    attempt: str
    sources: tuple[str, ...]
    checked: str


_MEASURED = "[What a model sees in each client](../reference/clients.md) has the figures."
_UNMEASURED = (
    "It was not measured. `outlive` sends both, the text and the object ([What a client gets]"
    "(../reference/mcp.md#what-a-client-gets))."
)
_PROMPT = "Use outlive: run 'sleep 5; echo done' in the background, and wait for it."

ABOUT = {
    "claude-code": About(
        f"The text of an answer. The tools are in the first request to the model, because the entry says so; without "
        f"`alwaysLoad` the model has to search for them. {_MEASURED}",
        "Claude Code saves an answer above 50,000 characters to a file and shows 2 kB of it; `outlive` answers with at most "
        "16 KiB.",
        f'claude -p "{_PROMPT}" --allowedTools mcp__outlive',
        ("https://code.claude.com/docs/en/mcp",),
        "Claude Code 2.1.330: its own command for adding a server, and a session with a scripted model.",
    ),
    "claude-desktop": About(
        _UNMEASURED,
        "It reads the file when it is started again. Its configuration has no servers over HTTP; those are connectors of "
        "an account.",
        _PROMPT,
        ("https://modelcontextprotocol.io/docs/develop/connect-local-servers",),
        "The file only: there is no client for Linux.",
    ),
    "cursor": About(
        _UNMEASURED,
        "Cursor asks before each call, unless its settings allow the tools.",
        _PROMPT,
        ("https://cursor.com/docs/context/mcp",),
        "The file only.",
    ),
    "vscode": About(
        _UNMEASURED,
        "VS Code asks before each call, unless you allow the tools there. It asks for the token of a server over HTTP itself.",
        _PROMPT,
        ("https://code.visualstudio.com/docs/copilot/customization/mcp-servers",),
        "The file only.",
    ),
    "codex": About(
        f"The text of an answer. Descriptions of arguments are shown while a tool's schema has at most 5,000 bytes, as ours "
        f"have. {_MEASURED}",
        "Calls of `exec` need `--approve` where the approval policy is `never`. Name variables that jobs need in `env_vars`.",
        f'codex exec --skip-git-repo-check -c \'mcp_servers.outlive.default_tools_approval_mode="approve"\' "{_PROMPT}"',
        ("https://developers.openai.com/codex/mcp",),
        "Codex 0.169: a session with a scripted model.",
    ),
    "gemini": About(
        f"The text of an answer. {_MEASURED}",
        "It refuses arguments that the schema does not list, and offers no tools in a folder that is not trusted.",
        f'gemini --allowed-mcp-server-names outlive -p "{_PROMPT}"',
        ("https://google-gemini.github.io/gemini-cli/docs/tools/mcp-server.html",),
        "Gemini CLI 0.61: a session with a scripted model.",
    ),
    "opencode": About(
        f"The text of an answer, nothing around it. {_MEASURED}",
        "`timeout` bounds a request to the server; OpenCode documents 5 s. This is the shape of OpenCode 1; version 2 keeps its "
        "servers below `mcp.servers`, and `outlive install` does not write that yet.",
        f'opencode run "{_PROMPT}"',
        ("https://opencode.ai/v1/docs/mcp-servers/",),
        "OpenCode 1.18.33: `opencode mcp list` connects, and a session with a scripted model.",
    ),
    "openclaw": About(
        f"The text of an answer, several times, in about 1,000 characters of its own. It never shows the instructions of a "
        f"server. {_MEASURED}",
        "It cuts an answer at 20,000 characters.",
        f'openclaw agent --local -m "{_PROMPT}"',
        ("https://docs.openclaw.ai/cli/mcp",),
        "OpenClaw 2026.9.6: a session with a scripted model.",
    ),
    "amp": About(
        _UNMEASURED,
        "A server of a project's file starts after you approve it. `amp.mcpPermissions` may forbid servers.",
        f'amp -x "{_PROMPT}"',
        ("https://ampcode.com/manual#mcp",),
        "The documentation only: its package on npm has no program.",
    ),
    "cline": About(
        _UNMEASURED,
        "The extension for VS Code reads the same file.",
        f'cline "{_PROMPT}"',
        ("https://docs.cline.bot/getting-started/config", "https://docs.cline.bot/mcp/configuring-mcp-servers"),
        "Cline 3.0.65: its own loader (`@cline/core`) reads the entry.",
    ),
    "goose": About(
        _UNMEASURED,
        "Goose writes its file anew when you change settings there; comments are then gone.",
        f'goose run -t "{_PROMPT}"',
        ("https://block.github.io/goose/docs/guides/config-files",),
        "The documentation only: npm and PyPI have no Goose.",
    ),
    "roo": About(
        _UNMEASURED,
        "A request may last 120 s, because the entry says so (60 s otherwise).",
        _PROMPT,
        (
            "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
            "https://github.com/RooCodeInc/Roo-Code/blob/main/src/services/mcp/McpHub.ts",
        ),
        "The schema in its source.",
    ),
    "windsurf": About(
        _UNMEASURED,
        "Cascade offers its model at most 100 tools. Press the refresh button of the panel after a change.",
        _PROMPT,
        ("https://docs.windsurf.com/windsurf/cascade/mcp",),
        "The documentation only.",
    ),
    "zed": About(
        f"Tools and prompts, no resources. {_UNMEASURED}",
        "The entry cannot take a token from a variable, so `--url` goes without one.",
        _PROMPT,
        ("https://zed.dev/docs/ai/mcp",),
        "The documentation only.",
    ),
}


def folded(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_on_hyphens=False, break_long_words=False)


def page(client: Client, note: str) -> str:
    """Return the page of one client."""
    about = ABOUT[client.name]
    entry = registry.complete(client, registry.stdio_entry(client, "outlive", "outlive", ["mcp"], {}), approve=False)
    lines = [f"# {client.title}", "", note, ""]
    lines += folded(
        f"This page shows how to give {client.title} the tools of `outlive`, what its model then sees, and what its limits are."
    )
    lines += ["", "```sh", f"outlive install {client.name}", "```", "", *folded(_files(client)), ""]
    syntax = "json" if client.syntax in (registry.JSON, registry.JSONC) else client.syntax
    lines += [f"```{syntax}", registry.fragment(client, "outlive", entry).rstrip("\n"), "```", ""]
    lines += folded("`install` writes the absolute path of `outlive` in place of `outlive`.")
    if given := registry.besides(client, entry):
        lines += ["", "| member | why |", "|---|---|"]
        lines += [f"| `{one['member']}: {json.dumps(one['value'])}` | {one['why']} |" for one in given]
    if (own := registry.own_command(client, USER, "outlive", entry)) is not None:
        whole = not registry.besides(client, entry) or json.dumps(entry)[1:-1] in own.replace('"name": "outlive", ', "")
        less = "" if whole else ", without the members of the table"
        lines += ["", f"The command of {client.title} for the same server{less}:", "", "```text", own, "```"]
    lines += ["", "## What the model sees", "", *folded(about.shows)]
    lines += ["", "## Limits", "", *folded(about.limits), "", *folded(_environment(client))]
    lines += ["", "## Try it in a minute", "", *folded(_attempt(client)), "", "```text", about.attempt, "```"]
    lines += ["", "## Sources", "", *(f"- <{source}>" for source in about.sources)]
    lines += [
        "",
        *folded(
            f"Checked with: {about.checked[0].lower() if about.checked.startswith('The ') else about.checked[0]}{about.checked[1:]}"
        ),
    ]
    return "\n".join(lines) + "\n"


def _files(client: Client) -> str:
    file = f"The entry stands in `{registry.file_of(client, USER, _HERE)}`"
    if client.project is not None:
        file += f", or with `--for project` in `{registry.file_of(client, PROJECT, _HERE)}` of the current directory"
    return file + ":"


def _environment(client: Client) -> str:
    if client.desktop:
        text = f"{client.title} may be started from a desktop, where `PATH` is short and the variables of your shell are missing."
        given = registry.start_of(client, (), {}, {})
        text += f" `outlive doctor` tries the entry with `PATH={dict(given.env)['PATH']}`."
    elif client.passes is None:
        return f"The server gets the environment of {client.title}."
    else:
        text = ""
    if client.passes is not None:
        text += f" Of the environment of {client.title} the server gets {', '.join(f'`{name}`' for name in sorted(client.passes))}."
    return text.strip() + " Jobs still get the `PATH` of your login shell."


def _attempt(client: Client) -> str:
    how = "`outlive doctor` starts the entry as the client would, and asks the server for its tools."
    if client.name in ("claude-code", "codex", "gemini", "opencode", "openclaw", "amp", "cline", "goose"):
        return how + " Then let the model use them:"
    return how + " Then open the client's chat and ask:"


def pages(note: str) -> dict[Path, str]:
    return {PAGES / f"{client.name}.md": page(client, note) for client in CLIENTS.values()}
