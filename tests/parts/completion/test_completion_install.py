"""`outlive completion --install`: the file stands where the shell looks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli

NO_XDG = {"XDG_DATA_HOME": None, "XDG_CONFIG_HOME": None}
PLACES = {
    "bash": ".local/share/bash-completion/completions/outlive",
    "zsh": ".local/share/zsh/site-functions/_outlive",
    "fish": ".config/fish/completions/outlive.fish",
}


@pytest.mark.parametrize("shell", PLACES)
def test_the_script_is_written_and_named(shell: str, cli: Cli, place: Path) -> None:
    told = cli.text("completion", shell, "--install", env=NO_XDG).stdout.splitlines()
    script = place / "home" / PLACES[shell]
    assert told[0] == str(script)
    assert script.read_text() == cli.text("completion", shell).stdout
    if shell == "zsh":
        assert str(script.parent) in told[1]
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
