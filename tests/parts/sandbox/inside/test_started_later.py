"""A job that starts later than it was defined, by restart, start or approve, is kept from all that a new job is kept from."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, environment
from support.installed import Installed

INSIDE = ("--sandbox", "workspace-write")
HIDES = '[sandbox]\nmode = "workspace-write"\nceiling = "{ceiling}"\nhide = ["{path}"]\n'
_ASKS = '[policy]\ndefault = "ask"\n'
Way = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.usefixtures("system_path")


@pytest.fixture(autouse=True)
def config(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = place / "outlive.toml"
    path.write_text("")
    monkeypatch.setenv("OUTLIVE_CONFIG", str(path))
    return path


@pytest.fixture
def keys(work: Path) -> Path:
    (work / "keys").mkdir()
    (work / "keys" / "k").write_text("SECRET")
    return work / "keys"


def restarted(cli: Cli, config: Path, command: str, later: str, env: Mapping[str, str]) -> dict[str, Any]:
    job = cli.ok("run", "--wait", *INSIDE, command)["job_id"]
    config.write_text(later)
    return cli.ok("restart", "--wait", job, env=env)


def started(cli: Cli, config: Path, command: str, later: str, env: Mapping[str, str]) -> dict[str, Any]:
    job = cli.ok("create", *INSIDE, command)["job_id"]
    config.write_text(later)
    return cli.ok("start", "--wait", job, env=env)


def approved(cli: Cli, config: Path, command: str, later: str, env: Mapping[str, str]) -> dict[str, Any]:
    config.write_text(_ASKS)
    job = cli.ok("run", "--snapshot-after", "0", *INSIDE, command)["job_id"]
    config.write_text(_ASKS + later)
    cli.ok("approve", job, env=env)
    cli.ok("wait", job)
    return {"job_id": job, "output": cli.ok("log", job)["output"]}


WAYS = pytest.mark.parametrize("way", [restarted, started, approved])


@WAYS
@pytest.mark.parametrize("ceiling", ["off", "workspace-write"])
def test_what_the_configuration_hides_by_now_is_hidden(
    cli: Cli, config: Path, keys: Path, way: Way, ceiling: str
) -> None:
    answer = way(cli, config, "cat keys/k; ls keys", HIDES.format(ceiling=ceiling, path=keys), {})
    assert "SECRET" not in answer["output"], answer
    assert cli.ok("status", answer["job_id"])["sandbox"]["added"] == [str(keys)]
    # What was hidden at one start stays so at the next, whatever the configuration says
    config.write_text("")
    assert "SECRET" not in cli.ok("restart", "--wait", answer["job_id"])["output"]


@WAYS
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_hooks_that_settings_name_by_now_are_kept(cli: Cli, config: Path, work: Path, place: Path, way: Way) -> None:
    hook = work / ".githooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text("")
    settings = place / "settings"
    settings.write_text("[core]\n\thooksPath = .githooks\n")
    # The first start finds nothing to write
    command = "test -e ran && echo forged > .githooks/post-checkout; touch ran; true"
    if way is not restarted:
        (work / "ran").touch()
    way(cli, config, command, "", {"GIT_CONFIG_GLOBAL": str(settings)})
    assert hook.read_text() == ""


def test_a_program_of_ours_that_lies_in_the_workspace_by_now_is_kept(cli: Cli, work: Path) -> None:
    forge = "test -e site && echo '# forged' >> site/outlive/__init__.py; true"
    job = cli.ok("run", "--wait", *INSIDE, forge)["job_id"]
    own = Installed(work)
    words = [*own.command, "restart", "--wait", job]
    subprocess.run(words, env={**environment(None), **own.env}, check=True, capture_output=True)
    assert "forged" not in (own.package / "__init__.py").read_text()


def test_what_the_configuration_shows_no_more_is_not_shown(cli: Cli, config: Path, place: Path) -> None:
    beside = place / "beside"
    beside.mkdir()
    (beside / "k").write_text("SECRET")
    config.write_text(f'[sandbox]\nshow = ["{beside}"]\n')
    job = cli.ok("run", "--wait", *INSIDE, f"cat {beside}/k")
    assert job["output"] == "SECRET"
    config.write_text("")
    assert "SECRET" not in cli.ok("restart", "--wait", job["job_id"])["output"]


def test_a_variable_that_the_configuration_passes_on_no_more_is_not_passed_on(cli: Cli, config: Path) -> None:
    config.write_text('[sandbox]\nenvironment = ["MINE", "THEIRS"]\n')
    given = {"MINE": "SECRET", "THEIRS": "shared"}
    job = cli.ok("run", "--wait", *INSIDE, "echo $MINE $THEIRS", env=given)
    assert job["output"] == "SECRET shared\n"
    config.write_text('[sandbox]\nenvironment = ["THE*"]\n')
    assert cli.ok("restart", "--wait", job["job_id"], env=given)["output"] == "shared\n"


def test_no_file_is_read_for_a_job_from_where_it_sees_nothing_by_now(cli: Cli, config: Path, keys: Path) -> None:
    """An earlier job made the link."""
    link = keys.parent / "input"
    link.symlink_to(keys / "k")
    made = cli.ok("create", *INSIDE, "--stdin", f"@{link}", "cat")["job_id"]
    ran = cli.ok("run", "--wait", *INSIDE, "--stdin", f"@{link}", "cat")["job_id"]
    config.write_text(HIDES.format(ceiling="off", path=keys))
    for words in (("start", made), ("restart", ran)):
        assert str(keys) in cli.error(*words, code="denied")["message"]
