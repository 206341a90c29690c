"""The shapes of keys that are known by how they begin or by what stands before them.

The text is a job's, so RE2 searches it, in time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from outlive.core.record import Value
from outlive.parts.masks.values import is_reference, is_secret
from outlive.store.output.patterns import re2

# Where a word begins: also behind an escape sequence, and behind a line break in JSON
_START = r"(?:\b|\x1b\[[0-9;]*m|\\[nrt])"
_PEM = r"-----{} [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_NAME = (
    r"(?:[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|APIKEY|API_KEY)[A-Z0-9_]*"
    r"|(?:[A-Z0-9_]*_)?(?:KEY|AUTH|PASS|PWD|PAT))"
)
_OF_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_JUDGED_BYTES = 512  # of a value: a job must not make us read all that it printed again and again


class _Shape(Value):
    """`pattern` has one group, which is masked as `label`, with the characters of the class `more` behind it; `judge`
    says whether that is a secret."""

    label: str
    pattern: str
    more: str = ""
    judge: Callable[[str], bool] | None = None


def _is_mixed(text: str) -> bool:
    """Return whether this is no name of hyphened words, such as sk-learn-contrib-packages, and of no type of SSH
    key."""
    return any(char.isdigit() for char in text) and not text.startswith(("sk-ecdsa-", "sk-ssh-"))


def _is_given(text: str) -> bool:
    return not is_reference(text)


_KEY, _BARE = r"[A-Za-z0-9_-]", r"""[^\s"'`;&|<>]"""
_HEADER = r"""(?i:authorization)\\?["']?\s*[:=,]\s*b?\\?["']?(?:[A-Za-z][A-Za-z0-9-]{0,30}\s+)?"""
_BEGIN = _Shape("private key", f"({_PEM.format('BEGIN')})")
_SHAPES = (
    _BEGIN,
    _Shape("private key", rf"^((?:[A-Za-z0-9+/=]+\r?\n)+{_PEM.format('END')})"),
    _Shape("GitHub token", r"(gh[opsru]_[A-Za-z0-9]{8}|github_pat_\w{8})", r"\w"),
    _Shape("GitLab token", rf"(glpat-{_KEY}{{8}})", r"[\w.-]"),
    _Shape("Stripe key", rf"{_START}([sr]k_(?:live|test)_[A-Za-z0-9]{{8}})", r"\w"),
    _Shape("API key", rf"{_START}(sk-{_KEY}{{16}})", _KEY, _is_mixed),  # of Anthropic, OpenAI and others
    _Shape("Slack token", r"(xox[abeprs]-[A-Za-z0-9-]{8})", r"[A-Za-z0-9-]"),
    _Shape("AWS key id", rf"{_START}((?:AKIA|ASIA)[A-Z0-9]{{16}})"),
    _Shape("Google key", rf"{_START}(AIza{_KEY}{{16}})", _KEY),
    _Shape("npm token", rf"{_START}(npm_[A-Za-z0-9]{{16}})", r"\w"),
    _Shape("Hugging Face token", rf"{_START}(hf_[A-Za-z0-9]{{16}})", r"\w"),
    _Shape("PyPI token", rf"{_START}(pypi-{_KEY}{{16}})", _KEY, _is_mixed),
    _Shape("JWT", rf"{_START}(eyJ{_KEY}{{8,}}\.{_KEY}{{8}})", r"[\w.-]"),
    _Shape("password", r"""://[^\s/:@"'<>?#]*:([^\s/"'<>?#]+)@""", "", _is_given),
    _Shape("authorization", rf"""{_HEADER}([^\s"',;\\]{{8}})""", r"""[^\s"',;\\]""", is_secret),
    _Shape("Bearer token", r"\b(?i:bearer)\s+([A-Za-z0-9._~+/=-]{8})", r"[A-Za-z0-9._~+/=-]", is_secret),
    _Shape(
        "npm token",
        r"""(?:\b_authToken\\?["']?\s*[=:]\s*|(?:^|:)_(?:auth|password)=)\\?["']?([^\s"'\\]{8})""",
        r"""[^\s"'\\]""",
        is_secret,
    ),
    _Shape("", rf'(?:\b|_)(?:{_NAME})="([^"\r\n]{{8}})', r'[^"\r\n]', is_secret),
    _Shape("", rf"(?:\b|_)(?:{_NAME})='([^'\r\n]{{8}})", r"[^'\r\n]", is_secret),
    _Shape("", rf"(?:\b|_)(?:{_NAME})=({_BARE}{{8}})", _BARE, is_secret),
)
# Of a private key: between its first and its last line; lines of it; its last line
_BODY = rb"[A-Za-z0-9+/=\s:,.\\-]*"
_LINES = rb"(?:\s+(?:[A-Za-z0-9+/=]+|(?:Proc-Type|DEK-Info):[^\r\n]*)[ \t]*(?=[\r\n]|\Z))*"
_END = _PEM.format("END").encode()


class Secret(Value):
    """A secret in a text, as offsets in its bytes."""

    start: int
    end: int
    label: str


@cache
def _compiled() -> Any:
    options = re2().Options()
    options.log_errors = False
    options.encoding = re2().Options.Encoding.LATIN1  # bytes: a broken character ends no match
    return re2().compile(("(?m)" + "|".join(shape.pattern for shape in _SHAPES)).encode(), options)


def secrets_in(text: bytes) -> Iterator[Secret]:
    """Yield the secrets in a text, in order."""
    pattern, at = _compiled(), 0
    while match := pattern.search(text, at):
        shape, (start, end) = _SHAPES[match.lastindex - 1], match.span(match.lastindex)
        more = re.compile(f"(?:{shape.more})*".encode())  # which `re` remembers: nothing is compiled at the start
        if shape.judge is not None:
            behind = more.match(text, end, end + _JUDGED_BYTES)
            value = text[start : behind.end() if behind else end]
            if not shape.judge(value[:_JUDGED_BYTES].decode("utf-8", "replace")):
                # A secret may lie in what is none: the password of a URL that a variable holds
                at = start + len(value) if shape.judge is _is_mixed else max(start, match.start() + 1)
                continue
        at = _end_of_key(text, end) if shape is _BEGIN else _run(more, text, end)
        if shape is _BEGIN and at == end:  # a first line alone, as in a program that reads keys
            continue
        yield Secret(start, at, shape.label or _name_before(text, start))


def _run(more: re.Pattern[bytes], text: bytes, at: int) -> int:
    behind = more.match(text, at)
    return behind.end() if behind else at


def _end_of_key(text: bytes, at: int) -> int:
    """Return where a private key ends whose first line ends here: with its last line, or, if that is not there, with
    its lines."""
    another, last = text.find(b"-----BEGIN", at), text.find(b"-----END", at)
    if last >= 0 and (another < 0 or last < another) and re.compile(_BODY).fullmatch(text, at, last):
        return _run(re.compile(_END), text, last)
    return _run(re.compile(_LINES), text[:another] if another >= 0 else text, at)


def _name_before(text: bytes, start: int) -> str:
    """Return the name of the variable that is set to what begins at `start`."""
    before = text[max(0, start - 200) : start].rstrip(b"=\"'")
    word = len(before)
    while word and (before[word - 1] in _OF_NAMES):
        word -= 1
    return before[word:].decode("ascii", "replace")
