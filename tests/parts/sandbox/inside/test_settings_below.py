"""Settings of editors and agents in a directory that is neither writable by name nor a repository: what a job makes or
changes of them is reported at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import visible_paths
from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import pair, wait

pytestmark = USERS
INSIDE = ("run", "--wait", "--sandbox", "workspace-write")
# What is there before, in `app`
BEFORE = (
    "mkdir -p app/.vscode app/.claude/hooks/a/b/c/d conf app/.husky app/node_modules/p/.vscode; echo 1 > app/.vscode/tasks.json; "
    "echo 1 > app/.mcp.json; echo 1 > app/.claude/hooks/a/b/c/d/run; echo 1 > app/node_modules/p/.vscode/tasks.json; "
    "echo 1 > conf/x.json; ln -s ../conf app/.cursor; ln -s ../../conf/x.json app/.claude/x.json; ln app/.mcp.json other"
)
CHANGES = {
    "echo 2 > app/.vscode/tasks.json": "app/.vscode/tasks.json",
    "rm app/.vscode/tasks.json; echo 1 > app/.vscode/tasks.json": "app/.vscode/tasks.json",
    "echo 2 > app/.vscode/launch.json": "app/.vscode/launch.json",
    "cp -p app/.vscode/tasks.json new; echo 2 >> new; touch -r app/.vscode/tasks.json new; mv new app/.vscode/tasks.json": "app/.vscode/tasks.json",
    "echo 2 > app/.mcp.json": "app/.mcp.json",
    "echo 2 > other": "app/.mcp.json",
    "echo 2 > app/.claude/hooks/a/b/c/d/run": "app/.claude/hooks/a/b/c/d/run",
    "echo 2 > conf/x.json": "app/.cursor/x.json",
    "ln -sf /bin/sh app/.claude/x.json": "app/.claude/x.json",
    "ln -s /bin/sh app/.husky/pre-commit": "app/.husky/pre-commit",
    "rm -r app/.husky; ln -s ../conf app/.husky": "app/.husky",
    "mv app apps": "apps/.vscode",
    "git init -q app; echo 2 > app/.vscode/tasks.json": "app/.vscode/tasks.json",
    "git init -q x; mkdir -p x/.git/a/.vscode; git config -f x/.git/config core.fsmonitor x": "x/.git.from-sandbox/a/.vscode",
}


def found_by(ground: Ground, place: Path, command: str, git: str = "read") -> list[str]:
    """The settings that are reported at the end of a job, in `place`: by its first look."""
    answer = ground.outlive(*INSIDE, "--git", git, "--", "bash", "-c", command, cwd=place)
    assert answer["ok"] and answer["exit_code"] == 0, answer
    events = ground.outlive("events", str(answer["job_id"]))["events"]
    found: list[dict[str, str]] = next((event["found"] for event in events if event["type"] == "workspace_changed"), [])
    return [one["path"].removeprefix(f"{place}/") for one in found if one["kind"] == "settings"]


def test_what_a_job_makes_is_reported_in_every_directory_once(ground: Ground) -> None:
    place = ground.directory("attacks")
    folders = [f"app/a{at}" for at in range(len(visible_paths.OBEYED))]
    places = [f"{folder}/{name}" for folder, name in zip(folders, visible_paths.OBEYED, strict=True)]
    assert found_by(ground, place, f"mkdir -p {' '.join(places)}") != []
    ground.shell("rm -r app", place)
    files = [path for path in places if Path(path).name in visible_paths.SETTING_FILES]
    made = f"mkdir -p {' '.join(folders)} {' '.join(sorted({*places} - {*files}))}; touch {' '.join(files)}"
    assert {*found_by(ground, place, f"{made}; mkdir -p app/node_modules/p/.vscode")} == {*places}
    assert found_by(ground, place, "true") == []


@pytest.mark.parametrize("command", CHANGES)
def test_what_a_job_changes_is_reported(ground: Ground, command: str) -> None:
    place = ground.directory("attacks")
    ground.shell(BEFORE, place)
    assert CHANGES[command] in found_by(ground, place, command)


# What is there before at the top, a change, and what is reported
AT_THE_TOP = (
    ("mkdir cfg; ln -s cfg .claude", "rm .claude; mkdir .claude; echo 2 > .claude/settings.json", ".claude"),
    ("ln -s gone .husky", "rm .husky; mkdir .husky", ".husky"),
    ("touch .cursor", "rm .cursor; mkdir .cursor", ".cursor"),
    ("mkdir .github", "mkdir .github/hooks", ".github/hooks"),
    ("mkdir -p .github; ln -s ../cfg .github/hooks", "rm .github/hooks; mkdir .github/hooks", ".github/hooks"),
    ("git init -q sub; mkdir shared; ln -s ../shared sub/.idea", "rm sub/.idea; mkdir sub/.idea", "sub/.idea"),
    (
        "mkdir -p .claude a/b/c/d/e; echo 1 > a/b/c/d/e/run; ln -s ../a .claude/a; ln -s ../../.. a/b/back",
        "echo 2 > a/b/c/d/e/run",
        ".claude/a/b/c/d/e/run",
    ),
    (
        "mkdir skills .claude; echo 1 > skills/run; ln -s ../skills .claude/skills",
        ": > skills/.git; echo 2 > skills/run",
        ".claude/skills/run",
    ),
    (
        "git init -q skills; mkdir .claude; echo 1 > skills/run; ln -s ../skills .claude/skills",
        "echo 2 > skills/run",
        ".claude/skills/run",
    ),
    (
        "mkdir cfg shared; ln -s cfg .claude; echo 1 > shared/run; ln -s ../shared cfg/shared",
        "echo 2 > shared/run",
        ".claude/shared/run",
    ),
    (
        "mkdir skills .claude; echo 1 > skills/run; ln -s ../skills .claude/skills",
        "mkdir skills/{1..1200}; echo 2 > skills/run",
        ".claude/skills/run",
    ),
    (
        "mkdir -p app/.vscode node_modules; echo 1 > app/.vscode/tasks.json",
        "mv app node_modules; ln -s node_modules/app app; echo 2 > app/.vscode/tasks.json",
        "app/.vscode/tasks.json",
    ),
    (
        "mkdir -p app",
        "git init -q x; mv app x/.git/objects; ln -s x/.git/objects/app app; mkdir app/.vscode",
        "x/.git.from-sandbox/objects/app/.vscode",
    ),
    (
        "mkdir -p zapp/.vscode; echo 1 > zapp/.vscode/tasks.json",
        "echo 2 > zapp/.vscode/tasks.json; mkdir -p a{1..60}/b/.vscode",
        "zapp/.vscode/tasks.json",
    ),
)


@pytest.mark.parametrize(("before", "command", "reported"), AT_THE_TOP)
def test_what_was_there_is_known_by_its_own_path(ground: Ground, before: str, command: str, reported: str) -> None:
    place = ground.directory("attacks")
    ground.shell(before, place)
    assert reported in found_by(ground, place, command)
    assert found_by(ground, place, "rm -r node_modules; true") == []


# What a job makes that keeps a look from its way, and what is reported all the same
HINDERED = (
    ("true", "ln -s /proc/self/fd .vscode; echo > .envrc", {".vscode", ".envrc"}),
    ("true", "mkdir -p .vscode/d; touch .vscode/d/f .envrc; chmod 444 .vscode/d", {".vscode", ".envrc"}),
    (
        "echo 1 > .envrc; mkdir sub; echo 1 > sub/.mcp.json",
        "echo 2 | tee .envrc sub/.mcp.json; chmod 0 sub",
        {".envrc", "sub/.mcp.json"},
    ),
    ("true", "mkdir .claude; ln -s loop .claude/loop; echo > .mcp.json", {".claude", ".mcp.json"}),
    (
        "mkdir -p app/.claude",
        "ln -s loop app/.claude/loop; echo > app/.mcp.json",
        {"app/.claude/loop", "app/.mcp.json"},
    ),
    (
        "mkdir -p aa/.vscode m",
        "for i in {1..200}; do ln -s ../../m aa/.vscode/$i; ln -s . m/$i; done; echo > .envrc",
        {".envrc"},
    ),
)


@pytest.mark.parametrize(("before", "command", "reported"), HINDERED)
def test_a_job_keeps_no_look_from_its_end(ground: Ground, before: str, command: str, reported: set[str]) -> None:
    place = ground.directory("attacks")
    ground.shell(before, place)
    armed = "git init -q armed; git config -f armed/.git/config core.fsmonitor x"
    assert reported <= {*found_by(ground, place, f"{armed}; {command}")}
    assert (place / "armed/.git.from-sandbox").exists()
    again = ground.outlive(*INSIDE, "true", cwd=place)
    assert again["ok"] and again["state"] == "exited", again


def test_no_name_is_told_of_where_a_link_leads_outside(ground: Ground) -> None:
    place = ground.directory("attacks")
    ground.shell("mkdir -p app/.vscode ~/clients; touch ~/clients/secret", place)
    assert found_by(ground, place, "rmdir app/.vscode; ln -s ~/clients app/.vscode") == ["app/.vscode"]


def test_a_report_is_no_longer_than_a_line_of_the_history_may_be(ground: Ground) -> None:
    place = ground.directory("attacks")
    long = "x" * 200
    made = f"for i in {{1..60}}; do mkdir -p {long}/{long}/{long}/{long}/$i/.vscode; git init -q {long}/{long}/{long}/r$i; done"
    answer = ground.outlive(*INSIDE, "--", "bash", "-c", made, cwd=place)
    events = ground.outlive("events", str(answer["job_id"]))["events"]
    types = [event["type"] for event in events if event["type"] in ("workspace_changed", "finished")]
    assert types[:2] == ["workspace_changed", "finished"]  # the next look may have told the rest by now
    assert len(str(answer["message"])) < 20_000


def test_settings_of_a_repository_around_are_reported_that_lead_into_the_workspace(ground: Ground) -> None:
    top, place = ground.directory("outer"), ground.directory("outer", "pkg")
    ground.shell("git init -q .; echo 1 > pkg/mcp; ln -s pkg/mcp .mcp.json; echo 1 > .envrc", top)
    assert found_by(ground, place, "echo 2 > mcp") == [f"{top}/.mcp.json"]


# What a job makes of settings, and what it left does with them after the first look, and what is reported twice
AGAIN = (
    (
        "mkdir -p new/.vscode; echo 1 > .envrc; touch new/.vscode/tasks.json same.json",
        "echo 2 > .envrc; echo 2 > new/.vscode/tasks.json; touch gone",
        [".envrc", "new/.vscode"],
    ),
    (  # no file of it has another time
        "mkdir -p alt .claude/commands; touch alt/a.md .claude/commands/a.md; touch .claude/settings.json",
        "mv .claude/commands old; mv alt .claude/commands",
        [".claude"],
    ),
    ("mkdir vs; touch vs/tasks.json; ln -s vs .vscode", "echo 2 > vs/tasks.json", [".vscode"]),
    ("mkdir cmds .claude; touch cmds/a.md; ln -s ../cmds .claude/commands", "echo 2 > cmds/a.md", [".claude"]),
)


@pytest.mark.parametrize(("made", "later", "reported"), AGAIN)
def test_what_was_reported_is_reported_again_when_it_has_changed_since(
    ground: Ground, made: str, later: str, reported: list[str]
) -> None:
    place = ground.directory("attacks")
    command = f"{made}; setsid sh -c 'until [ -e go ]; do sleep 0.05; done; {later}' &"
    answer = ground.outlive(*INSIDE, "--", "bash", "-c", command, cwd=place)

    def found() -> list[list[str]]:
        events = ground.outlive("events", str(answer["job_id"]))["events"]
        every = [event["found"] for event in events if event["type"] == "workspace_changed"]
        return [[one["path"].removeprefix(f"{place}/") for one in found] for found in every]

    assert found() == [reported]
    ground.shell("touch go", place)
    wait.until(lambda: len(found()) > 1, what="the second look")
    assert found()[1:] == [reported]


def test_what_is_found_at_the_end_of_a_job_that_is_removed_is_told(ground: Ground) -> None:
    place = ground.directory("attacks")
    sandboxed = ("run", "--sandbox", "workspace-write", "--", "bash", "-c")
    answer = ground.outlive(*sandboxed, "mkdir .vscode; touch made; sleep 60", cwd=place)
    wait.until((place / "made").exists, what="what the job makes")
    removed = ground.outlive("remove", str(answer["job_id"]))
    assert removed["ok"] and f"{place}/.vscode" in str(removed["hint"])


@pytest.mark.parametrize("shell", ["sh", "env -i sh"])  # by the cookie in its environment, or without
def test_what_was_made_after_supervisor_and_guardian_were_killed_is_told_by_a_reader(
    ground: Ground, shell: str
) -> None:
    place = ground.directory("attacks")
    armed = "git init -q r; git config -f r/.git/config core.fsmonitor x; mkdir .zed"
    left = f"setsid {shell} -c 'until [ -e go ]; do sleep 0.05; done; {armed}; touch gone' &"
    job = str(ground.outlive(*INSIDE, "--", "bash", "-c", left, cwd=place)["job_id"])
    pair.end_pair(job)
    assert "message" not in ground.outlive("status", job)
    ground.shell("touch go", place)
    wait.until((place / "gone").exists, what="what was left of the job")
    message = str(wait.until(lambda: ground.outlive("status", job).get("message"), what="the report"))
    assert f"{place}/r/.git" in message and f"{place}/.zed" in message
    assert (place / "r/.git/HEAD").exists()  # the user may have made it meanwhile
    assert ground.outlive("status", job)["message"] == message


def test_more_settings_than_a_start_can_note_are_refused(ground: Ground) -> None:
    place = ground.directory("attacks")
    many = ("--wait", "--", "sh", "-c", "seq 10001 | sed 's,$,/.vscode,' | xargs mkdir -p")
    assert ground.outlive(*INSIDE, *many, cwd=place)["exit_code"] == 0
    said = str(ground.outlive(*INSIDE, "--wait", "--", "true", cwd=place)["error"]["message"])
    assert f"10,001 directories below {place} have settings of editors or agents" in said


def test_what_is_as_it_was_is_not_reported(ground: Ground) -> None:
    place = ground.directory("attacks")
    ground.shell(f"{BEFORE}; git init -q app/.claude/plugin; git -C app/.claude/plugin config x.y z", place)
    assert found_by(ground, place, "cat app/.mcp.json; echo 2 > app/new; echo 2 > app/node_modules/p/.vscode/x") == []


def test_settings_below_push_none_at_the_top_out_of_a_report(ground: Ground) -> None:
    place = ground.directory("attacks")
    ground.shell("git init -q zz", place)
    found = found_by(ground, place, "mkdir -p a{1..60}/.vscode; mkdir .zed zz/.zed; echo > .envrc; echo > zz/.mcp.json")
    assert {".zed", "zz/.zed", ".envrc", "zz/.mcp.json"} <= {*found} and len(found) == 50


def test_what_a_job_may_do_with_git_is_not_what_it_may_do_with_settings(ground: Ground) -> None:
    """With git=write they are read-only and reported as ever, where repositories are left alone."""
    tops = (".", "lib", "app")
    files = [f"{top}/{name}" for top in tops for name in (".vscode/tasks.json", ".mcp.json")]
    script = f"for f in {' '.join(files)}; do mkdir -p $(dirname $f); echo 1 > $f; done; git init -q .; git init -q lib"
    change = (
        f"for f in {' '.join(files)}; do echo 2 >> $f; done 2> errors; for d in {' '.join(tops)}; do mkdir $d/.kiro; done; "
        "git init -q new; git config -f new/.git/config core.fsmonitor x; git -C lib config core.fsmonitor x; mkdir new/.zed"
    )
    found = [".mcp.json", ".kiro", "lib/.mcp.json", "lib/.kiro", "app/.vscode/tasks.json", "app/.mcp.json", "app/.kiro"]
    place = ground.directory("attacks")
    ground.shell(script, place)
    assert {*found_by(ground, place, change, "write")} == {*found, "new/.zed"}
    assert (place / ".vscode/tasks.json").read_text() == (place / "lib/.vscode/tasks.json").read_text() == "1\n"
    assert (place / "new/.git/HEAD").exists() and "fsmonitor" in (place / "lib/.git/config").read_text()
