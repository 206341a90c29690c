"""What the policy denies is not run, whichever way it is named; `policy check` tells what would be decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli, Jobs, configured
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST

RULES = """
[policy]
default = "allow"

[[policy.rule]]
prefix = ["touch"]
decision = "deny"
reason = "files are made by hand"

[[policy.rule]]
unknown = true
decision = "deny"
"""


@pytest.fixture
def config(place: Path) -> Path:
    return configured(place, RULES)


def test_what_is_denied_is_not_run(cli: Cli, config: Path, work: Path) -> None:
    for words in (
        ("run", "touch made"),
        ("run", "touch", "made"),
        ("run", "/bin/touch made"),
        ("run", "true && touch made"),
        ("run", "> made"),
        ("run", "--shell-wrapper", "python3 -c", "open('made', 'w')"),
        ("run", "--notify-command", "touch made", "true"),
        ("run", "--watch", "x", "--watch-command", "touch made", "echo x"),
        ("create", "touch made"),
    ):
        error = cli.error(*words, code="denied", status=1)
        assert "the policy denies `" in error["message"], words
        assert error["details"]["rule"] in ("rule 1 (touch)", "rule 2 (unknown commands)"), words
    assert "Plain words" in cli.error("run", "echo $HOME", code="denied")["hint"]
    assert cli.ok("list", "--all")["jobs"] == []
    assert not (work / "made").exists()


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize("content", ["TERM=xterm\n", "TERM=xterm\nGIT_SSH=/x\n"])
def test_a_job_that_waits_anew_gets_no_other_variables_than_a_rule_allows(
    cli: Cli, jobs: Jobs, place: Path, work: Path, content: str
) -> None:
    configured(place, '[policy]\ndefault = "deny"\n[[policy.rule]]\nprefix = [["cat", "sleep"]]\ndecision = "allow"\n')
    (work / ".env").write_text("TERM=xterm\n", encoding="utf-8")
    first = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "600")["job_id"]
    waits = ("--snapshot-after", "0", "--after", first, "--env-file", ".env")
    job = cli.ok("run", *waits, "--", "cat", "/dev/null")["job_id"]
    pair.end_pair(job)
    (work / ".env").write_text(content, encoding="utf-8")
    found = cli.ok("status", job)
    if "GIT_SSH" in content:
        assert (found["state"], found["reason"]) == ("failed", "launch")
        assert "cannot be started anew: the policy denies `cat /dev/null`" in found["message"]
    else:
        assert found["state"] == "created"
    jobs.end()


@MODERN_FIRST
def test_a_server_keeps_no_input_open_of_what_is_denied(
    cli: Cli, place: Path, work: Path, mcp_connect: Callable[..., McpSession]
) -> None:
    (work / "input").write_text("x")
    job = cli.ok("run", "--wait", "--stdin", "@input", "touch made")["job_id"]
    configured(place, RULES)
    session = mcp_connect()
    for _ in range(3):
        session.error("process", action="restart", job_id=job, code="denied")
    assert str(work / "input") not in processes.open_files(session.pid).values()


@pytest.mark.usefixtures("system_path")
def test_a_program_of_the_workspace_that_is_called_bash_is_no_shell(cli: Cli, config: Path, work: Path) -> None:
    config.write_text('[policy]\ndefault = "deny"\n[[policy.rule]]\nprefix = ["echo"]\ndecision = "allow"\n')
    (work / "bash").write_text("#!/bin/sh\ntouch made\n")
    (work / "bash").chmod(0o755)
    assert cli.ok("run", "--wait", "--shell-wrapper", "bash -c", "echo hi")["output"] == "hi\n"
    for words in (
        ("--shell-wrapper", f"{work}/bash -c", "echo hi"),
        ("--shell-wrapper", "bash -c", "--env", f"PATH={work}:/usr/bin:/bin", "echo hi"),
        (f"{work}/bash", "-c", "echo hi"),
    ):
        cli.error("run", *words, code="denied")
    assert not (work / "made").exists()


@pytest.mark.usefixtures("system_path")
def test_a_file_that_bash_reads_first_leads_to_no_program_that_is_allowed(cli: Cli, place: Path, work: Path) -> None:
    configured(place, '[policy]\ndefault = "deny"\n[[policy.rule]]\nprogram = "/*bin/id"\ndecision = "allow"\n')
    (work / "id").write_text("#!/bin/sh\ntouch made\n")
    (work / "id").chmod(0o755)
    (place / "first").write_text(f"PATH={work}:$PATH\n")
    read = {"BASH_ENV": str(place / "first")}
    words = ("--shell-wrapper", "bash -c", "id")
    assert "BASH_ENV" in cli.error("run", "--wait", *words, code="denied", env=read)["message"]
    assert cli.ok("policy", "check", "--shell-wrapper", "bash -c", "id", env=read)["decision"] == "deny"
    assert cli.ok("policy", "check", "--shell-wrapper", "bash -c", "id")["decision"] == "allow"
    assert not (work / "made").exists()
    # In a sandbox the variable is not passed on
    cli.ok("run", "--wait", "--sandbox", "workspace-write", *words, env=read)
    assert not (work / "made").exists()


@pytest.mark.usefixtures("system_path")
def test_a_link_that_a_job_can_change_leads_to_no_program_that_is_allowed(cli: Cli, config: Path, work: Path) -> None:
    rule = '[[policy.rule]]\nprogram = "/usr/bin/true"\ndecision = "allow"\n'
    config.write_text(f'[policy]\ndefault = "deny"\n{rule}', encoding="utf-8")
    (work / "link").symlink_to("/usr/bin/true")
    assert cli.ok("run", "--wait", "--", "/bin/true")["exit_code"] == 0
    for words in (("--", "./link"), ("--", f"{work}/link"), (f"{work}/link; ./link",)):
        assert f"{work}/link is a link, which a job can change" in cli.error("run", *words, code="denied")["message"]
    (checked,) = cli.ok("policy", "check", "--", "./link")["commands"]
    assert f"{work}/link is a link, which a job can change" in checked["reason"]


def test_start_and_restart_ask_the_policy_of_now(cli: Cli, config: Path, work: Path) -> None:
    config.rename(work / "away")
    created = cli.ok("create", "touch made")["job_id"]
    ended = cli.ok("run", "--wait", "touch", "made")["job_id"]
    (work / "made").unlink()
    (work / "away").rename(config)
    cli.error("start", created, code="denied")
    assert cli.ok("status", created)["state"] == "created"
    cli.error("restart", ended, code="denied")
    assert not (work / "made").exists()


@pytest.mark.usefixtures("system_path")
def test_a_notification_command_that_is_added_later_is_decided_too(cli: Cli, config: Path) -> None:
    job = cli.ok("create", "echo x")["job_id"]
    for words in (("--command",), ("--watch", "x", "--watch-command"), ("--output-pattern", "x", "--output-command")):
        cli.error("notify", "set", job, *words, "touch made", code="denied")
    assert cli.ok("notify", "set", job, "--command", "cat")["notification"] == {"notify_command": "cat"}


def test_a_command_that_would_be_asked_about_is_denied_where_asking_is_off(cli: Cli, config: Path) -> None:
    config.write_text('[policy]\ndefault = "ask"\nask_timeout = 0\n', encoding="utf-8")
    assert "asking is off" in cli.error("run", "true", code="denied")["message"]


@pytest.mark.usefixtures("system_path")
def test_policy_check_tells_each_command_and_its_rule(cli: Cli, config: Path, work: Path) -> None:
    found = cli.ok("policy", "check", "--", "ls; touch made")
    assert (found["decision"], found["rule"], found["reason"]) == ("deny", "rule 1 (touch)", "files are made by hand")
    assert [(one["command"], one["decision"], one["rule"]) for one in found["commands"]] == [
        (["ls"], "allow", "default"),
        (["touch", "made"], "deny", "rule 1 (touch)"),
    ]
    assert (found["config"], found["cwd"]) == (str(config), str(work))
    (unknown,) = cli.ok("policy", "check", "echo $HOME")["commands"]
    assert (unknown["decision"], unknown["unknown"]) == ("deny", "it has `$`, which the shell reads")


@MODERN_FIRST
def test_a_model_is_told_what_is_denied_and_why(
    mcp_connect: Callable[..., McpSession], config: Path, work: Path
) -> None:
    session = mcp_connect()
    denied = {"action": "create", "command": "touch made"}
    for tool, given in (("exec", {"command": ["touch", "made"]}), ("process", denied)):
        assert "files are made by hand" in session.error(tool, code="denied", **given).text
    assert session.ok("exec", command="echo fine")["output"] == "fine\n"
    assert "policy" not in session.tools()["process"].model_dump_json()
    assert not (work / "made").exists()


def test_an_unknown_command_that_is_asked_about_says_which_rule_would_decide(cli: Cli, config: Path) -> None:
    config.write_text(RULES.rpartition("[[policy.rule]]")[0], encoding="utf-8")
    found = cli.ok("policy", "check", "echo $HOME")
    assert (found["decision"], found["rule"]) == ("ask", "default")
    assert found["reason"].endswith('; a rule with unknown = true decides such commands, default = "allow" does not')
    config.write_text(f'{config.read_text()}[[policy.rule]]\nunknown = true\ndecision = "allow"\n', encoding="utf-8")
    assert cli.ok("policy", "check", "echo $HOME")["decision"] == "allow"


@pytest.mark.usefixtures("system_path")
def test_the_history_says_how_many_would_have_been_asked_about(cli: Cli, place: Path) -> None:
    for command in ("true", "echo $HOME", "A=1 true", "touch made", "touch made; touch more"):
        cli.ok("run", "--wait", command)
    path = place / "policy.toml"
    path.write_text(
        '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n', encoding="utf-8"
    )
    found = cli.ok("--config", str(path), "policy", "check", "--history")
    assert found["counts"] == {"allow": 1, "ask": 4, "deny": 0}
    assert found["decision"] == "ask"
    first = found["history"][0]
    assert (first["rule"], first["jobs"], first["example"]) == ("rule 1 (touch)", 2, ["touch made; touch more"])
    assert "Of the newest 5 jobs 4 would have waited for a person" in found["hint"]
    assert "2 of them because it cannot be known what they run" in found["hint"]
    path.write_text(path.read_text(encoding="utf-8").replace('"ask"', '"deny"'), encoding="utf-8")
    assert cli.ok("--config", str(path), "policy", "check", "--history")["counts"] == {"allow": 1, "ask": 2, "deny": 2}
    assert cli.ok("policy", "check", "--history")["counts"] == {"allow": 5, "ask": 0, "deny": 0}
    cli.error("policy", "check", "--history", "make", code="invalid_argument", status=2)
    cli.error("policy", "check", code="invalid_argument", status=2)
    assert len(cli.ok("list", "--all")["jobs"]) == 5, "nothing was run"
