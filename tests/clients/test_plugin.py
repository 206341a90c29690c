"""The plugin: its files are those that the declarations give, and each host's own validator takes them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clients import launch, measure, script
from clients.model import Model
from clients.row import Host
from clients.terminal import Terminal
from outlive.system import workspaces
from support.cli import Cli
from support.pages import CHECKOUT
from support.preloaded import OUTLIVE
from support.wait import until

PLUGIN = CHECKOUT / "plugins" / "outlive"
EXTENSION = CHECKOUT / "plugins" / "gemini"
SKILL = PLUGIN / "skills" / "outlive" / "SKILL.md"
URL = "https://github.com/someone/outlive"


@pytest.fixture(scope="module")
def plugins() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plugins", CHECKOUT / "scripts" / "plugins.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_of_the_plugin_are_those_that_the_declarations_give() -> None:
    words = [sys.executable, str(CHECKOUT / "scripts" / "plugins.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_form_downloads_a_name_that_is_not_published_yet(plugins: ModuleType) -> None:
    for name, data in plugins.every(plugins.project("")).items():
        assert b"uvx" not in data, name
    published = plugins.every(plugins.project(URL))
    assert b"--no-config --from outlive==" in published["plugins/outlive/launch.sh"]
    form = json.loads(published["plugins/outlive/mcp.json"])["mcpServers"]["outlive"]
    assert (form["command"], form["args"]) == ("./launch.sh", ["mcp"]), "Codex refuses an absolute path there"


def test_the_hooks_of_claude_code_stand_where_no_other_host_looks_for_its_own() -> None:
    """Gemini CLI and Claude Code warn about events that they do not know."""
    assert not (PLUGIN / "hooks").exists()
    assert set(json.loads((EXTENSION / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]) == {
        "BeforeAgent",
        "AfterAgent",
    }
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert set(json.loads((PLUGIN / manifest["hooks"]).read_text(encoding="utf-8"))["hooks"]) == {
        "UserPromptSubmit",
        "Stop",
    }


def test_the_owner_is_taken_from_the_url_and_missed_where_it_is_needed(plugins: ModuleType) -> None:
    assert plugins.registry_name(plugins.project(URL)) == "io.github.someone/outlive"
    with pytest.raises(ValueError, match="Repository"):
        plugins.server_json(plugins.project(""))


def launched(
    place: Path, *words: str, script: str | None = None, linux: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the launcher as a client does, in the project `place/project` of the home `place`."""
    text = (PLUGIN / "launch.sh").read_text() if script is None else script
    text = text if linux else text.replace("/proc/self/fd", str(place / "no-proc"))
    (place / "project").mkdir(exist_ok=True)
    return subprocess.run(
        ["/bin/sh", "-c", text, "launch.sh", *words],
        env={"PATH": "/usr/bin:/bin", "HOME": str(place), **env},
        cwd=place / "project",
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, does: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o700)
    return path


def test_the_launcher_starts_the_installed_command_or_says_one_sentence(place: Path) -> None:
    missing = launched(place, "mcp")
    program(place / ".local/bin/outlive", 'echo "$PATH $@"')
    assert launched(place, "mcp", "--isolate", PATH="/mine").stdout == "/mine mcp --isolate\n", "jobs keep the PATH"
    other = launched(place, "mcp", linux=False)
    for refused in (other, missing):
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "Linux" in other.stderr
    assert launched(place, "hook", "claude-code", linux=False).returncode == 0, "a host is not held up"
    assert stat.S_IMODE((PLUGIN / "launch.sh").stat().st_mode) & 0o111


def test_the_launcher_runs_nothing_that_a_job_may_have_written(place: Path, plugins: ModuleType) -> None:
    """A job in the sandbox writes the project, and with an active environment the first directory of PATH lies in it."""
    project, out = place / "project", place / "out"
    mine = project / ".venv" / "bin"
    codex = json.loads((PLUGIN / ".codex-plugin/mcp.json").read_text())["mcpServers"]["outlive"]
    scripts = [codex["args"][1]]
    scripts += [(PLUGIN / "launch.sh").read_text(), (EXTENSION / "launch.sh").read_text()]
    scripts.append(plugins.launcher(plugins.project(URL)))
    for name in ("outlive", "uname", "readlink", "uvx", "sh", "echo", "test", "[", "exec"):
        program(mine / name, f"echo {name} >> {out}")
    for path in (f"{mine}:/usr/bin:/bin", ".venv/bin", ":.", f"{place}/link:/bin", ""):
        (place / "link").unlink(missing_ok=True)
        (place / "link").symlink_to(mine)
        for text in scripts:
            launched(place, "hook", "claude-code", script=text, PATH=path)
            assert not out.exists(), (path, out.read_text())


