"""`outlive ui`, and a browser's requests without a browser."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from support import http
from support.cli import OUTLIVE, environment
from support.mcp_client import BOUND_S
from support.server import Server


class Ui(Server):
    """A running `outlive ui`. Use as a context manager. `port`: 0 for a free one, None for the default."""

    def __init__(
        self, log: Path, *args: str, port: int | None = 0, env: Mapping[str, str | None] | None = None
    ) -> None:
        where = () if port is None else ("--port", str(port))
        super().__init__(log, [*OUTLIVE, "ui", "--no-open", *where, *args], environment(env))

    def __enter__(self) -> Ui:
        self.launch()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"outlive ui ended with {self.process.wait(BOUND_S)}: {self.said()}"
        self.told: dict[str, Any] = json.loads(line)
        assert self.told["ok"], self.told
        self.link: str = self.told["url"]
        self.base = self.link.partition("/open/")[0]
        return self

    def new_link(self) -> str:
        """Another one-time link, as a second `outlive ui` makes it."""
        done = subprocess.run(self.words, env=self.env, capture_output=True, timeout=BOUND_S, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        assert not found["serves"]
        url: str = found["url"]
        return url


class Browser:
    """A browser that was let in, as far as HTTP goes: it keeps the cookie, and sends the key with each call."""

    def __init__(self, ui: Ui, link: str | None = None) -> None:
        self.base = ui.base
        self._client = http.client()
        self.entered = self._client.get(link or ui.link)
        self.key = key_in(self.entered.text)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    @property
    def cookie(self) -> str:
        found: str = self._client.cookies["outlive_ui"]
        return found

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self._client.get(self.base + path, headers=headers)

    def post(self, method: str, content: str = "{}", **headers: str) -> httpx2.Response:
        """A call as it is sent; a header that is empty is left out. Names: with underscores."""
        given = {"content_type": "application/json", "x_outlive_key": self.key, "origin": self.base, **headers}
        sent = {name.replace("_", "-"): value for name, value in given.items() if value}
        return self._client.post(f"{self.base}/api/{method}", content=content, headers=sent)

    def call(self, method: str, /, **given: Any) -> dict[str, Any]:
        """The object of a call that must be answered."""
        answer = self.post(method, json.dumps(given))
        found: dict[str, Any] = answer.json()
        assert answer.status_code == 200 and found["ok"], found
        return found

    def refused(self, method: str, /, **given: Any) -> tuple[int, dict[str, Any]]:
        """The status and the error of a call that must fail."""
        answer = self.post(method, json.dumps(given))
        found: dict[str, Any] = answer.json()
        assert not found["ok"], found
        return answer.status_code, found["error"]

    def run(self, action: str, /, **given: Any) -> dict[str, Any]:
        return self.call("process", action=action, **given)


def key_in(html: str) -> str:
    return html.partition('name="outlive-key" content="')[2].partition('"')[0]
