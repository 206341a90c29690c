"""Rules of `[policy]`: how they are read, which commands they match, and which of several decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.errors import OutliveError
from outlive.parts.policy import commands_in, decide
from outlive.parts.policy.answers import Checked
from outlive.parts.policy.rules import Surroundings
from outlive.parts.policy.settings import policy_of
from support.pages import CHECKOUT, blocks

SH = ["sh", "-c"]
HOW_TO = CHECKOUT / "docs/how-to/approve-what-an-agent-runs.md"


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
    place = Surroundings(where.pop("cwd", "/"), **{"path": "/usr/bin:/bin", **where})
    words = [command] if isinstance(command, str) else command
    return decide.strictest(decide.decided(found, words, SH if isinstance(command, str) else None, place)).decision


def default(what: str, *rules: str) -> str:
    return f'[policy]\ndefault = "{what}"\n' + "".join(rules)


PUSH = rule(prefix='["git", ["push", "send-pack"]]', decision='"deny"', reason='"reviewed"')
STATUS = rule(prefix='["git", "status"]', decision='"allow"')


SUDO = rule(prefix='["sudo"]', decision='"deny"')
GIT = rule(prefix='["git"]', decision='"allow"') + PUSH + rule(prefix='["git"]', decision='"ask"')
LS = rule(prefix='["ls"]', decision='"allow"')
UNKNOWN = rule(unknown="true", sandbox='"read-only"', decision='"allow"')
CODE = rule(prefix='["python3", "-c"]', unknown="true", decision='"allow"')
WRITES = rule(git='"write"', decision='"ask"')
MAKE = rule(prefix='["make"]', env='["PORT", "MY_*"]', decision='"allow"')


@pytest.mark.parametrize(
    ("text", "command", "where", "decided"),
    [
        # The default decides what no rule does
        (default("ask", PUSH, STATUS), "ls", {}, "ask"),
        (default("ask", PUSH, STATUS), "git status -s", {}, "allow"),
        (default("ask", PUSH, STATUS), ["git", "push"], {}, "deny"),
        (default("ask", PUSH, STATUS), "git send-pack x", {}, "deny"),
        # The strictest rule and the strictest command win
        (default("allow", GIT), "git status", {}, "ask"),
        (default("allow", GIT), "git push", {}, "deny"),
        (default("allow", GIT), "ls && git status | cat; git push", {}, "deny"),
        # A bare name that is denied is denied by path, and one that is allowed is not
        (default("ask", PUSH, STATUS), "/usr/bin/git push", {}, "deny"),
        (default("allow", PUSH), "/usr/lib/git-core/git-push origin main", {}, "deny"),
        (default("allow", PUSH), "git-pull", {}, "allow"),
        (default("ask", PUSH, STATUS), "/tmp/git status", {}, "ask"),
        # A rule that says so decides unknown commands
        (default("ask", PUSH, UNKNOWN), "ls > x", {}, "ask"),
        (default("ask", PUSH, UNKNOWN), "ls > x", {"sandbox": "read-only"}, "allow"),
        (default("ask", PUSH, UNKNOWN), "ls", {"sandbox": "read-only"}, "ask"),
        (default("deny", CODE), ["python3", "-c", "print(1)"], {}, "allow"),
        (default("deny", CODE), ["python3", "-m", "pdb"], {}, "deny"),
        (default("deny", CODE), "python3 -c 'print(1)' && perl -e 1", {}, "deny"),
        # What a job may do to repositories
        (default("allow", WRITES), "ls", {"sandbox": "workspace-write", "git": "read"}, "allow"),
        (default("allow", WRITES), "ls", {"sandbox": "workspace-write", "git": "write"}, "ask"),
        (default("allow", WRITES), "ls", {}, "ask"),  # without a sandbox
        # A program that runs others can be denied by its name
        (default("allow", SUDO), "sudo ls", {}, "deny"),
        (default("allow", SUDO), ["/usr/bin/sudo", "ls"], {}, "deny"),
        # Names of files in the place of a prefix are denied and never allowed
        (default("ask", PUSH, STATUS, LS), "git pus[h]", {}, "deny"),
        (default("ask", PUSH, STATUS, LS), "git s*", {}, "deny"),  # a file may be called `send-pack`
        (default("ask", PUSH, STATUS, LS), "ls *.py", {}, "allow"),
        # Variables that a call sets leave allow rules unless a rule names them
        (default("ask", PUSH, MAKE), "make", {"variables": ["PORT", "MY_A", "LC_ALL"]}, "allow"),
        (default("ask", PUSH, MAKE), "make", {"variables": ["LD_PRELOAD"]}, "ask"),
        (default("ask", PUSH, MAKE), "git push", {"variables": ["LD_PRELOAD"]}, "deny"),
        # and make a command unknown where a rule restricts
        (default("allow", PUSH, MAKE), "ls", {"variables": ["LD_PRELOAD"]}, "ask"),
        (default("allow", PUSH, MAKE), "ls", {"variables": ["LC_ALL", "TERM"]}, "allow"),
        (default("allow", PUSH, MAKE), "make", {"variables": ["PORT"]}, "allow"),
        (default("allow", MAKE), "ls", {"variables": ["LD_PRELOAD"]}, "allow"),
        # Options before a subcommand take no allow rule
        (default("ask", STATUS), "git -C /ws/evil status", {}, "ask"),
        (default("allow", PUSH), "git commit -m push", {}, "allow"),
    ],
    ids=lambda value: str(value).rpartition("]\n")[2].strip().replace("\n", ", "),
)
def test_what_is_decided(
    tmp_path: Path, text: str, command: str | list[str], where: dict[str, Any], decided: str
) -> None:
    assert decision(policy(tmp_path, text), command, **where) == decided


@pytest.mark.parametrize(
    "command",
    ["git push > x", "$(echo git) push", "sudo git push", "bash -c 'git push'", "A=1 git push", "env git push"],
)
def test_an_unknown_command_leaves_neither_an_allow_rule_nor_a_deny_rule(tmp_path: Path, command: str) -> None:
    assert decision(policy(tmp_path, default("allow", PUSH)), command) == "ask"
    assert decision(policy(tmp_path, default("allow")), command) == "allow"
    allows = "".join(rule(prefix=f'["{word}"]', decision='"allow"') for word in ("git", "sudo", "bash", "env"))
    assert decision(policy(tmp_path, default("deny", allows)), command) == "deny"


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


def test_along_the_path_of_a_profile_no_program_is_allowed_and_each_of_its_name_denied(tmp_path: Path) -> None:
    """`~/.profile` may put ~/bin first."""
    allows = policy(tmp_path, default("deny", rule(program='"/usr/bin/id"', decision='"allow"')))
    denies = policy(tmp_path, default("allow", rule(program='"/home/x/bin/i?"', decision='"deny"')))
    place = Surroundings("/", path="/usr/bin:/bin")

    def decided(found: decide.Policy, command: str, *shell: str) -> Checked:
        return decide.strictest(decide.decided(found, [command], [*shell], place))

    for shell in (["sh", "-lc"], ["bash", "-l", "-c"], ["dash", "-cl"], ["zsh", "-c"]):
        if shell[0] == "zsh" and not Path("/usr/bin/zsh").exists():
            continue
        assert decided(allows, "id", *shell).decision == "deny", shell
        assert "a profile first" in str(decided(allows, "id", *shell).reason)
        assert decided(allows, "/usr/bin/id", *shell).decision == "allow", shell
        assert decided(denies, "id", *shell).decision == "deny", shell
        assert decided(denies, "ls", *shell).decision == "allow", shell
    assert decided(allows, "id", "sh", "-c").decision == "allow"
    assert decided(allows, "ls", "sh", "-lc").reason is None
    assert decided(denies, "id", "sh", "-c").decision == "allow"


def test_what_a_variable_has_a_shell_read_first_may_change_the_path_too(tmp_path: Path) -> None:
    allows = policy(tmp_path, default("deny", rule(program='"/usr/bin/id"', env='["*"]', decision='"allow"')))
    denies = policy(tmp_path, default("allow", rule(program='"/home/x/bin/i?"', decision='"deny"')))

    def decided(found: decide.Policy, command: str, **env: str) -> Checked:
        place = Surroundings("/", path="/usr/bin:/bin", read_first=commands_in.read_first(env))
        return decide.strictest(decide.decided(found, [command], ["bash", "-c"], place))

    for name in ("BASH_ENV", "ENV", "ZDOTDIR", "BASH_FUNC_id%%"):
        found = decided(allows, "id", **{name: "x"})
        assert found.decision == "deny" and name in str(found.reason), name
        assert decided(allows, "/usr/bin/id", **{name: "x"}).decision == "allow", name
        assert decided(denies, "id", **{name: "x"}).decision == "deny", name
        assert decided(allows, "id", **{name: ""}).decision == "allow", name
    assert decided(allows, "id", **{"BASH_FUNC_which%%": "() { :; }"}).decision == "allow"
    assert decided(allows, "which x && id", **{"BASH_FUNC_which%%": "() { PATH=x; }"}).decision == "deny"


def test_a_relative_program_behind_a_change_of_directory_could_be_any_program(tmp_path: Path) -> None:
    denies = policy(tmp_path, default("allow", rule(program='["/usr/bin/touch", "/bin/touch"]', decision='"deny"')))
    asks = policy(tmp_path, default("allow", rule(program='"/usr/bin/touch"', decision='"ask"')))
    for moves in (
        "cd /usr/bin && ./touch x",
        "pushd /usr/bin; ./touch x",
        "cd / && usr/bin/touch x",
        "cd bin; cd ..; bin/touch x",
        "cd bin | ./touch x",
        "popd || ../bin/touch x",
        "chdir bin\n./x",  # a link
    ):
        assert (decision(denies, moves), decision(asks, moves)) == ("deny", "ask"), moves
    for reads in (
        "builtin cd /usr/bin && ./touch x",
        "command cd /usr/bin && ./touch x",
        "(cd /usr/bin && ./touch x)",
        "source there; ./touch x",
        "eval 'cd /usr/bin'; ./touch x",
        "f() { cd /usr/bin; }; f; ./touch x",
        "CDPATH=/usr cd bin && ./touch x",
        "env -C /usr/bin ./touch x",
        "find /usr/bin -maxdepth 0 -execdir ./touch x +",
    ):
        assert decision(denies, reads) == "ask", reads
    for stays in ("cd /usr/bin && ls", "cd /usr/bin && /bin/ls", "./touch x", "make -C /usr/bin x"):
        assert decision(denies, stays) == "allow", stays
    assert decision(denies, "./touch x", cwd="/usr/bin") == "deny"


def test_a_path_that_leads_elsewhere_for_another_process_could_be_any_program(tmp_path: Path) -> None:
    """What `/proc/self` is depends on who looks: a rule would look from where outlive runs."""
    touch = '["/usr/bin/touch", "/bin/touch"]'
    denies = policy(tmp_path, default("allow", rule(program=touch, decision='"deny"')))
    asks = policy(tmp_path, default("allow", rule(program=touch, decision='"ask"')))
    allows = policy(tmp_path, default("ask", rule(program='"*"', decision='"allow"')))
    link = tmp_path / "here"
    link.symlink_to("/proc/self/cwd")
    for program, path in (
        ("/proc/self/cwd/touch", ""),
        ("/proc/thread-self/cwd/touch", ""),
        ("/proc/self/../thread-self/cwd/touch", ""),
        ("/dev/fd/../cwd/touch", ""),
        ("/proc/self/fd/9/touch", ""),
        ("/proc/self/exe", ""),
        (f"{link}/touch", ""),
        ("touch", "/proc/self/cwd"),
        ("touch", f"/nowhere:{link}:/bin"),
    ):
        for command in (f"{program} x", f"true && {program} x"):
            found = [decision(one, command, cwd="/usr/bin", path=path) for one in (denies, asks, allows)]
            assert found == ["deny", "ask", "ask"], (program, path)
    assert decision(denies, "/proc/version x", cwd="/usr/bin") == "allow"


def test_a_relative_part_of_path_is_looked_up_where_the_command_runs(tmp_path: Path) -> None:
    found = policy(tmp_path, default("allow", rule(program='"/usr/bin/touch"', decision='"deny"')))
    assert decision(found, "touch x", path="bin:/nowhere", cwd="/usr") == "deny"
    assert decision(found, "cd /usr && touch x", path="/nowhere:bin") == "deny"
    assert decision(found, "cd /usr && touch x", path="") == "deny"
    assert decision(found, "cd /usr && ls x", path="/bin:bin") == "allow"
    allows = policy(tmp_path, default("ask", rule(program='"/usr/bin/*"', decision='"allow"')))
    (tmp_path / "touch").write_text("")
    (tmp_path / "touch").chmod(0o755)
    assert decision(allows, "touch x", path=".:/usr/bin", cwd=str(tmp_path)) == "ask"
    assert decision(allows, "cd / && touch x", path=".:/usr/bin") == "ask"


def test_a_shell_in_a_place_of_the_job_takes_no_allow_rule_and_leaves_no_deny_rule(tmp_path: Path) -> None:
    found = policy(tmp_path, default("ask", PUSH, STATUS))
    place = Surroundings("/", path="/usr/bin:/bin")

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


def test_options_before_a_third_word_leave_no_deny_rule_and_take_no_allow_rule(tmp_path: Path) -> None:
    prefix = '["git", "npm", "docker"], ["remote", "run", "compose"], ["add", "deploy", "up"]'
    denies = policy(tmp_path, default("allow", rule(prefix=f"[{prefix}]", decision='"deny"')))
    allows = policy(tmp_path, default("ask", rule(prefix=f"[{prefix}]", decision='"allow"')))
    for command in (
        "git remote -v add o x",
        "git -C . remote --verbose add o x",
        "npm run --silent deploy",
        "npm --prefix d run -w x deploy",
        "docker compose -f f up",
        "docker compose -f f -p x --env-file=e up -d",
        "docker-compose -f f up",
        "git remote -v ad[d] o x",
    ):
        assert (decision(denies, command), decision(allows, command)) == ("deny", "ask"), command
    for command in ("git remote show add", "git remote -v", "docker compose ps up", "docker compose -p x -f f"):
        assert decision(denies, command) == "allow", command
    assert (decision(denies, "git remote add o x"), decision(allows, "git remote add o x")) == ("deny", "allow")


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
    assert "policy.default must be" in refused(tmp_path, '[policy]\ndefault = "no"').message
    assert "ask_timeout" in refused(tmp_path, '[policy]\ndefault = "ask"\nask_timeout = "soon"').message
    assert policy(tmp_path, '[policy]\ndefault = "ask"\nask_timeout = 0').ask_timeout_ms == 0
    assert policy(tmp_path, '[policy]\ndefault = "ask"').ask_timeout_ms == 3_600_000


def test_the_policy_that_the_how_to_starts_from_asks_about_pushes_alone(tmp_path: Path) -> None:
    found = policy(tmp_path, blocks(HOW_TO, "toml")[0])
    usual = (
        "make test",
        "for f in *.py; do python3 -m py_compile $f; done",
        "A=1 make build",
        "echo $HOME > home.txt",
        "npm test 2>&1 | tail -5",
        "git status && git diff",
        "if [ -d build ]; then ls build; fi",
    )
    pushes = ("git push", "git -C elsewhere push origin main", "cd x && git push", "git push origin main | cat")
    assert {command: decision(found, command) for command in usual} == dict.fromkeys(usual, "allow")
    assert {command: decision(found, command) for command in pushes} == dict.fromkeys(pushes, "ask")