@pytest.mark.parametrize("way", ["link", "links", "cache", "project", "below", "elsewhere", "noted", "state", "write"])
def test_the_launcher_passes_over_a_command_that_leads_into_the_project(place: Path, way: str) -> None:
    project, usual, out = place / "project", place / ".local" / "bin" / "outlive", place / "out"
    usual.parent.mkdir(parents=True)
    env: dict[str, str] = {}
    if way == "link":
        usual.symlink_to(program(project / "outlive", f"touch {out}"))
    elif way == "links":
        (place / "between").symlink_to(program(project / "outlive", f"touch {out}").parent)
        usual.symlink_to(place / "between" / "outlive")
    elif way == "cache":
        usual.symlink_to(program(place / ".cache/outlive/sandbox/1/outlive", f"touch {out}"))
    elif way == "elsewhere":  # the client was started elsewhere, and says which directory the project is
        usual.symlink_to(program(place / "other" / "bin" / "outlive", f"touch {out}"))
        env = {"CLAUDE_PROJECT_DIR": str(place / "other")}
    elif way in ("noted", "state"):  # a project in which a job ran, and two in which none did
        usual.symlink_to(program(place / "other" / "bin" / "outlive", f"touch {out}"))
        env = {"XDG_STATE_HOME": str(place / "state") if way == "state" else "relative"}
        workspaces.note([str(place / name) for name in ("gone", "other", "third")], {"HOME": str(place), **env})
    elif way == "write":
        workspaces.note([str(program(usual, f"touch {out}").parents[1])], {"HOME": str(place)})
    else:
        project.rmdir() if project.exists() else None
        project.symlink_to(usual.parent if way == "project" else place / ".local")
        program(usual, f"touch {out}")
    found = launched(place, "mcp", script=None, linux=True, **env)
    assert not out.exists()
    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "where a job may have written it" in found.stderr


def test_the_launcher_starts_no_shell_that_a_link_of_the_project_leads_to(place: Path) -> None:
    project, usual, out = place / "project", place / ".local" / "bin" / "outlive", place / "out"
    program(project / "hook", f"touch {out}")
    (project / "outlive").symlink_to("/bin/sh")
    usual.parent.mkdir(parents=True)
    usual.symlink_to(project / "outlive")
    launched(place, "hook", "claude-code")
    assert not out.exists()


def test_the_launcher_starts_what_it_looked_at_and_no_link_to_it(place: Path) -> None:
    """A job that runs in ~/dotfiles may exchange the link in between."""
    real = program(place / ".local/share/pipx/venvs/outlive/bin/outlive", 'echo "$0"')
    (place / "dotfiles" / "bin").mkdir(parents=True)
    (place / "dotfiles" / "bin" / "outlive").symlink_to(real)
    (place / ".local" / "bin").symlink_to("../dotfiles/bin")
    assert launched(place, "mcp").stdout == f"{real}\n"


def test_the_launcher_starts_the_command_of_an_environment_by_its_link(place: Path) -> None:
    """As pipx and uv make it: the command finds its Python beside itself."""
    (place / ".local" / "bin").mkdir(parents=True)
    (place / ".local" / "bin" / "outlive").symlink_to(Path(sys.executable).parent / "outlive")
    assert launched(place, "--version").stdout.startswith("outlive ")


def test_uvx_is_shown_no_path_of_the_project_and_jobs_get_it(place: Path, plugins: ModuleType) -> None:
    """It runs each Python that it finds along its PATH; with an active environment the first one is a job's."""
    words = 'echo "$PATH"; for word; do shift; [ "$word" = /bin/sh ] && break; done'
    program(place / ".local/bin/uvx", f'{words}; PATH={place}/tool:$PATH exec "$word" "$@"')
    program(place / "tool/outlive", 'echo "$PATH $@"')
    script = plugins.launcher(plugins.project(URL))
    told = launched(place, "mcp", "--name", "a b", script=script, PATH="/mine").stdout
    assert told == "/usr/bin:/bin\n/mine mcp --name a b\n"


