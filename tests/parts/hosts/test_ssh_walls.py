"""What walls hold of a job on a host of kind ssh, whose files are not seen from here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parts.hosts.test_slurm_words import sandboxes as sandboxes  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support.cli import Cli
from support.face import Face
from support.fake_ssh import FakeSsh
from support.mcp_client import McpSession
from support.serve import Served
from support.tiers import ONE_ERA
from support.wait import until


def configure(place: Path, more: str, *, before: str = "") -> None:
    """Add lines to the section of the host, the last one, and sections in front of all."""
    path = place / "home/.config/outlive/config.toml"
    path.write_text(f"{before}\n{path.read_text(encoding='utf-8')}\n{more}\n", encoding="utf-8")


def run(cli: Cli, command: str, *words: str) -> dict[str, Any]:
    return cli.ok("run", "--host", "box", "--wait", *words, "--", command)


@pytest.fixture
def bounded(box: FakeSsh, place: Path, sandboxes: None) -> FakeSsh:
    """The machine; a sandbox is the default and the ceiling of its jobs, and of those of this one."""
    (box.home / "src").mkdir()
    # The PATH of a login shell may lead to another ssh
    configure(
        place, 'workdir = "~/src"', before=f'[programs]\nssh = "{box.bin}/ssh"\n[sandbox]\nmode = "workspace-write"'
    )
    return box


# --- the sandbox there is that of a login ---------------------------------------------------------


def login(box: FakeSsh, **variables: object) -> None:
    """Have a login there set variables; the connection has none of them."""
    lines = "".join(f"export {name}={value}\n" for name, value in variables.items())
    (box.home / ".bash_profile").write_text(lines, encoding="utf-8")


def test_hooks_that_git_runs_after_a_login_there_are_kept(cli: Cli, bounded: FakeSsh) -> None:
    settings, repository = bounded.home / "settings/git", bounded.home / "src/made"
    settings.parent.mkdir()
    settings.write_text("[core]\n\thooksPath = .githooks\n", encoding="utf-8")
    (repository / ".githooks").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    login(bounded, GIT_CONFIG_GLOBAL=settings)
    answer = run(cli, "touch seen; touch .githooks/post-checkout", "--cwd", "~/src/made")
    assert answer["exit_code"] == 1 and (repository / "seen").exists(), answer
    assert not (repository / ".githooks/post-checkout").exists()
    bounded.wait_empty()


def test_what_outlive_keeps_there_for_a_login_is_not_shown(cli: Cli, bounded: FakeSsh) -> None:
    secret = bounded.home / "src/state/outlive/approved.secret"
    secret.parent.mkdir(parents=True)
    secret.write_text("key", encoding="utf-8")
    login(bounded, XDG_STATE_HOME=bounded.home / "src/state")
    answer = run(cli, "ls state; cat state/outlive/approved.secret; echo forged >state/outlive/approved.secret")
    assert "outlive" in answer["output"] and answer["exit_code"] != 0, answer
    assert secret.read_text(encoding="utf-8") == "key"
    bounded.wait_empty()


def test_a_link_in_place_of_the_directory_there_is_not_followed(cli: Cli, bounded: FakeSsh) -> None:
    """As a job may have made it that writes above."""
    keys = bounded.home / ".ssh"
    keys.mkdir()
    (bounded.home / "src").rmdir()
    (bounded.home / "src").symlink_to(keys)
    error = cli.error("run", "--host", "box", "--wait", "--", "touch mine", code="config_error")
    assert str(keys) in error["hint"] and [*keys.iterdir()] == []
    bounded.wait_empty()


# --- what notifies of it runs here ---------------------------------------------------------------


@ONE_ERA
@pytest.mark.parametrize(("wider", "by"), [('sandbox = "off"', "cli"), ('network = "open"', "mcp")])
def test_what_notifies_of_a_job_with_more_rights_there_is_refused(
    cli: Cli, mcp_connect: Callable[..., McpSession], bounded: FakeSsh, place: Path, wider: str, by: str
) -> None:
    configure(place, wider)
    face = Face(by, cli, mcp_connect())
    told, sink = place / "told", f"cat >{place}/told"
    watch: list[dict[str, Any]] = [{"pattern": "ready", "command": sink}]
    for asked in ({"notify_command": sink}, {"notify_file": str(told)}, {"watch": watch}):
        error = face.error("run", command="echo ready", host="box", code="denied", **asked)
        assert "this machine" in error["message"]
    job = face.background("read line", host="box", stdin="open", watch=[{"pattern": "ready"}])
    for changed in ({"command": sink}, {"file": str(told)}, {"watch": watch}):
        face.error("notify set", job, code="denied", **changed)
    face.ok("write", job, data="x\n")
    assert face.ok("wait", job)["exit_code"] == 0 and not told.exists()
    bounded.wait_empty()


@ONE_ERA
def test_what_notifies_of_a_job_there_sees_no_more_than_who_asks_for_it(
    cli: Cli, mcp_connect: Callable[..., McpSession], bounded: FakeSsh, place: Path, work: Path
) -> None:
    """Its sandbox here is that of the workspace of another caller."""
    configure(place, 'sandbox = "off"')
    other = place / "other"
    other.mkdir()
    words = ("--sandbox", "workspace-write", "--snapshot-after", "0", "--stdin", "open")
    job = cli.ok("run", "--host", "box", *words, "--", "read line; echo ready")["job_id"]
    watch = [{"pattern": "ready", "command": f"touch {work}/forged"}]
    call: dict[str, Any] = {"action": "notify_set", "job_id": job, "watch": watch}
    error = mcp_connect(cwd=other).error("process", code="denied", **call)["error"]
    assert f"the job may write {work}" in error["message"]
    assert mcp_connect(cwd=work).ok("process", **call)
    cli.ok("kill", job)
    bounded.wait_empty()


def test_what_notifies_of_a_job_there_gets_the_variables_of_a_job_here(cli: Cli, bounded: FakeSsh, work: Path) -> None:
    told = work / "told"
    env = {"MY_TOKEN": "secret", "LANG": "C.UTF-8"}
    words = ("--host", "box", "--wait", "--notify-command", f"env >{told}.new; mv {told}.new {told}", "true")
    cli.ok("run", *words, env=env)
    names = {
        line.partition("=")[0] for line in until(lambda: told.exists() and told.read_text().split("\n"), what="it")
    }
    assert {"LANG", "OUTLIVE_EVENT_TYPE", "OUTLIVE_JOB_ID"} <= names and "MY_TOKEN" not in names
    bounded.wait_empty()


def test_what_a_notification_of_a_job_there_makes_here_is_searched(cli: Cli, bounded: FakeSsh, work: Path) -> None:
    """git would run what the settings of a new repository name."""
    arm = "git init -q lib && git -C lib config core.fsmonitor 'touch ran; false'"
    job = run(cli, "echo hi", "--notify-command", f"cd {work} && {arm} && touch done")["job_id"]
    bounded.wait_empty()
    assert until(lambda: cli.ok("status", job).get("message"), what="what it says of the workspace")
    (found,) = [one for one in cli.ok("events", job)["events"] if one["type"] == "workspace_changed"]
    assert [one["path"] for one in found["found"]] == [str(work / "lib/.git")]
    assert (work / "done").exists() and not (work / "lib/.git").exists()


@ONE_ERA
def test_what_a_caller_may_not_read_here_is_given_to_no_job_there(
    cli: Cli, mcp_connect: Callable[..., McpSession], bounded: FakeSsh, place: Path
) -> None:
    """The user's own job has it; with more rights on the host another caller would restart it there."""
    configure(place, 'sandbox = "off"')
    private = place / "home/private/variables"
    private.parent.mkdir()
    private.write_text("DB=secret\n", encoding="utf-8")
    job = run(cli, "echo $DB >mine", "--env-file", str(private))["job_id"]
    (bounded.home / "src/mine").unlink()
    error = mcp_connect().call("process", action="restart", job_id=job).result["error"]
    assert error["code"] == "denied" and str(private) in error["message"]
    assert cli.ok("restart", job, "--wait")["exit_code"] == 0, "the user may read it"
    assert (bounded.home / "src/mine").read_text() == "secret\n"
    bounded.wait_empty()


