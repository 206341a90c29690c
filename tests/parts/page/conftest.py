"""One `outlive ui` for all tests of a module, and a browser that it has let in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import chromium
from support.cli import Cli, Jobs
from support.ui import Browser, Ui


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    try:
        with chromium.launched() as browser:
            yield browser
    except chromium.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def shared_ui(shared_place: Path) -> Iterator[Ui]:
    env = {"OUTLIVE_ROOT": str(shared_place / "jobs"), "HOME": str(shared_place / "home"), "XDG_CONFIG_HOME": None}
    with Ui(shared_place / "ui.log", env=env) as found:
        yield found


@pytest.fixture
def ui(shared_ui: Ui, cli: Cli) -> Iterator[Ui]:
    yield shared_ui
    Jobs(cli).end("--grace-ms", "0")


@pytest.fixture
def tab(chrome: Any, ui: Ui) -> Iterator[chromium.Tab]:
    """A page that was let in, in a store without jobs."""
    found = chromium.Tab(chrome)
    found.open(ui.new_link())
    found.page.get_by_text("No jobs yet").wait_for()
    yield found
    found.close()
    assert not found.wrong


@pytest.fixture
def browser(ui: Ui) -> Iterator[Browser]:
    with Browser(ui, ui.new_link()) as found:
        yield found
