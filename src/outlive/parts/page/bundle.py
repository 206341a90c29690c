"""Modules of the page as one script, for a document that may load nothing.

A module becomes a function that is called when the module is first used. It knows the forms of
`import` and `export` that the modules of the page have, and refuses others. An import is a copy: what
a module exports has to be a constant.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_LATE = re.compile(r'\bawait import\("([^"]+)"\)')
_DECLARED = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
_LISTED = re.compile(r"\bexport\s*\{([^}]*)\};?\s*(?://[^\n]*\s*)?\Z")
_LEFT = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)
_LOADER = """const modules = {}, loaded = {};
const use = (name) => (loaded[name] ??= modules[name]());
"""


def bundled(first: str, read: Callable[[str], str], *, instead: Mapping[str, str]) -> str:
    """Return one script of the module `first` and of all that it imports, late imports too.

    `read` returns the text of a module by its path. `instead` maps the path of a module to that of
    the module which takes its place.
    """
    texts: dict[str, str] = {}
    wanted = [first]
    while wanted:
        path = wanted.pop()
        if path in texts:
            continue

        def place_of(name: str, here: str = path) -> str:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(here), name))
            return instead.get(path, path)

        text = read(path)
        named = [*(name for _, name in _IMPORT.findall(text)), *_LATE.findall(text)]
        wanted += map(place_of, named)
        texts[path] = _as_function(path, text, place_of)
    return f"{_LOADER}{''.join(texts.values())}use({_quoted(first)});\n"


def _as_function(path: str, text: str, place_of: Callable[[str], str]) -> str:
    names = {name: name for _, name in _DECLARED.findall(text)}
    listed = _LISTED.search(text)
    if listed:
        text = text[: listed.start()]
        for one in listed[1].split(","):
            inside, _, outside = one.strip().partition(" as ")
            names[outside or inside] = inside
    text = _IMPORT.sub(lambda at: f"const {{{at[1].replace(' as ', ': ')}}} = use({_quoted(place_of(at[2]))});", text)
    text = _LATE.sub(lambda at: f"use({_quoted(place_of(at[1]))})", text)
    text = _DECLARED.sub(r"\1", text)
    if _LEFT.search(text):
        raise ValueError(f"{path} imports or exports in a form that is not known here")
    members = "".join(f"{outside}: {inside}, " for outside, inside in names.items())
    return f"modules[{_quoted(path)}] = () => {{\n{text}\nreturn {{ {members}}};\n}};\n"


def _quoted(path: str) -> str:
    return f'"{path}"'


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return the template with each @NAME@ replaced. Errors: ValueError for a part that would end
    the element which it stands in."""
    for name, text in parts.items():
        if re.search(r"</(?:script|style)|<!--", text, re.IGNORECASE):
            raise ValueError(f"{name} would end its element")
    return re.sub(r"@([A-Z]+)@", lambda at: parts[at[1]], template)
