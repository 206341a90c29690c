"""Scripts in a word of which it is known that they run nothing: the plain part of sed, awk and SQLite's language;
and the names of tests and of settings of git.

Each pattern describes what is known, so that a script with anything else is not.
"""

from __future__ import annotations

import re

# sed: an address, and commands without `e`, the flag `e`, files of scripts and continued lines
_PATTERN = r"/(?>(?:[^/\\\n\[]|\\[^\n]|\[\^?+\]?+(?>(?:[^]/\\\n]|\\[^]/\n])*)\])*)/"  # no class holds the delimiter: seds differ
_PART = r"(?>(?:(?!(?P=d))[^\\\n\[]|\\[^\n]|\[\^?+\]?+(?>(?:(?!(?P=d))[^]\\\n]|\\(?!(?P=d))[^]\n])*)\])*)"
_ADDRESS = rf"(?:[0-9]++(?>(?:~[0-9]++)?)|\$|{_PATTERN}I?+)"
_COMMAND = (
    rf"[\s;}}]*+(?>(?:{_ADDRESS}(?>(?:[ \t]*+,[ \t]*+(?:{_ADDRESS}|[+~][0-9]++))?))?)[ \t]*+!*+[ \t]*+"
    rf"(?:[dDgGhHnNpPxzF=]|[qQl][ \t]*+[0-9]*+|\{{|s(?P<d>[/|#,:@%!~_+^]){_PART}(?P=d)(?>(?:(?!(?P=d))[^\\\n]|\\[^\n])*)(?P=d)[gpiImM0-9]*+"
    rf"|y/(?>(?:[^/\\\n]|\\[^\n])*)/(?>(?:[^/\\\n]|\\[^\n])*)/|[:btT][ \t]*+[\w.-]*+|[aicrRwW](?>(?:[^\\\n]|\\[^\n])+)(?=\n|$)|(?=\}}))"
    r"[ \t]*(?=[;}\n]|$|(?<=\{))"
)

# awk: no pipe, no `system`, no call by name; a slash is a division, or begins a pattern where an operand stands
_AWK = (
    r'"(?>(?:[^"\\\n]|\\[^\n])*)"'
    r'|(?:(?<=[~(,!{};&|\n])|^)[ \t]*+/(?>(?:[^/\\\n"\[]|\\[^\n]|\[\^?+\]?+(?>(?:[^][/\\\n"]|\[:[a-z]+:\]|\\[^][/\n"])*)\])*)/'
    r"|(?<=[0-9\]])[ \t]*+/|(?<=[\w)])[ \t]*+/(?=[^/\n]*$)"
    r"|\|\||(?!\w*system)[A-Za-z_]\w*|[0-9]+|[^\w\"|@\\#`/]"
)
_DOT = r"\.(tables|schema|databases|indexes|indices|dump|fullschema)(\s+[\w%]+)?"
_SETTING = (  # of git
    r"(?i:user\.(name|email|signingkey)|init\.defaultbranch|(tag|advice|log|status)\.\w+"
    r"|pull\.(rebase|ff)|push\.(default|autosetupremote|followtags)|fetch\.(prune|prunetags|parallel)"
    r"|merge\.(ff|conflictstyle)|rebase\.(autosquash|autostash|updaterefs)|commit\.(gpgsign|verbose)|color\.[\w.]+"
    r"|core\.(autocrlf|eol|filemode|ignorecase|quotepath|longpaths|symlinks|safecrlf|whitespace|abbrev))"
)
# unittest calls what the last word names: `pdb.test` reads commands
_TEST = (
    r"(?i:\w*test\w*)|(?:[\w.-]+/)*tests?(?:/[\w-]+)*/?|[\w./-]+\.py"
    r"|(?:[\w./-]+\.)?(?:tests|test_\w+|\w+_tests?|\w*Tests?\w*)(?:\.[A-Z]\w*)?"
)
_CALLS = r"(?i)\b(edit|load_extension)\b"


def is_harmless_sed(script: str) -> bool:
    return _is_whole(_COMMAND, script.rstrip(" \t\n;}"))


def is_harmless_awk(script: str) -> bool:
    return _is_whole(_AWK, script)


def is_harmless_sql(text: str) -> bool:
    text = text.strip()
    return bool(re.fullmatch(_DOT, text)) if text.startswith(".") else not re.search(_CALLS, text)


def is_harmless_setting(key: str) -> bool:
    return re.fullmatch(_SETTING, key) is not None


def is_test(name: str) -> bool:
    return re.fullmatch(_TEST, name) is not None


def _is_whole(pattern: str, text: str) -> bool:
    """Return whether a text consists of pieces."""
    piece = re.compile(pattern)  # late: 2 ms of each start
    at = 0
    while at < len(text):
        match = piece.match(text, at)
        if match is None or match.end() == at:
            return False
        at = match.end()
    return True


def is_of_jdk(name: str) -> bool:
    """Return whether a class is one of the JDK, and not in a file of source: `jdk.internal.jshell.tool.JShellToolProvider`."""
    return re.match(r"(java|javax|jdk|sun|com[./]sun)[./]", name) is not None and not name.endswith(".java")
