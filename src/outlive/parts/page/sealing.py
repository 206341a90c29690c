"""Calls of the page, sealed: only the page and the server that let it in can read, make or answer them.

Any user of this machine may listen on a port that is free, so a page that is open can find another
program in place of its server. Whatever it sends must be worth nothing there. So no secret is sent,
ever. Both ends derive the key of each tab from a secret that they share and from two random
numbers, one of each end, and all that is said is encrypted and authenticated with it (AES-GCM).

- A program that takes the server's place reads nothing, and what it answers is not believed.
- What it was sent is refused by every server: no other one knows the key, and this one takes the
  number of a call once.

Signatures would be smaller, but the key that a person strikes at the moment of the change would be
readable: no exchange beforehand proves who gets the next request.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 16  # of each end, of which a key is made
MOST_CALLS = 2**53  # of one key: what a number of JavaScript holds
_WINDOW = 1024  # calls that may overtake each other
_QUESTION, _ANSWER = b"\0", b"\1"


def id_of(secret: bytes) -> str:
    """Return the name of a secret, which tells nothing of it."""
    return hashlib.sha256(b"outlive id\0" + secret).hexdigest()[:32]


def key_of(secret: bytes, purpose: str, page: bytes, server: bytes = b"") -> bytes:
    """Return a key for one purpose, from a secret and the random numbers of page and server."""
    return hmac.digest(secret, b"outlive " + purpose.encode() + b"\0" + page + server, "sha256")


class Seal:
    """Seals what one end says with a key. Every number is used once in each direction."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def open_question(self, number: int, sealed: bytes) -> bytes | None:
        """Return what the page said; None if it was not said with this key and number."""
        try:
            return self._cipher.decrypt(_nonce(_QUESTION, number), sealed, None)
        except InvalidTag:
            return None

    def answer(self, number: int, said: bytes) -> bytes:
        return self._cipher.encrypt(_nonce(_ANSWER, number), said, None)


def _nonce(direction: bytes, number: int) -> bytes:
    return direction + number.to_bytes(11, "big")


class Numbers:
    """The numbers of the calls that came already. Calls may overtake each other by some."""

    def __init__(self) -> None:
        self._highest = 0
        self._seen = 0  # a bit for each number from the highest one down

    def take(self, number: int) -> bool:
        """Return whether this number comes for the first time."""
        ahead = number - self._highest
        if ahead > 0:
            self._seen = (self._seen << ahead | 1) & (1 << _WINDOW) - 1 if ahead < _WINDOW else 1
            self._highest = number
            return True
        if ahead <= -_WINDOW or self._seen >> -ahead & 1:
            return False
        self._seen |= 1 << -ahead
        return True