def test_the_bundle_makes_its_own_directory_no_workspace_and_names_its_command_by_a_path(plugins: ModuleType) -> None:
    """uv changes into what --directory names, and takes a name for a file of the current directory if there is one."""
    uv, *words = plugins.mcpb(plugins.project())["server"]["mcp_config"]["args"]
    assert (uv, words) == ("run", ["--project", "${__dirname}", "${__dirname}/.venv/bin/outlive", "mcp"])


def test_the_launcher_starts_outlive_in_the_home_itself(place: Path) -> None:
    """No sandbox takes a home for a workspace."""
    program(place / ".local/bin/outlive", "echo it runs")
    assert launched(place, "mcp", CLAUDE_PROJECT_DIR=str(place)).stdout == "it runs\n"


def skill_calls() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", SKILL.read_text(encoding="utf-8"), re.DOTALL)
    return [shlex.split(line, comments=True) for line in blocks[0].splitlines()]


def test_the_skill_has_the_form_that_hosts_ask_for() -> None:
    text = SKILL.read_text(encoding="utf-8")
    head = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())
    assert head["name"] == SKILL.parent.name == "outlive"
    assert len(head["description"]) <= 1024
    assert len(head["compatibility"]) <= 500
    assert len(skill_calls()) == 12
    for host in ("Claude Code", "Codex", "Gemini CLI", "OpenCode", "OpenClaw"):
        assert host in text.partition("## Wait for as few calls as possible")[2], "how each host waits"
    assert len(text.splitlines()) < 100


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_the_calls_of_the_skill_do_what_it_says(cli: Cli, work: Path) -> None:
    (work / "Makefile").write_text("all:\n\t@echo an error here; echo listening on 80; sleep 60\ntest:\n\t@false\n")
    (work / "setup").write_text("#!/bin/sh\nprintf 'Go on? '; read a; echo got $a\n")
    (work / "setup").chmod(0o700)
    start, test, list_, status, log, search, compare, wait, line, ask, answer, kill = [
        words[1:] for words in skill_calls()
    ]

    def of(words: list[str], job: str) -> list[str]:
        return [job if word == "JOB" else word for word in words]

    job = cli.ok(*start)["job_id"]
    assert cli.ok(*test)["exit_code"] == 2
    assert {one["job_id"] for one in cli.ok(*list_)["jobs"]} >= {job}
    assert cli.ok(*of(status, job))["state"] == "running"
    assert cli.ok(*of(line, job))["fired"]["condition"] == "regex"
    assert "listening on 80" in cli.ok(*of(log, job))["output"]
    assert "an error here" in cli.ok(*of(search, job))["output"]
    assert "so nothing is compared" in cli.ok(*of(compare, job))["hint"]
    assert cli.ok(*of(kill, "build"))["state"] in ("killed", "exited"), "a title names the job"
    assert cli.ok(*of(wait, job))["state"] in ("killed", "exited")
    asking = cli.ok(*ask)
    assert asking["prompt"] == "Go on?"
    assert cli.ok(*of(answer, asking["job_id"]))["bytes_written"] == 4
    assert "got yes" in cli.ok(*of(wait, asking["job_id"]))["output"]


# --- the hosts themselves ------------------------------------------------------------------------------------------------


PAGE = (CHECKOUT / "docs" / "how-to" / "connect-a-client.md").read_text(encoding="utf-8")


def of_the_page(host: str) -> list[str]:
    """Return the commands that the page about clients has for the plugin in a host, which are typed in the clone."""
    (row,) = re.findall(rf"^\| {host} \| (.*) \|$", PAGE, re.MULTILINE)
    return re.findall(r"`([^`]+)`", row)


def without_terminal(host: str) -> str:
    """Return the options that the page names for a host that cannot ask."""
    options: str = re.findall(rf"`(--[^`]+)` for\s+{host}\b", PAGE)[0]
    return options


