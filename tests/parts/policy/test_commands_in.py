"""What a shell string is split into, and what is left alone because a shell might read it otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.parts.policy import commands_in, system_files
from outlive.parts.policy.programs import runners

SH = ["sh", "-c"]


def read(text: str) -> list[list[str]]:
    """The words of each command; fails for a string that is not split."""
    found = commands_in.commands([text], SH)
    assert not [one.unread for one in found if one.unread], [one.unread for one in found]
    return [one.argv for one in found]


def test_plain_words_and_simple_quotes_are_split() -> None:
    rows: list[tuple[str, list[list[str]]]] = [
        ("git push", [["git", "push"]]),
        ("a && b || c; d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a &&\n b", [["a"], ["b"]]),
        ("\n a ;\n\n b;\n", [["a"], ["b"]]),
        ("echo 'a $b' \"c d\" e'f'g", [["echo", "a $b", "c d", "efg"]]),
        ("make 2>&1 | tail -n 5", [["make"], ["tail", "-n", "5"]]),
        ("make >/dev/null 2>&1 </dev/null&&a", [["make"], ["a"]]),
        ("git show HEAD~1 a#b x --pretty=z", [["git", "show", "HEAD~1", "a#b", "x", "--pretty=z"]]),
        ("[ -f x ] && y", [["[", "-f", "x", "]"], ["y"]]),
        ("ls *.py", [["ls", "*.py"]]),
        ("printf %s ü", [["printf", "%s", "ü"]]),
        ("bash build.sh -c", [["bash", "build.sh", "-c"]]),
    ]
    for text, wanted in rows:
        assert read(text) == wanted


def test_the_words_of_a_call_are_looked_at_once_however_many_they_are() -> None:
    for word in ("-a", "-a config"):
        words = ["git", "log", *f"{word} ".split() * 200_000, "--cc"]
        assert runners.runs_another(words) is None
        assert runners.places(["git", *words[2:]])[-1] == len(words) - 2
        assert runners.places(["git", *words[2:]], range(1, len(words)))[-1] == len(words) - 2
    for script in (" \n" * 20_000 + "!", "s/" + "[]" * 40_000, "[" * 80_000, "1," * 40_000):
        assert runners.runs_another(["sed", script]) is not None


UNREAD = [
    *("", "\n", "a &", "a &&", "; a", "a;;b", "a |& b", "a | | b", "a\n| b", "a && ; b"),
    *("echo $x", 'echo "$x"', "echo `id`", 'echo "`id`"', "echo $(id)", "a\\b", 'echo "\\$"', "$'a'", "<(a)"),
    *("a > out", "a >> out", "a < in", "a 2> err", "a >/dev/nullx", "a 10>&1", "a2>&1", "'2'>&1", "a >&x", "a >&-"),
    *("a &> /dev/null", "cat << EOF\nx\nEOF", ">/dev/null", "a | >/dev/null", "a >/dev/tcp/h/1"),
    *(
        "A=1 make", "=ls", "echo =ls", "echo ~", "echo a=~/b", "{a,b}", "a{b,c}", "(a)", "a()", "# a", "a #b",
        "echo '",
    ),
    *("if a; then b; fi", "! a", "time a", "while a", "[[ -v x ]]", "for", "g?t push", "'' a", "%1", "-c a", "+x"),
    *("export PATH=/tmp; git push", "alias git=rm; git x", ". x", "source x", "eval a", "exec a", "command a"),
    *("printf -v x y", "test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "read PATH", "unset x", "echo \x00", "a\rb"),
    "echo\u00a0a",
]  # fmt: skip


def test_everything_else_is_one_unknown_command() -> None:
    found = {text: [(bool(one.unread), one.argv) for one in commands_in.commands([text], SH)] for text in UNREAD}
    assert found == {text: [(True, [text])] for text in UNREAD}


RUNNERS = ["sudo ls", "env ls", "/usr/bin/env ls", "xargs rm", "nohup a", "timeout 5 a", "bash -c a", "sh", "zsh +x a",
 "find . -exec rm x +", "watch a", "fish -c a", "rbash -c a", "setarch -R a", "linux32 a", "x86_64 a", "uname26 a",
 "prlimit --core=0 a", "/lib64/ld-linux-x86-64.so.2 a", "ld.so a", "sg staff a", "newgrp staff", "run-parts d",
 "script -c a", "flock f a", "ssh h a", "env -S a", "qemu-x86_64 a", "parallel a", "expect -c a", "busybox sh",
 "tar xIf a b", "tar -xf b --to-command=a", "tar --to-com a", "tar cf x --checkpoint-action=exec=a", "rsync -ave a b c",
 "scp -o ProxyCommand=a b c:", "sort --compress-prog=a f", "split --filter a f", "man -P a b", "apt-get -o a=b update",
 "git -c alias.x=!a x", "git -calias.x=!a x", "git -C d -c a=b x", "git clone --upload-pack=a b", "git clone -u a b",
 "git ls-remote --upload-p a b", "git rebase -x a b", "git grep -Oa b", "git bisect run a", "git submodule foreach a",
 "git fetch ext::a", "git config alias.x !a", "npm exec a", "npx a", "uv run a", "docker -H h exec c a",
 "kubectl -n n exec p a", "ip netns exec n a", "go test -exec a ./...", "gcc -wrapper a b.c"]  # fmt: skip


def test_a_program_that_runs_another_one_is_unknown_as_words_too() -> None:
    for words in RUNNERS:
        argv = words.split()
        (found,) = commands_in.commands(argv, None)
        assert (bool(found.unread), found.argv) == (True, argv)
        first, second = commands_in.commands([f"git status && {words}"], SH)
        assert (first.unread, bool(second.unread), second.argv) == (None, True, argv)


EVERYDAY = ["git push -u origin main", "git switch -c x", "git clean -fdx", "git add -u", "git commit -c x", "git log -p",
 "git config --get user.name", "git --no-pager diff", "tar xzf a", "tar -czf a b", "rsync -a b c", "find . -name x",
 "npm install x", "npm run build", "docker ps", "go test ./...", "gcc -O2 a.c", "sort -u a", "man ls", "kill %1"]  # fmt: skip


def test_the_everyday_use_of_such_a_program_is_known() -> None:
    for words in EVERYDAY:
        for argv, shell in ((words.split(), None), ([words], SH)):
            (found,) = commands_in.commands(argv, shell)
            assert found.unread is None, words


def test_a_builtin_that_runs_what_is_in_its_words_is_unknown() -> None:
    rows: list[str] = ["jobs -x id", "compgen -C id", "compgen -F f", "complete -C id x", "[ 'a[$(id)]' -eq 1 ]", "printf %d 'a[`id`]'",
     "exit 'a[$(id)]'", "zstyle -e x y id", "zpty x id", "private 'x[$(i\"\"d)]'", "zregexparse p m '' '{i\"\"d}'",
     "zformat -f 'x[$(id)]' %a a:b", "zparseopts -a 'x[$(id)]' a", "getln 'x[`id`]'", "unknown_builtin 'x[${(e)y}]'"]  # fmt: skip
    for text in rows:
        (found,) = commands_in.commands([text], SH)
        assert found.unread


def test_a_string_for_another_shell_is_unknown() -> None:
    for shell in [["python3", "-c"], ["bash"], ["bash", "-i", "-c"], ["bash", "x", "-c"], ["fish", "-c"]]:
        (found,) = commands_in.commands(["git push"], shell)
        assert found.unread


def test_a_word_for_names_of_files_is_marked_and_a_change_of_directory_too() -> None:
    first, second, third = commands_in.commands(["ls a *.py ["], SH) + commands_in.commands(["cd x; make"], SH)
    assert first.globs == {2}
    assert (second.moved, third.moved) == (False, True)


# --- shells are known by where they are ----------------------------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A directory with a program that is called bash."""
    (tmp_path / "bash").write_text("#!/bin/sh\ntouch /tmp/evil\n")
    (tmp_path / "bash").chmod(0o755)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "bash").symlink_to("/bin/bash")
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "path"),
    [("{}/bash", "/usr/bin:/bin"), ("bash", "{}:/usr/bin:/bin"), ("bash", "relative:/usr/bin"), ("./bash", "/usr/bin"),
     ("{}/link/bash", "/bin"), ("/usr/bin/../../{}/bash", "/bin"), ("/bin/no-such-place/bash", "/bin"), ("bash", "/nowhere")],
)  # fmt: skip
def test_a_program_that_is_only_called_like_a_shell_may_run_anything(foreign: Path, shell: str, path: str) -> None:
    found = commands_in.commands(["git status && rm x"], [shell.format(foreign), "-c"], path.format(foreign))
    assert [one.argv for one in found] == [
        [shell.format(foreign), "-c", "git status && rm x"],
        ["git", "status"],
        ["rm", "x"],
    ]
    assert all("is no shell of the system" in str(one.unread) for one in found)


@pytest.mark.parametrize("shell", ["sh", "bash", "/bin/sh", "/usr/bin/bash", "/bin/../bin/bash"])
def test_a_shell_of_the_system_is_one(foreign: Path, shell: str) -> None:
    (found,) = commands_in.commands(["git status"], [shell, "-c"], f"/usr/bin:/bin:{foreign}")
    assert found.unread is None


def test_a_shell_that_others_may_replace_is_none(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_files, "_PLACES", frozenset({str(foreign)}))
    assert not system_files.is_shell("bash", str(foreign)) or os.geteuid() == 0
    foreign.chmod(0o777)
    assert not system_files.is_shell("bash", str(foreign))
