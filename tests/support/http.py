"""Clients of plain HTTP."""

from __future__ import annotations

from typing import Any

import httpx2


def client(**how: Any) -> httpx2.Client:
    """Return a client that knows of no proxy and of no certificates: to read those of the system takes 25 ms of CPU,
    as long as starting a job."""
    return httpx2.Client(**{"trust_env": False, "verify": False, "timeout": 60, **how})


def async_client(**how: Any) -> httpx2.AsyncClient:
    """Return such a client for an event loop."""
    return httpx2.AsyncClient(**{"trust_env": False, "verify": False, "timeout": 60, **how})
