"""What a shell string is split into, and what is left alone because a shell might read it otherwise."""

from __future__ import annotations

import pytest

from outlive.policy import lexer

SH = ["sh", "-c"]


def read(text: str) -> list[list[str]]:
    """The words of each command; fails for a string that is not split."""
    found = lexer.commands([text], SH)
    assert not [one.unread for one in found if one.unread], [one.unread for one in found]
    return [one.argv for one in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("git push", [["git", "push"]]),
        ("a && b || c; d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a &&\n b", [["a"], ["b"]]),
        ("\n a ;\n\n b;\n", [["a"], ["b"]]),
        ("echo 'a $b' \"c d\" e'f'g", [["echo", "a $b", "c d", "efg"]]),
        ("make 2>&1 | tail -n 5", [["make"], ["tail", "-n", "5"]]),
        ("make >/dev/null 2>&1 </dev/null&&a", [["make"], ["a"]]),
        ("git show HEAD~1 a#b x --y=z", [["git", "show", "HEAD~1", "a#b", "x", "--y=z"]]),
        ("[ -f x ] && y", [["[", "-f", "x", "]"], ["y"]]),
        ("ls *.py", [["ls", "*.py"]]),
        ("printf %s ü", [["printf", "%s", "ü"]]),
        ("bash build.sh -c", [["bash", "build.sh", "-c"]]),
    ],
)
def test_plain_words_and_simple_quotes_are_split(text: str, wanted: list[list[str]]) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "a &", "a &&", "; a", "a;;b", "a |& b", "a | | b", "a\n| b", "a && ; b"),
        *("echo $x", 'echo "$x"', "echo `id`", 'echo "`id`"', "echo $(id)", "a\\b", 'echo "\\$"', "$'a'", "<(a)"),
        *("a > out", "a >> out", "a < in", "a 2> err", "a >/dev/nullx", "a 10>&1", "a2>&1", "'2'>&1", "a >&x", "a >&-"),
        *("a &> /dev/null", "cat << EOF\nx\nEOF", ">/dev/null", "a | >/dev/null", "a >/dev/tcp/h/1"),
        *(
            "A=1 make",
            "=ls",
            "echo =ls",
            "echo ~",
            "echo a=~/b",
            "{a,b}",
            "a{b,c}",
            "(a)",
            "a()",
            "# a",
            "a #b",
            "echo '",
        ),
        *("if a; then b; fi", "! a", "time a", "while a", "[[ -v x ]]", "for", "g?t push", "'' a", "%1", "-c a", "+x"),
        *("export PATH=/tmp; git push", "alias git=rm; git x", ". x", "source x", "eval a", "exec a", "command a"),
        *("printf -v x y", "test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "read PATH", "unset x", "echo \x00", "a\rb"),
        "echo\u00a0a",
    ],
)
def test_everything_else_is_one_unknown_command(text: str) -> None:
    (found,) = lexer.commands([text], SH)
    assert found.unread
    assert found.argv == [text]


@pytest.mark.parametrize(
    "words",
    ["sudo ls", "env ls", "/usr/bin/env ls", "xargs rm", "nohup a", "timeout 5 a", "bash -c a", "sh", "zsh +x a",
     "find . -exec rm x +", "watch a", "fish -c a"],
)  # fmt: skip
def test_a_program_that_runs_another_one_is_unknown_as_words_too(words: str) -> None:
    argv = words.split()
    (found,) = lexer.commands(argv, None)
    assert found.unread
    assert found.argv == argv
    first, second = lexer.commands([f"git status && {words}"], SH)
    assert (first.unread, second.argv) == (None, argv)
    assert second.unread


@pytest.mark.parametrize(
    "shell", [["python3", "-c"], ["bash"], ["bash", "-i", "-c"], ["bash", "x", "-c"], ["fish", "-c"]]
)
def test_a_string_for_another_shell_is_unknown(shell: list[str]) -> None:
    (found,) = lexer.commands(["git push"], shell)
    assert found.unread


def test_a_word_for_names_of_files_is_marked_and_a_change_of_directory_too() -> None:
    first, second, third = lexer.commands(["ls a *.py ["], SH) + lexer.commands(["cd x; make"], SH)
    assert first.globs == {2}
    assert (second.moved, third.moved) == (False, True)
