"""Write the forms in which agent hosts and registries expect outlive, from what pyproject.toml and the installer say.

    python scripts/plugins.py            # write plugins/, the marketplace files, and packaging/
    python scripts/plugins.py --check    # exit 1 and name the files that are out of date

The repository's URL stands in one place, `[project.urls] Repository` of pyproject.toml. While it is missing, nothing is
published: the launcher of the plugin downloads nothing, and server.json, which needs the owner, is not written.
The words of the skill are in plugins/outlive/skills/outlive/SKILL.md; plugins/gemini has a copy.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import tomllib
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from outlive.parts.clients import registry
from outlive.parts.clients.registry import CLIENTS

CHECKOUT = Path(__file__).resolve().parent.parent
COMMAND = "python scripts/plugins.py"
PLUGIN = "plugins/outlive"
# Apart: Claude Code, whose events have other names, reads hooks/hooks.json of a plugin too
EXTENSION = "plugins/gemini"
SKILL = "skills/outlive/SKILL.md"
LINUX_ONLY = "outlive needs Linux (on Windows: WSL 2)."
Files = dict[str, bytes]


class Project(NamedTuple):
    """What pyproject.toml says. `repository` is empty while it is not known."""

    name: str
    version: str
    description: str
    license: str
    keywords: tuple[str, ...]
    repository: str

    @property
    def owner(self) -> str:
        """The owner of the repository, in a place where a host shows one."""
        return urlsplit(self.repository).path.strip("/").split("/")[0] or "The authors of outlive"

    @property
    def slug(self) -> str:
        """OWNER/NAME. Errors: ValueError while the repository is not known."""
        slug = urlsplit(self.repository).path.strip("/").removesuffix(".git")
        if slug.count("/") != 1:
            raise ValueError("pyproject.toml names no repository: [project.urls] Repository")
        return slug


def project(repository: str | None = None) -> Project:
    """Read pyproject.toml. `repository` replaces the URL that is there."""
    found = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    url = found.get("urls", {}).get("Repository", "") if repository is None else repository
    text = (CHECKOUT / "src" / "outlive" / "__init__.py").read_text(encoding="utf-8")
    version = text.partition('__version__ = "')[2].partition('"')[0]
    return Project(found["name"], version, found["description"], found["license"], tuple(found["keywords"]), url)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


# --- the plugin --------------------------------------------------------------------------------------------------------


def plugin(about: Project) -> Files:
    """Return the files of plugins/outlive, below the checkout, and of the marketplaces."""
    facts = {"version": about.version, "description": about.description, "author": {"name": about.owner}}
    facts |= {"license": about.license, "keywords": list(about.keywords)}
    if about.repository:
        facts |= {"homepage": about.repository, "repository": about.repository}
    schema = "https://agent-plugins.org/schemas/1.0.0"
    # A plugin with this schema may start a file of its own or a program on PATH: Codex takes no other absolute path. It
    # starts it in the plugin's directory, where a job has to say where it runs (mcp/introduction.py)
    stdio = {"type": "stdio", "command": "./launch.sh", "args": ["mcp"]}
    # OpenClaw starts a command of the plugin's own there too, without a word. So it gets the launcher itself
    command, *args = ("/bin/sh", "-c", launcher(about), "outlive", "mcp")
    claude = registry.stdio_entry(
        CLIENTS["claude-code"], "outlive", "${CLAUDE_PLUGIN_ROOT}/launch.sh", ["mcp"], {}
    )  # fmt: skip
    gemini = registry.stdio_entry(CLIENTS["gemini"], "outlive", "${extensionPath}/launch.sh", ["mcp"], {})
    codex = registry.stdio_entry(CLIENTS["codex"], "outlive", command, args, {})
    codex = registry.complete(CLIENTS["codex"], codex, approve=False)
    files = {
        "plugin.json": {"$schema": f"{schema}/plugin.schema.json", "name": about.name, **facts},
        "mcp.json": {"$schema": f"{schema}/mcp.schema.json", "mcpServers": {"outlive": stdio}},
        ".claude-plugin/plugin.json": {"name": about.name, **facts, "hooks": "./.claude-plugin/hooks.json"},
        ".mcp.json": {"mcpServers": {"outlive": registry.complete(CLIENTS["claude-code"], claude, approve=False)}},
        # Not hooks/hooks.json, which Codex reads too: its answers have another form
        ".claude-plugin/hooks.json": hooks("CLAUDE_PLUGIN_ROOT", "claude-code"),
        ".codex-plugin/plugin.json": {
            "name": about.name, **facts, "skills": "./skills/", "mcpServers": "./.codex-plugin/mcp.json",
        },
        ".codex-plugin/mcp.json": {"mcpServers": {"outlive": codex}},
    }  # fmt: skip
    made: Files = {f"{PLUGIN}/{name}": _json(value) for name, value in files.items()}
    extension = {"name": about.name, "version": about.version, "description": about.description}
    made[f"{EXTENSION}/gemini-extension.json"] = _json({**extension, "mcpServers": {"outlive": gemini}})
    made[f"{EXTENSION}/hooks/hooks.json"] = _json(hooks("extensionPath", "gemini"))
    made[f"{EXTENSION}/{SKILL}"] = (CHECKOUT / PLUGIN / SKILL).read_bytes()
    for place in (PLUGIN, EXTENSION):
        made[f"{place}/launch.sh"] = launcher(about).encode()
    made[f"{PLUGIN}/README.md"] = readme(about).encode()
    made[f"{PLUGIN}/.claude-plugin/icon.png"] = icon()
    made[".claude-plugin/marketplace.json"] = _json(
        {
            "name": about.name,
            "description": about.description,
            "owner": {"name": about.owner},
            "plugins": [{"name": about.name, "source": f"./{PLUGIN}", "description": about.description}],
        }
    )
    made[".agents/plugins/marketplace.json"] = _json(
        {
            "name": about.name,
            "interface": {"displayName": about.name},
            "plugins": [
                {
                    "name": about.name,
                    "source": {"source": "local", "path": f"./{PLUGIN}"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Coding",
                }
            ],
        }
    )
    return made


def hooks(root: str, host: str) -> dict[str, Any]:
    """Return the hooks of a prompt and of a stop, as this host calls them. `root`: its variable with the directory."""
    asked, stops, second = ("BeforeAgent", "AfterAgent", 1_000) if host == "gemini" else ("UserPromptSubmit", "Stop", 1)
    hook = {"type": "command", "command": f'"${{{root}}}/launch.sh" hook {host}', "timeout": 20 * second}
    return {"hooks": {event: [{"hooks": [hook]}] for event in (asked, stops)}}


# Where no job in a sandbox can write, and where pipx, uv and pip put the command
PLACES = ('"$HOME/.local/bin"', "/usr/local/bin", "/usr/bin", "/bin")


def launcher(about: Project) -> str:
    """Return the script that starts outlive, wherever it is installed.

    It looks along no PATH: with an active virtual environment the first directory there is one that
    a job in a sandbox writes, and what it starts runs outside. So it runs no program by its name,
    and none that lies in the project or where a job ran, or that a link leads to there. outlive gets the PATH as it was.
    The name on PyPI belongs to us only once the project is published, so nothing is downloaded before.
    """
    # What uv finds in the current directory would say from where it downloads; and it runs each Python on its PATH
    words = f'"$real" --no-config --from {about.name}=={about.version} /bin/sh -c "$run" "$caller" "$@"'
    run = 'run=\'outlive=$(command -v outlive) && PATH=$0 exec "$outlive" "$@"\''
    uvx = f"if find uvx; then\n    {run}\n    exec {words}\nfi\n" if about.repository else ""
    return f"""#!/bin/sh
