"""What is outlive's own, state, configuration, jobs and tokens, is neither seen nor written by a job, whatever is writable."""

from __future__ import annotations

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

pytestmark = USERS
INSIDE = ("--sandbox", "workspace-write")
READ = "cat {0}/approved.secret"
WRITE = "mkdir -p {0}; echo forged > {0}/approved.secret"
MOVE = "mv {1} {1}.old; mkdir -p {0}; echo forged > {0}/approved.secret"
LINK = "rm -rf {1}; mkdir -p mine; ln -s $PWD/mine {1}; mkdir -p {0}; echo forged > {0}/approved.secret"


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("named", ["usual", "XDG_STATE_HOME"])
def test_the_state_is_not_reached_through_what_is_above_it(ground: Ground, named: str, is_there: bool) -> None:
    top = ground.directory(".local")
    above = top / ("state" if named == "usual" else "other")
    state = above / "outlive"
    more = {"OUTLIVE_SANDBOX_WRITE": str(top)} | ({named: str(above)} if named != "usual" else {})
    if is_there:
        ground.shell(f"mkdir -p {state}; echo secret > {state}/approved.secret", top)
    for place in (ground.directory("work"), top):
        for script in (READ, WRITE, MOVE, LINK):
            answer = ground.outlive("run", "--wait", *INSIDE, script.format(state, above), cwd=place, **more)
            assert answer["ok"] and answer["exit_code"] != 0, answer
            assert "secret\n" not in answer["output"]
    found = [path.read_text() for path in state.glob("*") if path.name != "workspaces"]
    assert found == (["secret\n"] if is_there else [])


@pytest.mark.parametrize("name", [".local/state/outlive", ".config/outlive", ".local/share/outlive/jobs"])
def test_a_directory_of_ours_is_no_workspace(ground: Ground, name: str) -> None:
    place = ground.directory(*name.split("/"))
    error = ground.outlive("run", "--wait", *INSIDE, "true", cwd=place)["error"]
    assert error["code"] == "config_error" and "outlive's own" in error["message"]
    error = ground.outlive("run", "--wait", *INSIDE, "true", OUTLIVE_SANDBOX_WRITE=str(place))["error"]
    assert error["code"] == "config_error" and "outlive's own" in error["message"]


def test_a_state_behind_a_link_that_a_job_could_change_is_refused(ground: Ground) -> None:
    top = ground.directory(".local")
    ground.shell("mkdir disk; ln -s disk state", top)
    error = ground.outlive("run", "--wait", *INSIDE, "true", cwd=top)["error"]
    assert error["code"] == "config_error" and "behind a link that a job could change" in error["message"]


def test_what_show_names_has_no_state_in_it(ground: Ground) -> None:
    state = ground.directory(".local", "state", "outlive")
    ground.shell("echo secret > approved.secret", state)
    for shown in (state.parent, state, state / "approved.secret"):
        answer = ground.outlive("run", "--wait", *INSIDE, READ.format(state), OUTLIVE_SANDBOX_SHOW=str(shown))
        assert "secret\n" not in answer["output"], (shown, answer)


@pytest.mark.parametrize("named", ["{}", "./{}", "../work/{}", "sub/../{}"])
def test_a_configuration_that_is_named_from_the_workspace_is_not_for_jobs(ground: Ground, named: str) -> None:
    work = ground.directory("work")
    ground.directory("work", "sub", "deep")
    script = "echo '# forged' >> {0}; mv {0} {0}.old; echo forged > new; mv new {0}"
    for flags, more in ((("--config", named), {}), ((), {"OUTLIVE_CONFIG": named})):
        for name in ("own.toml", "sub/deep/own.toml"):
            ground.shell(f"echo '[sandbox]' > {name}", work)
            given = [one.format(name) for one in flags]
            env = {key: value.format(name) for key, value in more.items()}
            answer = ground.outlive(*given, "run", "--wait", *INSIDE, script.format(name), cwd=work, **env)
            assert not answer["ok"] and "a job could change" in answer["error"]["message"], answer
            assert (work / name).read_text() == "[sandbox]\n"
