"""The package index that pip is configured for."""

from __future__ import annotations

import re
import subprocess
import sys

# What pip and uv say where the index, or the way to it, is at fault, and not what was asked for
_TROUBLE = re.compile(
    r"Failed to fetch|Failed to download|dns error|error sending request|timed? ?out|Connection (?:reset|refused|broken|aborted)|"
    r"Temporary failure in name resolution|NewConnectionError|Max retries exceeded|\b50[0234]\b.*(?:Error|for url|Gateway|Unavailable)",
    re.IGNORECASE,
)
_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def is_in_trouble(said: str) -> bool:
    """Return whether a program failed because of the index: a test that needs it is skipped then."""
    return bool(_TROUBLE.search(said))


def for_uv() -> dict[str, str]:
    """Return the variables with which uv uses that index."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^[\w.]+\.([\w-]+)='(.*)'$", told, re.MULTILINE))
    return {_NAMES[key]: value.replace("\\n", " ").strip() for key, value in found.items() if key in _NAMES}