@pytest.mark.slow
def test_claude_code_takes_the_plugin_and_connects(place: Path) -> None:
    host = Host("claude", place)
    for path in (PLUGIN, CHECKOUT):
        host.type(f"claude plugin validate --strict {path}")
    host.type(f"claude plugin validate --strict --profile directory {PLUGIN}")
    for command in of_the_page("Claude Code"):
        host.type(command, cwd=CHECKOUT)
    assert "Connected" in host.type("claude mcp list")


@pytest.mark.slow
def test_codex_takes_the_plugin_and_knows_the_server(place: Path) -> None:
    host = Host("codex", place)
    for command in of_the_page("Codex"):
        host.type(command, cwd=CHECKOUT)
    listed = host.type("codex mcp list --json")
    (server,) = json.loads(re.sub(r"^WARNING.*\n", "", listed, flags=re.MULTILINE))
    assert (server["name"], server["enabled"]) == ("outlive", True)
    assert server["transport"]["command"].endswith("/launch.sh")
    # Codex starts it in the plugin's directory, and says so; outlive then asks where a job is to run
    assert "PLUGIN_ROOT" in json.dumps(server["transport"])


@pytest.mark.slow
def test_gemini_cli_takes_the_extension_without_a_warning_about_its_hooks(place: Path) -> None:
    host = Host("gemini", place)
    host.type(f"gemini extensions validate {EXTENSION}")
    (command,) = of_the_page("Gemini CLI")
    trusted = dict([re.findall(r"`(GEMINI_\w+)=(\w+)`", PAGE)[0]])
    assert "installed" in host.type(f"{command} {without_terminal('Gemini')}", cwd=CHECKOUT, **trusted)
    assert "hook event" not in host.type("gemini mcp list", **trusted)


@pytest.mark.slow
def test_openclaw_takes_the_plugin(place: Path) -> None:
    host = Host("openclaw", place)
    (command,) = of_the_page("OpenClaw")
    said = host.type(f"{command} {without_terminal('OpenClaw')}", cwd=CHECKOUT)
    assert "Installed plugin: outlive" in said


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), [("gemini", "Gemini CLI"), ("openclaw", "OpenClaw")])
def test_a_person_says_yes_in_a_terminal_and_has_the_plugin(name: str, row: str, place: Path) -> None:
    host = Host(name, place)
    (command,) = of_the_page(row)
    shown = host.type_in_terminal(command, cwd=CHECKOUT)
    assert re.search(r'"outlive" installed successfully|Installed plugin: outlive', shown), shown


