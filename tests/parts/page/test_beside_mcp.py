"""The page that `outlive serve` has beside MCP: with a token instead of a link, and with the rights of that token."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import http
from support.cli import Cli
from support.serve import Served
from support.ui import Browser, NotLetIn, Ui, Visitor, exchanged


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
        assert page.status_code == 200 and 'data-login="token"' in page.text
        assert 'src="/ui/static/app.js"' in page.text
        assert client.get(f"{served.base}/ui/static/app.js").status_code == 200
        assert client.post(f"{served.base}/ui/api/enter", json={}).status_code == 404, "there are no links"


def test_a_token_lets_in_without_a_cookie(served: Served, work: Path) -> None:
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        assert not visitor.client.cookies
        job = job_of(served, served.tokens["tests"], "echo hello", work)
        assert [one["job_id"] for one in visitor.call("jobs")["jobs"]] == [job]
        assert visitor.call("rows", job_id=job)["rows"] == [[1, 0, [0, "hello"]]]


@pytest.mark.parametrize("token", ["", "outlive_wrong", "x" * 10_000])
def test_a_wrong_token_is_refused(served: Served, token: str) -> None:
    with pytest.raises(NotLetIn) as refused:
        Visitor(served.base, token)
    assert refused.value.answer.status_code == 401


def test_guessing_is_slow(served: Served) -> None:
    for _ in range(200):
        with pytest.raises(NotLetIn) as refused:
            Visitor(served.base, "outlive_guess")
        if refused.value.answer.status_code == 429:
            return
    pytest.fail("200 guesses were answered")


def test_the_hash_of_a_token_lets_nobody_in(serve: Callable[..., Served]) -> None:
    """It is on the disk, and in every backup of it."""
    served = serve()
    token = served.tokens["tests"]
    secret = hashlib.sha256(token.encode()).digest()
    with Visitor(served.base, token) as visitor, pytest.raises(NotLetIn) as refused:
        exchanged(visitor.ask, "login", "token", secret, sealed=lambda page: base64.b64encode(secret).decode())
    assert refused.value.answer.status_code == 401


def test_what_a_page_sends_for_a_token_tells_nothing_and_can_be_used_by_nobody_else(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = served.tokens["tests"]
    sent: list[tuple[str, object]] = []
    with Visitor(served.base, token) as visitor:
        ask = visitor.ask

        def noted(path: str, given: object, **how: Any) -> Any:
            sent.append((path, given))
            return ask(path, given, **how)

        monkeypatch.setattr(visitor, "ask", noted)
        Visitor.login(visitor, token)
        path, given = sent[0]
        assert path == "login" and token not in json.dumps(given)
        again = ask(path, given)
    assert again.status_code == 200 and token.encode() not in again.content, "an answer that only the token opens"


def test_the_page_has_the_rights_of_the_token(served: Served, work: Path) -> None:
    served.token("look", "--read-only", "--scope", "*")
    job = job_of(served, served.tokens["tests"], "echo hello", work)
    with Visitor(served.base, served.tokens["look"]) as visitor:
        assert visitor.call("rows", job_id=job)["rows"]
        for action in ("kill", "restart", "remove", "write"):
            status, error = visitor.refused("process", action=action, job_id=job)
            assert (status, error["code"]) == (403, "denied"), action


def test_the_page_of_a_token_with_a_sandbox_types_into_no_job_that_may_do_more(served: Served, work: Path) -> None:
    served.token("boxed", "--sandbox", "read-only", "--workdir", str(work), "--scope", "*")
    typed: dict[str, Any] = {"workdir": str(work), "background": True}
    pipe = served.tool("exec", command="exec cat", stdin="open", **typed)["job_id"]
    screen = served.tool("exec", command="exec cat", pty=True, **typed)["job_id"]
    with Visitor(served.base, served.tokens["boxed"]) as visitor:
        for job in (pipe, screen):
            assert visitor.refused("process", action="write", job_id=job, data="x\n")[1]["code"] == "denied"
        keyboard = {"tab": "one", "take": True, "force": True, "size": [80, 24]}
        assert visitor.refused("keyboard", job_id=screen, **keyboard)[1]["code"] == "denied"
        assert [visitor.run("log", job_id=job)["output"] for job in (pipe, screen)] == ["", ""]
        assert visitor.run("kill", job_id=pipe)["state"] == "killed"


def test_jobs_of_other_scopes_do_not_exist(served: Served, work: Path) -> None:
    served.token("other")
    job = job_of(served, served.tokens["tests"], "echo hello", work)
    with Visitor(served.base, served.tokens["other"]) as visitor:
        assert visitor.call("jobs")["jobs"] == []
        for method in ("rows", "terminal", "ticket"):
            assert visitor.refused(method, job_id=job)[0] == 404
        assert visitor.refused("process", action="log", job_id=job)[0] == 404


def test_nobody_starts_anything_from_the_page_of_a_token(served: Served, work: Path) -> None:
    job = job_of(served, served.tokens["tests"], "echo hello", work)
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        for given in ({"action": "spawn", "command": "true"}, {"action": "restart", "job_id": job}):
            status, error = visitor.refused("process", **given)
            assert (status, error["code"]) == (403, "denied"), given
            assert "starts nothing" in error["message"]
        assert len(visitor.call("jobs")["jobs"]) == 1


def test_nobody_names_a_command_to_be_notified_from_the_page_of_a_token(served: Served, work: Path) -> None:
    job = job_of(served, served.tokens["tests"], "exec sleep 300", work)
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        watch = [{"pattern": "x", "command": f"touch {work}/made"}]
        for sink in ({"notify_command": f"touch {work}/made"}, {"notify_file": f"{work}/made"}, {"watch": watch}):
            status, error = visitor.refused("process", action="notify_set", job_id=job, **sink)
            assert (status, error["code"]) == (403, "denied"), sink
            assert "names nothing to be notified" in error["message"]
        assert visitor.run("notify_set", job_id=job, watch=["x"])["ok"]
        assert visitor.run("kill", job_id=job)["state"] == "killed"
    assert not (work / "made").exists()


def test_nobody_approves_with_a_token(served: Served) -> None:
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        status, error = visitor.refused("approve", job_id="01J00000000000000000000000")
        assert status == 403 and "outlive approve" in error["hint"]


def test_a_revoked_token_ends_its_pages(served: Served, cli: Cli) -> None:
    with Visitor(served.base, served.token("short")) as visitor:
        assert visitor.call("jobs")
        cli.ok("token", "revoke", "short")
        del served.tokens["short"]
        assert visitor.post("jobs").status_code == 401


def test_tokens_that_cannot_be_read_let_nobody_in(serve: Callable[..., Served], root: Path) -> None:
    served = serve()
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        os.chmod(root / ".tokens.json", 0o644)
        assert visitor.post("jobs").status_code == 503
        with pytest.raises(NotLetIn) as refused:
            Visitor(served.base, served.tokens["tests"])
        assert (refused.value.answer.status_code, "token list" in refused.value.answer.text) == (503, True)
        os.chmod(root / ".tokens.json", 0o600)
        assert visitor.post("jobs").status_code == 200
    assert "Traceback" not in served.said(), served.said()


def test_a_session_counts_only_where_it_began(serve: Callable[..., Served], place: Path) -> None:
    """Both servers are of one root, and that of a token has fewer rights."""
    served = serve()
    with Ui(place / "ui.log") as ui, Browser(ui) as person, Visitor(served.base, served.tokens["tests"]) as visitor:
        there, here = visitor.base, ui.base
        assert visitor.post("jobs").status_code == person.post("jobs").status_code == 200
        visitor.base, person.base = here, there
        assert visitor.post("jobs").status_code == person.post("jobs").status_code == 401


def test_a_session_ends_with_the_server(serve: Callable[..., Served]) -> None:
    served = serve()
    with Visitor(served.base, served.tokens["tests"]) as visitor:
        served.__exit__()
        visitor.base = f"{serve(again=served).base}/ui"
        assert visitor.post("jobs").status_code == 401


def test_behind_a_proxy_that_removes_a_prefix_addresses_have_it(serve: Callable[..., Served]) -> None:
    served = serve("--prefix", "/outlive")
    with http.client() as client:
        page = client.get(f"{served.base}/ui/")
        assert 'src="/outlive/ui/static/app.js"' in page.text
        assert client.get(f"{served.base}/ui").headers["location"] == "/outlive/ui/"


def test_a_server_without_the_tool_process_has_no_page(serve: Callable[..., Served]) -> None:
    served = serve("--tools", "exec")
    assert served.ask("GET", "/ui/").status == 404
