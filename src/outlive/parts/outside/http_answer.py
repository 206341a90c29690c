"""What a web server answered."""

from __future__ import annotations

from outlive.core.record import Value

HTTP_S = 5.0  # one request of the condition `http`


class HttpAnswer(Value):
    """A sentence about it, the status, and the address that it answered at."""

    sentence: str
    status: int | None = None
    address: str | None = None
    fits: bool = False  # whether that status is waited for
