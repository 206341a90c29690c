"""The package index that pip is configured for."""

from __future__ import annotations

import re
import subprocess
import sys

_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def for_uv() -> dict[str, str]:
    """Return the variables with which uv uses that index."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^[\w.]+\.([\w-]+)='(.*)'$", told, re.MULTILINE))
    return {_NAMES[key]: value.replace("\\n", " ").strip() for key, value in found.items() if key in _NAMES}
