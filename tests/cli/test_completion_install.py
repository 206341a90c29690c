"""`outlive completion --install`: the files stand where shells and man look for them, and man can read the page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from outlive import verbs
from outlive.cli.completion import man
from support.cli import Cli

NO_XDG = {"XDG_DATA_HOME": None, "XDG_CONFIG_HOME": None}
PLACES = {
    "bash": ".local/share/bash-completion/completions/outlive",
    "zsh": ".local/share/zsh/site-functions/_outlive",
    "fish": ".config/fish/completions/outlive.fish",
}


@pytest.mark.parametrize("shell", PLACES)
def test_the_script_and_the_man_page_are_written_and_named(shell: str, cli: Cli, place: Path) -> None:
    told = cli.text("completion", shell, "--install", env=NO_XDG).stdout.splitlines()
    script, page = place / "home" / PLACES[shell], place / "home" / ".local/share/man/man1/outlive.1"
    assert told[:2] == [str(script), str(page)]
    assert script.read_text() == cli.text("completion", shell).stdout
    assert page.read_text() == man.page()
    if shell == "zsh":
        assert str(script.parent) in told[2]
    assert cli.text("completion", shell, "--install", env=NO_XDG).stdout.splitlines() == told
    assert [one.name for one in script.parent.iterdir()] == [script.name]


def test_without_a_name_the_shell_of_the_user_is_meant(cli: Cli, place: Path) -> None:
    told = cli.text("completion", "--install", env={**NO_XDG, "SHELL": "/usr/bin/zsh"}).stdout
    assert str(place / "home" / PLACES["zsh"]) in told
    for words in (["--install"], []):
        error = cli.error("completion", *words, code="invalid_argument", status=2, env={"SHELL": "/bin/tcsh"})
        assert "fish" in error["message"]


def test_a_directory_that_cannot_be_written_is_an_error(cli: Cli, place: Path) -> None:
    (place / "home" / ".local").write_text("a file where a directory belongs")
    assert "bash-completion" in cli.error("completion", "bash", "--install", code="io_error", env=NO_XDG)["message"]


def test_the_man_page_has_every_verb_and_man_finds_nothing_to_complain_about(place: Path) -> None:
    page = man.page()
    for name in verbs.names():
        assert (f".SS outlive {name}".replace("-", "\\-") in page) == bool(verbs.load(name).cli), name
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("man and groff are not installed")
    path = place / "outlive.1"
    path.write_text(page, encoding="utf-8")
    done = subprocess.run(
        ["man", "-l", "--warnings", str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "100"},
    )
    assert not done.stderr
    assert "OUTLIVE(1)" in done.stdout
    assert "--snapshot-after" in done.stdout
