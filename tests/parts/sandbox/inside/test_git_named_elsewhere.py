"""Settings of git that variables of the caller name, or that are named in them: a job has them run nothing of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

pytestmark = [USERS, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]

_IDENTITY = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y\n"
_REPO = "git init -q .; git commit -q --allow-empty -m a; mkdir .hooks; printf '#!/bin/sh\\n' > .hooks/post-checkout; chmod 755 .hooks/post-checkout\n"
# A repository outside whose working tree is the workspace
_APART = "git init -q --bare $TOP/git; git --git-dir=$TOP/git config core.bare false; git --git-dir=$TOP/git config core.worktree $TOP/w; git --git-dir=$TOP/git commit -q --allow-empty -m a; git --git-dir=$TOP/git"
_HOOKS = "'[core]\\n\\thooksPath = .hooks\\n'"


class Way(NamedTuple):
    """How hooks are named: the variables, and what the user writes beside the workspace (`$TOP`) before."""

    variables: dict[str, str]
    files: str = ""


WAYS = {
    "XDG_CONFIG_HOME": Way({"XDG_CONFIG_HOME": "$TOP/x"}, f"mkdir -p $TOP/x/git; printf {_HOOKS} > $TOP/x/git/config"),
    "GIT_CONFIG_GLOBAL": Way({"GIT_CONFIG_GLOBAL": "$TOP/global"}, f"printf {_HOOKS} > $TOP/global"),
    "GIT_CONFIG_SYSTEM": Way({"GIT_CONFIG_SYSTEM": "$TOP/system"}, f"printf {_HOOKS} > $TOP/system"),
    "a relative GIT_CONFIG_GLOBAL": Way({"GIT_CONFIG_GLOBAL": "../global"}, f"printf {_HOOKS} > $TOP/global"),
    "GIT_CONFIG_COUNT": Way(
        {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "x"}
        | {"GIT_CONFIG_KEY_1": "Core.HooksPath", "GIT_CONFIG_VALUE_1": ".hooks"}
    ),
    "GIT_CONFIG_PARAMETERS": Way({"GIT_CONFIG_PARAMETERS": "'user.name'='x y' 'core.hookspath'='.hooks'"}),
    "an old GIT_CONFIG_PARAMETERS": Way({"GIT_CONFIG_PARAMETERS": "'core.hookspath=.hooks'"}),
    "a file that GIT_CONFIG_COUNT includes": Way(
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path", "GIT_CONFIG_VALUE_0": "$TOP/more"},
        f"printf {_HOOKS} > $TOP/more",
    ),
    "what a file includes on a condition": Way(
        {"GIT_CONFIG_GLOBAL": "$TOP/global"},
        f"printf '[includeIf \"onbranch:y\"]\\n\\tpath = more\\n' > $TOP/global; printf {_HOOKS} > $TOP/more",
    ),
    "settings of the working tree of GIT_DIR": Way(
        {"GIT_DIR": "$TOP/git"},
        f"{_APART} config core.hooksPath x; {_APART} config extensions.worktreeConfig true; "
        f"{_APART} config --worktree core.hooksPath .hooks",
    ),
    "a GIT_DIR that is a file": Way(
        {"GIT_DIR": "$TOP/file"}, f"{_APART} config core.hooksPath .hooks; echo gitdir: $TOP/git > $TOP/file"
    ),
    "a GIT_DIR that shares its settings": Way(
        {"GIT_DIR": "$TOP/main/.git/worktrees/x", "GIT_WORK_TREE": "$TOP/w"},
        "git init -q $TOP/main; cd $TOP/main; git commit -q --allow-empty -m a; git worktree add -q $TOP/x; git config core.hooksPath .hooks",
    ),
    "a directory with a tab in its name": Way(
        {}, 'T=$(printf \'a\\tb\'); mv .hooks "$T"; ln -s "$T" .hooks; git config core.hooksPath "$T"'
    ),
    "hooks behind many branches": Way(
        {},
        "for i in $(seq 4000); do printf '[branch \"b%s\"]\\n\\tremote = origin\\n' $i; done >> .git/config; git config core.hooksPath .hooks",
    ),
}


@pytest.mark.parametrize("git", ["read", "write"])
def test_hooks_are_kept_wherever_they_are_named(ground: Ground, git: str) -> None:
    for number, (name, way) in enumerate(WAYS.items()):
        top = ground.directory(f"{git}{number}")
        place = ground.directory(f"{git}{number}", "w")
        variables = {key: value.replace("$TOP", str(top)) for key, value in way.variables.items()}
        exported = "".join(f'export {key}="{value}"\n' for key, value in variables.items())
        ground.shell(f"{_IDENTITY}{_REPO}TOP={top}\n{way.files}", place)
        job = (
            "run",
            "--wait",
            "--sandbox",
            "workspace-write",
            "--git",
            git,
            f"echo 'touch {top}/pwned' >> .hooks/post-checkout",
        )
        answer = ground.outlive(*job, cwd=place, **variables)
        assert answer["state"] == "exited", (name, answer)
        ground.shell(f"cd {place}\n{_IDENTITY}{exported}git checkout -q -b y; git checkout -q -b z", place)
        # With git=write it works: the attempt proves something
        assert (top / "pwned").exists() == (git == "write"), (name, answer)


def test_hooks_that_a_repository_further_out_names_are_kept(ground: Ground) -> None:
    top = ground.directory("outer")
    ground.shell(
        f"{_IDENTITY}git init -q .; git config core.hooksPath m/n/.hooks; mkdir -p m/n/.hooks; git init -q m", top
    )
    answer = ground.outlive(
        "run", "--wait", "--sandbox", "workspace-write", "echo > .hooks/post-checkout", cwd=top / "m/n"
    )
    assert answer["exit_code"] != 0, answer


def test_hooks_are_kept_at_each_place_where_git_looks_for_a_relative_path(ground: Ground) -> None:
    """At the top of the working tree that is configured, and, for a push, in the git directory."""
    outside = "git init -q --bare ../git{0}; git --git-dir=../git{0} config core.hooksPath .hooks; git --git-dir=../git{0} config"
    of_tree = "git config extensions.worktreeConfig true; git config --worktree core.worktree $PWD/tree"
    for number, (setting, hooks, variables) in enumerate(
        (
            ("git config core.worktree $PWD/tree", ".hooks", ()),
            ("git config core.worktree $PWD; git config --add core.worktree $PWD/tree", ".hooks", ()),
            (of_tree, ".hooks", ()),
            (f"{outside.format(3)} core.worktree $PWD/tree", "", ("GIT_DIR",)),
            (f"{outside.format(4)} some.thing x", "", ("GIT_DIR", "GIT_WORK_TREE")),
            ("true", "../.hooks", ()),
        )
    ):
        place = ground.directory("relative", f"{number}")
        kept = ".hooks" if hooks[:2] == ".." else "tree/.hooks"
        named = f"git config core.hooksPath {hooks}" if hooks else "true"
        ground.shell(f"git init -q .; mkdir -p tree {kept}; {named}; {setting}", place)
        values = {"GIT_DIR": f"{place.parent}/git{number}", "GIT_WORK_TREE": f"{place}/tree"}
        job = ("run", "--wait", "--sandbox", "workspace-write", f"touch {kept}/post-receive")
        answer = ground.outlive(*job, cwd=place, **{name: values[name] for name in variables})
        assert answer["exit_code"] != 0, (setting, answer)


def test_a_link_that_a_job_made_on_the_way_to_hooks_or_settings_is_renamed(ground: Ground) -> None:
    place = ground.directory("on-the-way")
    ground.shell("git init -q .; git config core.hooksPath tools/hooks", place)
    job = (
        "run",
        "--wait",
        "--sandbox",
        "workspace-write",
        "mkdir -p a/hooks a/c; echo > a/c/settings; ln -s a tools; ln -s a b",
    )
    answer = ground.outlive(*job, cwd=place, GIT_CONFIG_GLOBAL=f"{place}/b/c/settings")
    assert answer["exit_code"] == 0 and f"{place}/tools.from-sandbox" in answer["message"], answer
    assert not os.path.lexists(place / "tools") and not os.path.lexists(place / "b") and (place / "a").exists()


def test_hooks_and_settings_are_not_looked_for_behind_a_directory_that_a_job_makes_a_link(ground: Ground) -> None:
    for number, setting in enumerate(("core.hooksPath x/../.hooks", "include.path ../x/../../more")):
        place = ground.directory("winding", f"{number}")
        ground.shell(f"git init -q .; mkdir .hooks; git config {setting}", place)
        answer = ground.outlive("run", "--wait", "--sandbox", "workspace-write", "true", cwd=place)
        assert not answer["ok"] and "/x/../" in answer["error"]["message"], (setting, answer)
    place = ground.directory("winding", "apart")
    ground.shell("git init -q --separate-git-dir=x.data .; git config core.hooksPath ../hooks; mkdir ../hooks", place)
    assert ground.outlive("run", "--wait", "--sandbox", "workspace-write", "true", cwd=place)["exit_code"] == 0
    place = ground.directory("winding", "sub")
    ground.shell("git init -q .; git config core.hooksPath ../outside; git config include.path ../../outside/x", place)
    assert ground.outlive("run", "--wait", "--sandbox", "workspace-write", "true", cwd=place)["exit_code"] == 0


def test_a_program_that_settings_name_is_reported(ground: Ground) -> None:
    """What they name in the workspace may be a part of the work: it is not read-only."""
    top = ground.directory("named")
    place = ground.directory("named", "w")
    script = (
        f"{_IDENTITY}git init -q .; mkdir tools; for n in clean text.py edit ssh own hook askpass same; do echo >> tools/$n; done; "
        "git config filter.x.clean './tools/clean %f'; git config diff.x.textconv 'python3 tools/text.py'; "
        "git config alias.s '!f() { tools/missing \"$@\"; }; f'; git config core.pager tools/same; "
        "mkdir 't o' more; echo > 't o/of'; echo > more/one; git config alias.p '!sh more/*'; "
        "git config filter.y.clean '\"$PWD/t o/of\" %f'; git config filter.y.smudge '$(git rev-parse --show-toplevel)/tools/smudge'; "
        f"git config alias.l 'log main'; printf '[core]\\n\\teditor = \"{place}/tools/edit\"\\n' > {top}/global"
    )
    ground.shell(script, place)
    changes = "for n in clean smudge text.py edit ssh own missing main log; do echo x >> tools/$n; echo x >> $n; done; echo x | tee t*o/of more/one"
    answer = ground.outlive(
        "run", "--wait", "--sandbox", "workspace-write", changes, cwd=place,
        GIT_CONFIG_GLOBAL=f"{top}/global", GIT_SSH_COMMAND="sh ./tools/ssh -v", GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.fsmonitor", GIT_CONFIG_VALUE_0="tools/own",
    )  # fmt: skip
    assert answer["exit_code"] == 0, answer
    events = ground.outlive("events", str(answer["job_id"]))["events"]
    found = next(event["found"] for event in events if event["type"] == "workspace_changed")
    named = [f"{place}/tools/{name}" for name in ("clean", "smudge", "text.py", "edit", "ssh", "own", "missing")]
    named = sorted((*named, f"{place}/t o/of", f"{place}/more/one"))
    assert sorted(one["path"] for one in found if one["kind"] == "program") == named
    assert "tools/edit is new or changed, and settings of git name it" in answer["message"]


def test_settings_in_the_workspace_that_a_variable_names_are_kept_or_nothing_runs(ground: Ground) -> None:
    place = ground.directory("inside")
    ground.shell(f"git init -q .; mkdir conf; printf {_HOOKS} > conf/global; cp conf/global top", place)
    inside = ("run", "--wait", "--sandbox", "workspace-write")
    evil = "echo '[core] fsmonitor = false' >> conf/global"
    assert ground.outlive(*inside, evil, cwd=place, GIT_CONFIG_GLOBAL=f"{place}/conf/global")["exit_code"] != 0
    refused = ground.outlive(*inside, "true", cwd=place, GIT_CONFIG_GLOBAL=f"{place}/top")
    assert refused["ok"] is False or refused.get("state") == "lost", refused
    assert f"{place}/top" in str(refused) and "a job could change" in str(refused), refused
    made = ground.outlive(
        *inside, "echo '[core]' > conf2; mkdir c3; echo > c3/x", cwd=place, GIT_CONFIG_GLOBAL=f"{place}/conf2"
    )
    assert made["exit_code"] == 0 and not (place / "conf2").exists(), made


def test_a_job_that_starts_later_keeps_what_its_caller_had(ground: Ground) -> None:
    top = ground.directory("later")
    place = ground.directory("later", "w")
    ground.shell(f"{_IDENTITY}{_REPO}printf {_HOOKS} > {top}/global", place)
    created = ground.outlive(
        "create",
        "--sandbox",
        "workspace-write",
        "echo >> .hooks/post-checkout",
        cwd=place,
        GIT_CONFIG_GLOBAL=f"{top}/global",
    )
    job = str(created["job_id"])
    ground.outlive("start", job, cwd=place)
    assert ground.outlive("wait", job, cwd=place)["exit_code"] != 0


def test_a_git_of_the_workspace_is_not_asked(ground: Ground) -> None:
    place = ground.directory("asked")
    ground.shell(
        "mkdir bin; printf '#!/bin/sh\\ntouch %s/ran\\n' $PWD > bin/git; chmod 755 bin/git; git init -q .", place
    )
    ground.outlive(
        "run", "--wait", "--sandbox", "workspace-write", "true", cwd=place, PATH=f"{place}/bin:{os.environ['PATH']}"
    )
    assert not Path(place, "ran").exists()


def test_git_is_asked_where_the_settings_of_the_system_are(ground: Ground) -> None:
    """Where git was built to look for them: this one has a place of its own."""
    top = ground.directory("built")
    place = ground.directory("built", "w")
    fake = f"printf 'file:{top}/system\\0core.hookspath\\n.hooks\\0file:{top}/system\\0core.pager\\nsh ./page\\0'"
    ground.shell(
        f'{_IDENTITY}{_REPO}mkdir {top}/bin; printf "#!/bin/sh\n%s\n" "{fake}" > {top}/bin/git; chmod 755 {top}/bin/git',
        place,
    )
    answer = ground.outlive(
        "run", "--wait", "--sandbox", "workspace-write", "echo > page; echo >> .hooks/post-checkout",
        cwd=place, PATH=f"{top}/bin:{os.environ['PATH']}",
    )  # fmt: skip
    assert answer["exit_code"] != 0 and f"{place}/page is new or changed" in answer["message"], answer
