"""Which values of an environment are secrets: by the name of the variable and by the value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from outlive.core.record import Value

LEAST_CHARS = 8  # a shorter value would be found in words that have nothing to do with it

NAMES = (
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|(?:^|_)(?:KEY|AUTH|PASS|PWD|PAT)$|(?:^|_)AUTH_",
    r"TOKENIZ|(?:PUBLIC|SORT|PRIMARY|FOREIGN|CACHE|PARTITION|GPG)_?KEY$",
)
_SECRET_NAME, _PLAIN_NAME = (re.compile(pattern, re.IGNORECASE) for pattern in NAMES)
_WORD = re.compile(r"[A-Za-z][a-z]*")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,:_TZ+-]*")
_PATH = re.compile(r"[/~].*|[\w.+@-]*(?:/[\w.+@-]*)+", re.DOTALL)
_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+/]{20,}={0,2}")
_CHARS_A_SLASH = 8  # base64 has a slash in 64 characters, a path one in each few
_REFERENCE = re.compile(r"\$\w+|\$[{(].*|<[^<>]*>|\{+[\w. ]*\}+|%\w+%?|\*+|[xX]+|\.+|\[masked.*", re.DOTALL)
_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/]+)@")


class MaskedValue(Value):
    """A secret, and the variable that holds it."""

    text: str
    name: str


def has_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _PLAIN_NAME.search(name)


def is_secret(value: str) -> bool:
    """Return whether a value can be a secret. Words, numbers, paths and addresses are none, nor is what stands for a
    value, as $NAME."""
    if len(value) < LEAST_CHARS or "://" in value:
        return False
    if _WORD.fullmatch(value) or _NUMBER.fullmatch(value) or is_reference(value):
        return False
    return not _is_path(value)


def is_reference(value: str) -> bool:
    """Return whether a text stands for a value: the name of a variable, stars, a gap to fill."""
    return bool(_REFERENCE.fullmatch(value))


def _is_path(value: str) -> bool:
    if not _PATH.fullmatch(value):
        return False
    # The secret keys of AWS are base64, and half of them have a slash
    return not _BASE64.fullmatch(value) or value.count("/") * _CHARS_A_SLASH > len(value)


def of(env: Mapping[str, str]) -> set[MaskedValue]:
    """Return the secrets in an environment: each line of a value, and the password of a URL."""
    secrets = {
        MaskedValue(line.strip(), name)
        for name, value in env.items()
        if has_secret_name(name)
        for line in value.splitlines()
        if is_secret(line.strip())
    }
    for name, value in env.items():
        if "://" in value and (match := _URL_PASSWORD.match(value)):
            words = {match[1], unquote(match[1])}
            secrets |= {MaskedValue(word, name) for word in words if is_secret(word)}
    return secrets