# --- rights and rules ----------------------------------------------------------------------------


def test_a_token_for_one_directory_starts_nothing_on_another_machine(
    serve: Callable[..., Served], cli: Cli, box: FakeSsh, place: Path, work: Path
) -> None:
    configure(place, "", before=f'[programs]\nssh = "{box.bin}/ssh"')
    served = serve()
    limited = served.token("limited", "--scope", "tests", "--workdir", str(work))
    there = served.tool("exec", command="touch made", host="box", workdir=str(work))["job_id"]
    (work / "made").unlink()
    calls = [("exec", {"command": "touch made", "host": "box", "workdir": where}) for where in ("~", str(work), "/")]
    for tool, asked in [*calls, ("process", {"action": "restart", "job_id": there})]:
        denied = served.tool(tool, token=limited, **asked)["error"]
        assert (denied["code"], denied["details"]["right"]) == ("denied", "workdir"), asked
    assert not [*place.rglob("made")]
    box.wait_empty()


RULES = '[policy]\ndefault = "{default}"\n[[policy.rule]]\n{condition}\ndecision = "{decision}"'


def decided(cli: Cli, *words: str) -> str:
    """Return what is decided about a command there, and that a run of it says the same."""
    said: str = cli.ok("policy", "check", "--host", "box", *words)["decision"]
    if said == "deny":
        cli.error("run", "--host", "box", "--wait", *words, code="denied")
    else:
        cli.ok("run", "--host", "box", "--wait", *words)
    return said


