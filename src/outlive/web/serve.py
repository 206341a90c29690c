"""`outlive serve` with the page beside MCP: at /ui, for browsers that have a token."""

from __future__ import annotations

from typing import Any

from outlive.mcp.http import serve
from outlive.verbs.spec import GlobalOptions


def main(values: dict[str, Any], options: GlobalOptions) -> int:
    """Serve MCP and the page until a signal ends the process. Errors: those of `serve.main`."""
    return serve.main(values, options, beside=_beside)


def _beside(*served: Any) -> Any:
    """Return the application with the page, of what `Beside` takes."""
    from outlive.web.beside import Beside  # late: the server listens before it loads the SDK

    return Beside(*served)
