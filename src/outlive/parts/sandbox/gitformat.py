"""The format of files of settings of git, read as git reads it (git-config(1), config.c)."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What stands in a file of settings, as config.c of git reads it: a comment, a section, a key with the rest of its line,
# which may go on in the next one, or what git does not read, and ends there
_ENTRY = re.compile(
    r"""[ \t\r\n]*+(?:[#;][^\n]*|\[(?P<section>[a-z0-9.-]*)(?:[ \t\r]+"(?P<subsection>(?:[^"\\\n]|\\[^\n])*)")?]"""
    r"""|(?P<key>[a-z][a-z0-9-]*)[ \t]*(?:=(?P<value>(?>(?:[^"\\\n#;]++|\\[tbn\\"\n]|"(?>(?:[^"\\\n]++|\\[tbn\\"\n])*)")*))"""
    r"""(?:[#;][^\n]*)?)?(?=\n)|(?P<unread>(?>(?:[^\\\n]++|\\[\s\S])+)))?""",
    re.ASCII | re.IGNORECASE,
)
_IN_VALUE = re.compile(r'"((?>(?:[^"\\]++|\\.)*))"|(\\.)|([ \t\r]+)|([^"\\ \t\r]+)', re.DOTALL)
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\n": ""}


def settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (section, subsection, key, rest of the line) of a file of git's (git-config(1)), sections and keys in lower
    case. The key of what git does not read is empty."""
    section = subsection = ""
    for entry in _ENTRY.finditer(text.removeprefix("\ufeff").replace("\r\n", "\n") + "\n\n"):
        if entry["section"] is not None:
            section, _, dotted = entry["section"].lower().partition(".")
            subsection = entry["subsection"] or dotted
        elif entry["key"]:
            yield section, subsection, entry["key"].lower(), (entry["value"] or "").strip(" \t\r")
        elif entry["unread"]:
            yield section, subsection, "", ""


def readings(value: str) -> list[str]:
    """Return the rest of a line as git reads it; two where a tab in it is a blank for a git before 2.45."""
    kept = replaced = blanks = ""
    for quoted, escaped, blank, plain in _IN_VALUE.findall(value):
        if blank:
            blanks += blank if kept else ""
            continue
        said = _unescaped(quoted or escaped) or plain
        kept += blanks + said
        replaced += re.sub(r"[\t\r]", " ", blanks) + said
        blanks = ""
    return [*dict.fromkeys(one.partition("\0")[0] for one in (kept, replaced))]


def _unescaped(text: str) -> str:
    return re.sub(r"(?s)\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), text)
