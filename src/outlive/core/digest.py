"""Digests of bytes."""

from __future__ import annotations


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    import hashlib  # late: it loads OpenSSL, 4 MB

    return hashlib.sha256(data).hexdigest()
