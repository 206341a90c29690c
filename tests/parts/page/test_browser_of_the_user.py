"""The browser that `outlive ui` opens, which may be a script of the user."""

from __future__ import annotations

import os
from pathlib import Path

from support.cli import Cli
from support.ui import Ui


def test_a_script_in_the_place_of_the_browser_imports_no_module_that_a_job_wrote(
    cli: Cli, place: Path, work: Path
) -> None:
    """Python imports from the directory in which it is started. (The other programs: heart/cli/test_programs_of_ours.py.)"""
    (work / "json.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
    script = place / "site" / "browser"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\npwd >> {place}/where\npython3 -c 'import json'\nexit 1\n")
    script.chmod(0o755)
    env = {"PATH": f"{script.parent}:{os.environ['PATH']}", "BROWSER": "browser", "DISPLAY": ":9"}
    with Ui(place / "ui.log"):
        cli.text("ui", env=env)
    assert (place / "where").read_text().split() == ["/"]
    assert not (place / "ran").exists()
