"""A browser, driven by Playwright: pages that `outlive ui` serves, as a person sees them.

It is Chromium, or with TEST_BROWSER=firefox the Firefox that is installed, which Playwright drives by WebDriver BiDi: 1.57
does (`pip install playwright==1.57.0`), while newer ones ask for what Firefox 153 does not know.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
IS_FIREFOX = os.environ.get("TEST_BROWSER") == "firefox"
_CHANGED = "net::ERR_NETWORK_CHANGED"
SHOTS = os.environ.get("TEST_SCREENSHOTS")  # a directory that keeps them


class Unavailable(Exception):
    """There is no browser here; the message says why."""


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a running browser of Playwright's. Errors: Unavailable."""
    program = next(filter(None, map(shutil.which, ("firefox", "firefox-esr") if IS_FIREFOX else PROGRAMS)), None)
    if program is None:
        raise Unavailable(f"there is no browser (apt-get install {'firefox-esr' if IS_FIREFOX else 'chromium'})")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Unavailable("Playwright is not installed (pip install playwright)") from None
    with sync_playwright() as playwright:
        # Root may not use Chromium's sandbox, and containers of CI run as root
        flags = ["--no-sandbox", "--disable-dev-shm-usage"] if os.geteuid() == 0 else []
        how: dict[str, Any] = {"executable_path": program, "timeout": 180_000}
        if IS_FIREFOX:
            # Else a click into a frame of another origin goes to a process that the driver does not reach
            browser = playwright.firefox.launch(
                channel="moz-firefox", firefox_user_prefs={"fission.autostart": False}, **how
            )
        else:
            browser = playwright.chromium.launch(args=flags, **how)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One page, and everything that its console said or that went wrong in it."""

    def __init__(self, browser: Any, *, dark: bool = False, width: int = 1280, height: int = 800, **how: Any) -> None:
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": height}
        self.context = browser.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce", **how)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.wrong: list[str] = []
        self.asked: list[str] = []  # addresses of what was loaded
        self.page.on("console", lambda one: self._said(one.type, one.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._asked_by_script)
        self.page.on("request", lambda one: self.asked.append(one.url))
        self._given_up = False
        self.page.on("requestfailed", lambda one: self._failed(one.failure or ""))

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "net::ERR_" not in text:
            self.wrong.append(f"{kind}: {text}")

    def _failed(self, why: str) -> None:
        self._given_up |= _CHANGED in why

    def open(self, address: str) -> None:
        """Go to a page, and load it again if Chromium gave up a part of it: it gives up what it is loading when an interface
        of the machine comes or goes, and tests of hosts, which may run at the same time, make some."""
        if "#" in address and address.partition("#")[0] == self.page.url.partition("#")[0]:  # goto waits for a load
            self.page.evaluate("address => location.assign(address)", address)
            return
        go: Callable[[], object] = partial(self.page.goto, address)
        while True:
            self._given_up = False
            try:
                go()
            except Exception as error:
                if _CHANGED not in str(error):
                    raise
                continue
            if not self._given_up:
                return
            go = self.page.reload  # a link that was for one time has done its work

    def _asked_by_script(self, dialog: Any) -> None:
        self.wrong.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def close(self) -> None:
        self.context.close()

    def shot(self, name: str, place: Path) -> Path:
        """Keep a screenshot, in $TEST_SCREENSHOTS if that is set."""
        folder = Path(SHOTS) if SHOTS else place
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        self.page.screenshot(path=path)
        return path


def first_number(lines: list[str]) -> int:
    """Return the number that is the first of these lines; -1 if there is none, or something else. Read the lines once:
    the page may draw others at any moment."""
    return int(lines[0]) if lines and lines[0].isdigit() else -1
