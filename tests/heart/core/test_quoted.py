"""Text that a person has to read exactly: bash reads what is shown as the text itself, and no two texts look the same."""

from __future__ import annotations

import shutil
import subprocess

from outlive.core import quoted

HIDING = [
    *("a\nDirectory: /safe", "a\rb", "\x1b[8mrm", "tab\there", "\x9b31m", "\x7f"),
    *("\u202efdp.exe", "a\u2066b", "a\u200bb", "a\u200d", "\u00ad", "\ufeffa", "a\u2028b", "\u061c"),
    *("a\u00a0b", "a\u3000b", "a\u2003b", "a\u3164b", "\uffa0", "a\u2800b", "a\ufe0fb", "a\U000e0101b", "\U000e0041"),
    *("x" + " " * 40 + "y", " a", "a ", "", "$'a'", "it's\n\\n"),
]


def test_what_hides_is_visible_and_is_read_by_a_shell_as_the_same_text() -> None:
    shown = [quoted.quoted(text) for text in HIDING]
    assert not [one for one in shown if not one.startswith("$'") or not one.isprintable() or " " * 17 in one]
    words = [shutil.which("bash") or "bash", "-c", f"printf '%s\\0' {' '.join(shown)}"]
    found = subprocess.run(words, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert found.stdout.decode().split("\0") == [*HIDING, ""]


def test_plain_text_is_shown_as_it_is() -> None:
    for text in ["git push", "make -j 4", "ü ß 日本", "a\\nb", "x" + " " * 16 + "y"]:
        assert quoted.quoted(text) == text


def test_words_are_shown_as_a_shell_would_need_them() -> None:
    assert (
        quoted.words(["rm", "-rf", "a b", "it's", "\u202e", "$'x"]) == """rm -rf 'a b' 'it'"'"'s' $'\\u202e' $'$\\'x'"""
    )
    assert quoted.quoted("\udcff") == "$'\\udcff'"


def test_what_is_shown_in_place_has_each_unseen_character_as_an_escape() -> None:
    assert quoted.visible("a\u202eb\x1b[31m\u200bc\nd") == "a\\u202eb\\e[31m\\u200bc\\nd"
    assert quoted.visible("it's C:\\x, grün und 中文") == "it's C:\\x, grün und 中文"