# Written by `{COMMAND}`. Starts the installed outlive{", or the published one" if about.repository else ""}. It looks in
# fixed places alone, and passes over what lies in the project or where a job ran: a job may have written it.
caller=${{PATH-/usr/bin:/bin}}
PATH=/usr/bin:/bin

stop() {{
    echo "$2" >&2
    [ "$1" = hook ] && exit 0
    exit 1
}}

# Return whether $1 is below one of the other directories
is_below() {{
    path=$1
    shift
    while [ "${{path%/*}}" != "$path" ]; do
        path=${{path%/*}}
        for folder; do
            [ "$path" -ef "$folder" ] && return 0
        done
    done
    return 1
}}

# Set `real` to the path of $1, without links: a job may exchange one. `passed`: what a job may have written
find() {{
    name=$1
    # What tools in sandboxes write, and where jobs worked: outlive keeps links to these directories
    set -- "$HOME/.cache/outlive" "$state"/outlive/workspaces/*
    for project in "$PWD" "$CLAUDE_PROJECT_DIR" "$GEMINI_PROJECT_DIR"; do
        is_below "$home/." "$project" || set -- "$@" "$project" # a project is no home, and not above one
    done
    for place in {" ".join(PLACES)}; do
        [ -f "$place/$name" ] && [ -x "$place/$name" ] || continue
        found=$place/$name
        real=$(readlink -f -- "$found") || continue
        [ "${{real##*/}}" = "$name" ] || continue # a link on the way may be a job's, and lead to a shell
        is_below "$found" "$@" || is_below "$real" "$@" || return 0
        passed=" $found lies where a job may have written it."
    done
    return 1
}}

