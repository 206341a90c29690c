"""The page that `outlive serve` has beside MCP: with a token instead of a link, and with the rights of that token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support import http
from support.cli import Cli
from support.serve import Served
from support.ui import Browser, Ui, key_in


class Visitor:
    """A browser at /ui that gave a token."""

    def __init__(self, served: Served, token: str, prefix: str = "") -> None:
        self.base = f"{served.base}{prefix}"
        self.client = http.client()
        self.entered = self._post("login", {"token": token}, key="")
        self.key = self.entered.json().get("key", "")

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.client.close()

    def _post(self, method: str, given: dict[str, Any], key: str) -> httpx2.Response:
        headers = {"content-type": "application/json", **({"x-outlive-key": key} if key else {})}
        return self.client.post(f"{self.base}/ui/api/{method}", content=json.dumps(given), headers=headers)

    def post(self, method: str, **given: Any) -> httpx2.Response:
        return self._post(method, given, self.key)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        answer = self.post(method, **given)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def served(shared_serve: Served, cli: Cli) -> Iterator[Served]:
    yield shared_serve
    for job in cli.ok("list", "--all", "--limit", "0")["jobs"]:
        cli.ok("remove", job["job_id"], "--grace-ms", "0")


def job_of(served: Served, token: str, command: str, work: Path) -> str:
    found: str = served.tool("exec", token=token, command=command, workdir=str(work))["job_id"]
    return found


def test_the_page_asks_a_stranger_for_a_token(served: Served) -> None:
    with http.client() as client:
        assert client.get(f"{served.base}/ui").headers["location"] == "/ui/"
        page = client.get(f"{served.base}/ui/")
        assert page.status_code == 401 and not key_in(page.text) and 'content="token"' in page.text
        assert 'src="/ui/static/app.js"' in page.text
        assert client.get(f"{served.base}/ui/static/app.js").status_code == 200
        assert client.get(f"{served.base}/ui/open/link").status_code == 404


def test_a_token_lets_in_and_the_cookie_stays_with_the_page(served: Served, work: Path) -> None:
    with Visitor(served, served.tokens["tests"]) as visitor:
        cookie = visitor.entered.headers["set-cookie"].lower()
        assert "path=/ui/" in cookie and "httponly" in cookie and "samesite=strict" in cookie
        job = job_of(served, served.tokens["tests"], "echo hello", work)
        assert [one["job_id"] for one in visitor.call("jobs")["jobs"]] == [job]
        assert visitor.call("rows", job_id=job)["rows"] == [[1, 0, [0, "hello"]]]


@pytest.mark.parametrize("token", ["", "outlive_wrong", "x" * 10_000])
def test_a_wrong_token_is_refused(served: Served, token: str) -> None:
    with Visitor(served, token) as visitor:
        assert visitor.entered.status_code == 401
        assert visitor.post("jobs").status_code == 401


def test_guessing_is_slow(served: Served) -> None:
    with http.client() as client:
        for _ in range(200):
            answer = client.post(f"{served.base}/ui/api/login", json={"token": "outlive_guess"})
            if answer.status_code == 429:
                return
    pytest.fail("200 guesses were answered")


def test_the_page_has_the_rights_of_the_token(served: Served, work: Path) -> None:
    served.token("look", "--read-only", "--scope", "*")
    job = job_of(served, served.tokens["tests"], "echo hello", work)
    with Visitor(served, served.tokens["look"]) as visitor:
        assert visitor.call("rows", job_id=job)["rows"]
        for action in ("kill", "restart", "remove", "write"):
            answer = visitor.post("process", action=action, job_id=job)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "denied"), action


def test_jobs_of_other_scopes_do_not_exist(served: Served, work: Path) -> None:
    served.token("other")
    job = job_of(served, served.tokens["tests"], "echo hello", work)
    with Visitor(served, served.tokens["other"]) as visitor:
        assert visitor.call("jobs")["jobs"] == []
        for method in ("rows", "terminal", "ticket"):
            assert visitor.post(method, job_id=job).status_code == 404
        assert visitor.post("process", action="log", job_id=job).status_code == 404


def test_nobody_approves_with_a_token(served: Served) -> None:
    with Visitor(served, served.tokens["tests"]) as visitor:
        answer = visitor.post("approve", job_id="01J00000000000000000000000")
        assert answer.status_code == 403 and "outlive approve" in answer.json()["error"]["hint"]


def test_a_revoked_token_ends_its_pages(served: Served, cli: Cli) -> None:
    with Visitor(served, served.token("short")) as visitor:
        assert visitor.call("jobs")
        cli.ok("token", "revoke", "short")
        del served.tokens["short"]
        assert visitor.post("jobs").status_code == 401


def test_a_session_counts_only_where_it_began(serve: Callable[..., Served], place: Path) -> None:
    """Both servers keep their sessions in one root, and that of a token has fewer rights."""
    served = serve()
    with Ui(place / "ui.log") as ui, Browser(ui) as person, Visitor(served, served.tokens["tests"]) as visitor:

        def status(base: str, cookie: str, key: str) -> int:
            headers = {"content-type": "application/json", "x-outlive-key": key, "cookie": f"outlive_ui={cookie}"}
            return httpx2.post(
                f"{base}/api/jobs", content="{}", headers=headers, trust_env=False, timeout=60
            ).status_code

        cookie = visitor.client.cookies["outlive_ui"]
        assert status(f"{served.base}/ui", cookie, visitor.key) == 200
        assert status(ui.base, cookie, visitor.key) == 401
        assert status(ui.base, person.cookie, person.key) == 200
        assert status(f"{served.base}/ui", person.cookie, person.key) == 401


def test_behind_a_proxy_that_removes_a_prefix_addresses_have_it(serve: Callable[..., Served]) -> None:
    served = serve("--prefix", "/outlive")
    with http.client() as client:
        page = client.get(f"{served.base}/ui/")
        assert 'src="/outlive/ui/static/app.js"' in page.text
        assert client.get(f"{served.base}/ui").headers["location"] == "/outlive/ui/"


def test_a_server_without_the_tool_process_has_no_page(serve: Callable[..., Served]) -> None:
    served = serve("--tools", "exec")
    assert served.ask("GET", "/ui/").status == 404
