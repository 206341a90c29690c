"""A host of MCP Apps: a page with the AppBridge of the official SDK, between a browser and a session with the server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("app_host.html")
KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html; charset=utf-8"}
# What hosts give a view that names no addresses (specification 2026-01-26, "Restrictive default")
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
_CONDITIONS = ("browser", "import", "default")
_MODULES = (
    "@modelcontextprotocol/ext-apps/app-bridge",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/client/_shims",
    "@modelcontextprotocol/core",
    "@modelcontextprotocol/core/internal",
    "zod/v4",
    "eventsource",
    "eventsource-parser",
    "eventsource-parser/stream",
    "pkce-challenge",
)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # a browser asks for a hundred modules at once; what does not fit is asked for again later


class AppHost:
    """Serves the page of the host, and the view on another origin. Use as a context manager.

    `call(name, arguments)` calls a tool and returns its result as JSON; it is called from several threads.
    """

    def __init__(self, packages: Path, view: str, call: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host._get(self)

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.answer(json.dumps(call(given["name"], given.get("arguments") or {})).encode(), "application/json")

            def answer(self, body: bytes, kind: str, **headers: str) -> None:
                self.send_response(200)
                for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._packages = packages
        self._view = view.encode()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever)
        port = self._server.server_port
        self.url = f"http://127.0.0.1:{port}/"
        self.view_url = f"http://localhost:{port}/view"

    def __enter__(self) -> AppHost:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _get(self, request: Any) -> None:
        if request.path == "/view":
            request.answer(self._view, "text/html; charset=utf-8", content_security_policy=POLICY)
        elif request.path == "/":
            imports = json.dumps({"imports": {name: f"/m/{self._place(name)}" for name in _MODULES}})
            page = PAGE.read_text(encoding="utf-8").replace("@IMPORTS@", imports).replace("@VIEW@", self.view_url)
            request.answer(page.encode(), KINDS[".html"])
        elif request.path.startswith("/m/"):
            path = (self._packages / request.path.removeprefix("/m/")).resolve()
            request.answer(path.read_bytes(), KINDS[path.suffix])
        else:
            request.send_error(404)

    def _place(self, name: str) -> str:
        """The file that a module is in, below `node_modules`."""
        words = name.split("/")
        package = "/".join(words[: 2 if name.startswith("@") else 1])
        about = json.loads((self._packages / package / "package.json").read_text(encoding="utf-8"))
        part = name.removeprefix(package).lstrip("/")
        found = about["exports"][f"./{part}" if part else "."]
        while not isinstance(found, str):
            found = next(found[condition] for condition in _CONDITIONS if condition in found)
        return f"{package}/{found.removeprefix('./')}"