def test_a_directory_of_here_is_none_of_there(cli: Cli, box: FakeSsh, place: Path, work: Path) -> None:
    configure(place, "", before=RULES.format(default="deny", condition=f'directory = "{work}"', decision="allow"))
    (box.home / "private").mkdir()
    (work / "~").symlink_to(work)
    for words in ((), ("--cwd", "~/private"), ("--cwd", "~")):
        assert decided(cli, *words, "--", "true", "x") == "deny"
    assert decided(cli, "--cwd", str(work), "--", "true", "x") == "allow"
    box.wait_empty()


def test_a_directory_there_that_may_be_barred_is(cli: Cli, box: FakeSsh, place: Path) -> None:
    barred = box.home / "private"
    barred.mkdir()
    configure(place, "", before=RULES.format(default="allow", condition=f'directory = "{barred}"', decision="deny"))
    for directory in (str(barred), f"/{barred}", f"{barred}/../private", "~/private", "~", "~/.."):
        assert decided(cli, "--cwd", directory, "--", "true", "x") == "deny"
    assert decided(cli, "--cwd", str(box.home), "--", "true", "x") == "allow"
    box.wait_empty()


def test_a_link_of_here_is_none_of_there(cli: Cli, box: FakeSsh, place: Path) -> None:
    """In a rule about a directory that is on both machines by its name."""
    barred = place / "data"
    barred.symlink_to(place / "elsewhere")
    configure(place, "", before=RULES.format(default="allow", condition=f'directory = "{barred}"', decision="deny"))
    for directory in (barred, place / "elsewhere"):
        said = cli.ok("policy", "check", "--host", "box", "--cwd", str(directory), "--", "true")
        assert said["decision"] == "deny", directory


def test_a_program_there_is_allowed_by_its_path_alone(cli: Cli, box: FakeSsh, place: Path) -> None:
    condition = 'program = "/bin/true"'
    configure(place, "", before=RULES.format(default="deny", condition=condition, decision="allow"))
    assert decided(cli, "--", "/bin/true", "x") == "allow"
    for words in (
        ("true", "x"),
        ("~/bin/true", "x"),
        ("bin/true", "x"),
        ("/tmp/link/../bin/true", "x"),
        ("/bin/../bin/true",),
    ):
        assert decided(cli, "--", *words) == "deny"
    assert "another machine" in cli.ok("policy", "check", "--host", "box", "--", "true", "x")["reason"]
    box.wait_empty()


def test_a_program_there_is_barred_by_its_name(cli: Cli, box: FakeSsh, place: Path) -> None:
    condition = 'program = "/usr/bin/touch"'
    configure(place, "", before=RULES.format(default="allow", condition=condition, decision="deny"))
    for words in (("touch", "x"), ("/bin/touch", "x"), ("bin/touch", "x")):
        assert decided(cli, "--", *words) == "deny"
    assert decided(cli, "--", "true", "x") == "allow"
    box.wait_empty()
