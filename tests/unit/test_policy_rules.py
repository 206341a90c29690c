"""Rules of `[policy]`: how they are read, which commands they match, and which of several decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.errors import OutliveError
from outlive.jobs.permission.commands import policy_of
from outlive.policy import decide
from outlive.policy.rules import Place

SH = ["sh", "-c"]


def policy(tmp_path: Path, text: str) -> decide.Policy:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    found = policy_of(config.load({}, str(path)))
    assert found is not None
    return found


def refused(tmp_path: Path, text: str) -> OutliveError:
    with pytest.raises(OutliveError) as caught:
        policy(tmp_path, text)
    assert caught.value.code == "config_error"
    return caught.value


def rule(**keys: str) -> str:
    return "\n[[policy.rule]]\n" + "\n".join(f"{key} = {value}" for key, value in keys.items()) + "\n"


def decision(found: decide.Policy, command: str | list[str], **where: Any) -> str:
    place = Place(where.pop("cwd", "/"), **{"path": "/usr/bin:/bin", **where})
    words = [command] if isinstance(command, str) else command
    return decide.strictest(decide.decided(found, words, SH if isinstance(command, str) else None, place)).decision


def default(what: str, *rules: str) -> str:
    return f'[policy]\ndefault = "{what}"\n' + "".join(rules)


PUSH = rule(prefix='["git", ["push", "send-pack"]]', decision='"deny"', reason='"reviewed"')
STATUS = rule(prefix='["git", "status"]', decision='"allow"')


def test_the_default_decides_what_no_rule_does(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, STATUS))
    assert decision(found, "ls") == "ask"
    assert decision(found, "git status -s") == "allow"
    assert decision(found, ["git", "push"]) == "deny"
    assert decision(found, "git send-pack x") == "deny"


def test_the_strictest_rule_and_the_strictest_command_win(tmp_path: Path) -> None:
    found = policy(
        tmp_path,
        default("allow", rule(prefix='["git"]', decision='"allow"'), PUSH, rule(prefix='["git"]', decision='"ask"')),
    )
    assert decision(found, "git status") == "ask"
    assert decision(found, "git push") == "deny"
    assert decision(found, "ls && git status | cat; git push") == "deny"


def test_a_bare_name_that_is_denied_is_denied_by_path_and_one_that_is_allowed_is_not(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, STATUS))
    assert decision(found, "/usr/bin/git push") == "deny"
    assert decision(found, "/tmp/git status") == "ask"


@pytest.mark.parametrize(
    "command",
    ["git push > x", "$(echo git) push", "sudo git push", "bash -c 'git push'", "A=1 git push", "env git push"],
)
def test_an_unknown_command_leaves_neither_an_allow_rule_nor_a_deny_rule(tmp_path: Path, command: str) -> None:
    assert decision(policy(tmp_path, default("allow", PUSH)), command) == "ask"
    assert decision(policy(tmp_path, default("allow")), command) == "allow"
    allows = "".join(rule(prefix=f'["{word}"]', decision='"allow"') for word in ("git", "sudo", "bash", "env"))
    assert decision(policy(tmp_path, default("deny", allows)), command) == "deny"


def test_a_rule_that_says_so_decides_unknown_commands(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, rule(unknown="true", sandbox='"read-only"', decision='"allow"')))
    assert decision(found, "ls > x") == "ask"
    assert decision(found, "ls > x", sandbox="read-only") == "allow"
    assert decision(found, "ls", sandbox="read-only") == "ask"


def test_a_rule_about_what_a_job_may_do_to_repositories(tmp_path: Path) -> None:
    found = policy(tmp_path, default("allow", rule(git='"write"', decision='"ask"')))
    assert decision(found, "ls", sandbox="workspace-write", git="read") == "allow"
    assert decision(found, "ls", sandbox="workspace-write", git="write") == "ask"
    assert decision(found, "ls") == "ask"  # without a sandbox


def test_a_program_that_runs_others_can_be_denied_by_its_name(tmp_path: Path) -> None:
    found = policy(tmp_path, default("allow", rule(prefix='["sudo"]', decision='"deny"')))
    assert decision(found, "sudo ls") == "deny"
    assert decision(found, ["/usr/bin/sudo", "ls"]) == "deny"


def test_names_of_files_in_the_place_of_a_prefix_are_denied_and_never_allowed(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, STATUS, rule(prefix='["ls"]', decision='"allow"')))
    assert decision(found, "git pus[h]") == "deny"
    assert decision(found, "git s*") == "deny"  # a file may be called `send-pack`
    assert decision(found, "ls *.py") == "allow"


def test_a_directory_is_left_by_cd(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    inside = str(tmp_path / "project")
    found = policy(
        tmp_path,
        default("ask", rule(directory=f'"{inside}"', decision='"allow"'), rule(directory='"/etc"', decision='"deny"')),
    )
    assert decision(found, "make", cwd=inside) == "allow"
    assert decision(found, "make", cwd=str(tmp_path)) == "ask"
    assert decision(found, "make", cwd=f"{inside}/below") == "allow"
    assert decision(found, "make", cwd=f"{inside}-2") == "ask"
    assert decision(found, "make && cd / && make", cwd=inside) == "deny"  # the second may run in /etc


def test_a_program_is_matched_by_the_path_that_would_run(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = policy(tmp_path, default("ask", rule(program=f'"{tmp_path}/*"', decision='"allow"')))
    assert decision(found, "tool", path=f"/bin:{tmp_path}") == "allow"
    assert decision(found, "tool", path="/bin") == "ask"
    assert decision(found, "./tool", cwd=str(tmp_path)) == "allow"
    assert decision(found, "cd /tmp; ./tool", cwd=str(tmp_path)) == "ask"


def test_variables_that_a_call_sets_leave_allow_rules_unless_a_rule_names_them(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, rule(prefix='["make"]', env='["PORT", "MY_*"]', decision='"allow"')))
    assert decision(found, "make", variables=["PORT", "MY_A", "LC_ALL"]) == "allow"
    assert decision(found, "make", variables=["LD_PRELOAD"]) == "ask"
    assert decision(found, "git push", variables=["LD_PRELOAD"]) == "deny"


def test_variables_that_a_call_sets_make_it_unknown_where_a_rule_restricts(tmp_path: Path) -> None:
    make = rule(prefix='["make"]', env='["PORT"]', decision='"allow"')
    found = policy(tmp_path, default("allow", PUSH, make))
    assert decision(found, "ls", variables=["LD_PRELOAD"]) == "ask"
    assert decision(found, "ls", variables=["LC_ALL", "TERM"]) == "allow"
    assert decision(found, "make", variables=["PORT"]) == "allow"
    assert decision(policy(tmp_path, default("allow", make)), "ls", variables=["LD_PRELOAD"]) == "allow"


def test_a_shell_in_a_place_of_the_job_takes_no_allow_rule_and_leaves_no_deny_rule(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, STATUS))
    place = Place("/", path="/usr/bin:/bin")

    def decided(text: str, shell: str) -> str:
        return decide.strictest(decide.decided(found, [text], [shell, "-c"], place)).decision

    assert decided("git status", "/bin/sh") == "allow"
    assert decided("git status", f"{tmp_path}/sh") == "ask"
    assert decided("git push", f"{tmp_path}/sh") == "deny"


@pytest.mark.parametrize(
    "command", ["git -C . push", "git --no-pager push", "git -c a=b --git-dir x push origin", "/usr/bin/git -P push"]
)
def test_options_before_a_subcommand_leave_no_deny_rule(tmp_path: Path, command: str) -> None:
    found = policy(tmp_path, default("allow", PUSH))
    assert decision(found, command) == decision(found, command.split()) == "deny"


def test_options_before_a_subcommand_take_no_allow_rule(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", STATUS))
    assert decision(found, "git -C /ws/evil status") == "ask"
    assert decision(policy(tmp_path, default("allow", PUSH)), "git commit -m push") == "allow"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"decision": '"deny"'}, "names no command"),
        ({"prefix": '["a"]'}, "decision is"),
        ({"prefix": '["a"]', "decision": '"forbid"'}, "decision is"),
        ({"prefix": '"a"', "decision": '"deny"'}, "prefix must be"),
        ({"prefix": "[]", "decision": '"deny"'}, "prefix must be"),
        ({"prefix": '["a", []]', "decision": '"deny"'}, "prefix must be"),
        ({"prefx": '["a"]', "decision": '"deny"'}, "unknown key prefx"),
        ({"directory": '"work"', "decision": '"deny"'}, "directory must be"),
        ({"sandbox": '"none"', "decision": '"deny"'}, "sandbox must be"),
        ({"git": '"none"', "decision": '"deny"'}, "git must be"),
        ({"prefix": '["a"]', "decision": '"deny"', "match": '["b"]'}, "does not match its example 'b'"),
        ({"prefix": '["a"]', "decision": '"allow"', "match": '["a > x"]'}, "does not match its example"),
        ({"prefix": '["a"]', "decision": '"deny"', "not_match": '[["a", "b"]]'}, "matches its example"),
    ],
)
def test_a_mistake_in_a_rule_names_file_line_and_rule(tmp_path: Path, keys: dict[str, str], says: str) -> None:
    error = refused(tmp_path, default("ask", PUSH, rule(**keys)))
    assert says in error.message
    assert f"{tmp_path}/config.toml, line 9: [[policy.rule]] number 2" in error.message


def test_examples_that_hold_are_accepted(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", rule(prefix='["git", "push"]', decision='"ask"', match='["git push -f", ["git", "push"], "cd x && git push"]', not_match='["git pull", "echo git push"]')))  # fmt: skip
    assert len(found.rules) == 1


def test_a_policy_says_what_its_default_is(tmp_path: Path) -> None:
    assert "has no default" in refused(tmp_path, f"[policy]\n{PUSH}").message
    assert "policy.default is" in refused(tmp_path, '[policy]\ndefault = "no"').message
    assert "ask_timeout" in refused(tmp_path, '[policy]\ndefault = "ask"\nask_timeout = "soon"').message
    assert policy(tmp_path, '[policy]\ndefault = "ask"\nask_timeout = 0').ask_timeout_ms == 0
    assert policy(tmp_path, '[policy]\ndefault = "ask"').ask_timeout_ms == 3_600_000
