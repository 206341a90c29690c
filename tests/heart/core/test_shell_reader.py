"""What is read of a shell string, and of which strings it is sure that every shell reads them alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from outlive.core import shell_strings
from outlive.jobs import programs

PIECES = [
    *"(){}|&;<>$`'\"\\# \n=!*~\r", "a", "b ", "cd ", "2>&1", ">/dev/null ", "&& ", "<<E ", "E\n", "a=(", "$(", "[[ ", " ]]",
    "if ", "then ", "do ", "done ", "fi ", "case ", "esac ", "in ", "for ", ";; ", "time ", "f() ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_what_is_sure_are_simple_commands_alone_and_a_string_of_any_form_has_a_name(parts: list[str]) -> None:
    text = "".join(parts)
    assert programs.name_of([text]) or not text.strip()
    script = shell_strings.read(text)
    assert shell_strings.every(shell_strings.commands(text)) or not script.commands
    if script.unsure is None:
        assert not [one for one in script.commands if one.kind or one.inside or one.substituted or one.defines]
        assert not [one for one in script.commands if one.is_negated or one.is_setting or one.operator == "&"]


def test_a_string_that_is_unsure_is_read_all_the_same() -> None:
    rows: list[tuple[str, list[list[str]]]] = [
        ("A=1 make -C $x", [["make", "-C", "$x"]]),
        ("make >log 2>&1 &", [["make"]]),
        ("x=(a $(d)); make", [["="], ["a", "$(…)"], ["d"], ["make"]]),
        ("for i in 1 2; do make $i; done", [["make", "$i"]]),
        ("for ((i=0; i<3; i++)); do a; done\nb", [["a"], ["b"]]),
        ("case $1 in (a|b) c ;; d) ;; *) e; esac; f", [["c"], ["e"], ["f"]]),
        ("while [[ -f a && ! ( b || c ) ]]; do d; done", [["[[", "-f", "a", "!", "b", "c", "]]"], ["d"]]),
        ("a <<E | b\nc | d\nE\ne", [["a"], ["b"], ["e"]]),
        ('a "b $(c d) e" `f`', [["a", "b $(…) e", "$(…)"], ["c", "d"], ["f"]]),
        ("a $'b\\'c' ${d} $((1 + 2))", [["a", "$'b\\'c'", "${d}", "$((1 + 2))"]]),
        ("f() { a; }; time -p ! f", [["a"], ["f"]]),
    ]
    found = [
        (text, [one.words for one in shell_strings.every(shell_strings.commands(text)) if not one.kind])
        for text, _ in rows
    ]
    assert found == rows
    assert all(shell_strings.read(text).unsure for text, _ in rows)


def test_a_backslash_in_double_quotes_is_itself_before_most_characters() -> None:
    text = r'''a "b\nc" "d\"e" "f\$g" "h\\i" "j\!" 'k\n' l\ m "n\
o" "p
q"'''
    words = ["a", "b\\nc", 'd"e', "f$g", "h\\i", "j\\!", "k\\n", "l m", "no", "p\nq"]
    assert shell_strings.commands(text)[0].words == words


def test_a_loop_has_the_commands_whose_output_it_runs_over() -> None:
    (loop,) = shell_strings.commands("for x in $(ls | sort); do echo $x; done")
    assert [one.name for one in loop.substituted] == ["ls", "sort"]
    assert [one.name for one in loop.inside] == ["echo"]


def test_a_long_string_is_read_whole_and_a_deep_one_not_at_all() -> None:
    assert shell_strings.read("$(" * 50_000).unsure and not shell_strings.read("f()" * 6_000).commands
    assert shell_strings.commands("a;" * 10_001) == []
    assert len(shell_strings.read("a;" * 60_000).commands) == 60_000