@pytest.mark.slow
def test_the_hook_puts_the_end_of_a_job_into_the_conversation_of_claude_code(place: Path) -> None:
    host = Host("claude", place)
    requests = place / "requests"
    requests.mkdir()
    session = str(uuid.uuid4())
    env = {**host.place.env(), "CLAUDE_CODE_SESSION_ID": session}
    command = [
        *OUTLIVE,
        "run",
        "--snapshot-after",
        "0",
        "sh",
        "-c",
        "until [ -e go ]; do sleep 0.1; done; echo it is built; exit 4",
    ]
    job = json.loads(subprocess.run(command, env=env, cwd=host.place.work, capture_output=True, check=True).stdout)[
        "job_id"
    ]

    (host.place.work / "go").touch()

    def state() -> Any:
        told = subprocess.run([*OUTLIVE, "status", job], env=host.place.env(), capture_output=True, check=True).stdout
        return json.loads(told)["state"]

    until(lambda: state() != "running", what="the end of the job")
    (claude,) = host.place.program("claude")
    with Model(requests) as model:
        quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")
        env = {
            **host.place.env(),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "dummy",
            **dict.fromkeys(quiet, "1"),
        }
        words = [
            claude,
            "-p",
            "Hello.",
            "--model",
            "claude-sonnet-4-5",
            "--plugin-dir",
            str(PLUGIN),
            "--session-id",
            session,
        ]
        done = subprocess.run(
            words,
            env=env,
            cwd=host.place.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    asked = "".join(path.read_text(encoding="utf-8") for path in sorted(requests.glob("*-Anthropic.json")))
    assert re.search(rf"outlive job {job[-8:]} \([^)]*\) exited with code 4; last line: it is built", asked), (
        done.stdout + done.stderr
    )
    assert "outlive:outlive" in asked, "the skill is offered"
    assert os.path.exists(SKILL)


@pytest.mark.slow
def test_the_hook_speaks_in_a_session_of_claude_code_that_is_continued(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host("claude", place)
    log = place / "requests"
    log.mkdir()
    work = host.place.work
    command = f"until [ -e go ]; do sleep 0.1; done; {script.BUILT}; exit 3"
    step = script.Step("start", "exec", {"command": command, "background": True})
    monkeypatch.setitem(script.SCRIPTS, "left", (step,))
    with Model(log) as model:
        at = host.place._replace(url=model.url, prompt=script.prompt("left"))
        start = launch.with_plugin(at, launch.CLIENTS["claude"].start(at))
        env = {**at.env(), **start.env}
        measure.ran(start.command, env, work, place)
        (work / "go").touch()
        host.type('outlive wait $(outlive list --all | sed -E \'s/.*"job_id":"([^"]+).*/\\1/\')')
        before = len(list(log.iterdir()))
        words = ["Hello again." if word == at.prompt else word for word in start.command]
        measure.ran([*words, "--continue"], env, work, place)
    later = [path.read_text(encoding="utf-8") for path in sorted(log.glob("*-Anthropic.json"))[before:]]
    assert "exited with code 3; last line: built" in "".join(later), (place / "client.err").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codex", "gemini"])
def test_the_hook_of_a_stop_puts_the_end_of_a_job_into_the_conversation(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job ends while the model thinks of its last words. Codex has the file of the page, Gemini CLI the extension."""
    host = Host(name, place)
    log = place / "requests"
    log.mkdir()
    work = host.place.work
    command = f"until [ -e go ]; do sleep 0.1; done; {script.BUILT}; exit 3"
    step = script.Step("start", "exec", {"command": command, "background": True, "workdir": str(work)})
    monkeypatch.setitem(script.SCRIPTS, "stop", (step,))

    def end() -> None:
        (work / "go").touch()
        words = [*OUTLIVE, "list", "--all"]

        def over() -> bool:
            told = subprocess.run(words, env=host.place.env(), cwd=work, capture_output=True, check=True).stdout
            return all(job["state"] != "running" for job in json.loads(told)["jobs"])

        until(over, what="the end of the job")

    with Model(log, hold=end) as model:
        at = host.place._replace(url=model.url, prompt=script.prompt("stop"))
        start = launch.CLIENTS[name].start(at)
        words = start.command
        if name == "codex":
            page = (CHECKOUT / "docs" / "how-to" / "be-told.md").read_text(encoding="utf-8")
            at.write(".codex/hooks.json", re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
            words = [words[0], "exec", "--dangerously-bypass-hook-trust", *words[2:]]
        else:
            subprocess.run([str(at.outlive), "uninstall", "gemini"], env=at.env(), cwd=work, check=True)
            install = f"gemini extensions install {EXTENSION} --consent"
            host.type(install, GEMINI_CLI_TRUST_WORKSPACE="true")
        measure.ran(words, {**at.env(), **start.env}, work, place)
    told = measure.told_later(log)
    assert told is not None, (place / "client.err").read_text(encoding="utf-8")
    assert "exited with code 3; last line: built" in told


@pytest.mark.slow
def test_a_message_that_the_end_of_a_job_queues_is_taken_by_the_terminal_of_codex(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host("codex", place)
    log = place / "requests"
    log.mkdir()
    codex = Path(host.place.program("codex")[0])
    tells = f"PATH={codex.parent}:$PATH sh {CHECKOUT}/examples/notify/codex.sh"
    start_it = {"command": f"sleep 1; {script.BUILT}; exit 3", "background": True, "notify_command": tells}
    monkeypatch.setitem(script.SCRIPTS, "queue", (script.Step("start", "exec", start_it),))
    with Model(log) as model:
        at = host.place._replace(url=model.url, prompt=script.prompt("queue"))
        start = launch.CLIENTS["codex"].in_terminal(at)
        with Terminal(start.command, {**at.env(), **start.env}, at.work, place / "screen"):
            until(lambda: measure.told_later(log) is not None, 300, what="the message of the end")
        measure.end_jobs(at.env(), at.work)
    told = measure.told_later(log)
    assert told is not None
    assert "job.finished job_id=" in told