[ -d /proc/self/fd ] || stop "$1" "{LINUX_ONLY}"
home=$(readlink -f -- "$HOME")
case $XDG_STATE_HOME in
    /*) state=$XDG_STATE_HOME ;;
    *) state=$HOME/.local/state ;; # also in the place of a relative one
esac
if find outlive; then
    PATH=$caller exec "$real" "$@"
fi
{uvx}stop "$1" "The command outlive is not in ~/.local/bin or /usr/local/bin; see the README of this plugin.$passed"
"""


def readme(about: Project) -> str:
    where = about.repository or "its repository"
    lines = [
        "# outlive", "", f"<!-- Written by `{COMMAND}`. -->", "",
        "This plugin gives an agent the MCP server of outlive, a skill, and hooks. Commands run as jobs that",
        "survive the agent, the client and the server; their output and exit code stay on disk.", "",
        LINUX_ONLY, "",
        "| part | what it does |", "|---|---|",
        "| MCP server | the tools `exec` and `process` |",
        "| skill | says when to use a job, and the calls for an agent with a shell alone |",
        "| hooks (Claude Code) | tell the agent at a prompt, and before it stops, which of its jobs ended |", "",
    ]  # fmt: skip
    if about.repository:
        lines += [
            "Install it in Claude Code:",
            "",
            "```text",
            f"/plugin install {about.name} --marketplace {about.slug}",
            "```",
            "",
        ]
        lines += ["The server is started by the installed command `outlive`, else by `uvx`."]
    else:
        lines += ["Not published yet. Install the command first, from a clone: `pipx install .`"]
    return "\n".join([*lines, "", f"Documentation: {where}"]) + "\n"


def icon() -> bytes:
    """Return the icon: a bar that goes on behind the place where another one ends. 512 x 512, PNG."""
    size = 512
    ink, paper, accent = b"\x20\x2a\x36", b"\xf4\xf1\xea", b"\xd9\x6c\x2c"
    rows = []
    for y in range(size):
        row = bytearray(paper * size)
        if 150 <= y < 220:
            row[3 * 90 : 3 * 250] = ink * 160
        if 290 <= y < 360:
            row[3 * 90 : 3 * 422] = accent * 332
        rows.append(b"\0" + bytes(row))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"".join(rows), 9))
        + chunk(b"IEND", b"")
    )


# --- registries ----------------------------------------------------------------------------------------------------------


def mcpb(about: Project) -> dict[str, Any]:
    """Return the manifest of the MCPB bundle: the host's uv runs the source that is in it."""
    # Not --directory: jobs would run there, and write what uv builds at the next start. Of a name alone uv runs what has it
    # in the current directory
    words = ["run", "--project", "${__dirname}", "${__dirname}/.venv/bin/outlive", "mcp"]
    run = {"command": "uv", "args": words}
    return {
        "manifest_version": "0.4",
        "name": about.name,
        "version": about.version,
        "description": about.description,
        "author": {"name": about.owner},
        **({"repository": {"type": "git", "url": about.repository}} if about.repository else {}),
        "license": about.license,
        "keywords": list(about.keywords),
        "server": {"type": "uv", "entry_point": "src/outlive/__main__.py", "mcp_config": run},
        "tools": [
            {"name": "exec", "description": "Start a command as a job."},
            {"name": "process", "description": "Read, wait for, write to and end jobs."},
        ],
        "compatibility": {"platforms": ["linux"], "runtimes": {"python": ">=3.11"}},
    }


def server_json(about: Project) -> dict[str, Any]:
    """Return the entry of the MCP registry. Errors: ValueError while the repository is not known."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": registry_name(about),
        "title": "outlive",
        "description": "Commands as jobs that outlive the agent, the client and the server. Linux.",
        "repository": {"url": about.repository, "source": "github"},
        "version": about.version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": about.name,
                "version": about.version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "mcp"}],
            }
        ],
    }


def registry_name(about: Project) -> str:
    """Return the name in the MCP registry, which the README on PyPI has to say too (`mcp-name: NAME`)."""
    return f"io.github.{about.slug}"


def links(about: Project) -> dict[str, str]:
    """Return the links with which Cursor and VS Code add the published server."""
    entry = {"command": "uvx", "args": [about.name, "mcp"]}
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    cursor = f"cursor://anysphere.cursor-deeplink/mcp/install?name={about.name}&config={quote(config, safe='')}"
    code = "vscode:mcp/install?" + quote(json.dumps({"name": about.name, **entry}), safe="")
    return {"Cursor": cursor, "VS Code": "https://insiders.vscode.dev/redirect?url=" + quote(code, safe="")}


def published(about: Project) -> list[str]:
    """Return what stands in README once the project is published, in place of the words that it is not."""
    shown = " · ".join(f"[{title}]({link})" for title, link in links(about).items())
    return [f"<!-- mcp-name: {registry_name(about)} -->", f"`uvx {about.name} demo` · {shown}"]


def every(about: Project) -> Files:
    made = plugin(about)
    made["packaging/mcpb/manifest.json"] = _json(mcpb(about))
    if about.repository:
        made["packaging/server.json"] = _json(server_json(about))
    return made


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    made, stale = every(project()), []
    for name, data in made.items():
        path = CHECKOUT / name
        mode = 0o755 if name.endswith("/launch.sh") else 0o644
        if not path.exists() or path.read_bytes() != data or path.stat().st_mode & 0o111 != mode & 0o111:
            stale.append(name)
            if not words:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(mode)
    if words and stale:
        print(f"out of date: {', '.join(stale)}. `make generated`, or `{COMMAND}`, writes them.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
