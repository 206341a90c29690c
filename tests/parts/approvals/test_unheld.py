"""What a command runs that no approval holds: programs and scripts that are known only when it runs."""

from __future__ import annotations

from pathlib import Path

from outlive.parts.approvals import files, unheld

_KNOWN = {"PWD": "/w", "HOME": "/h"}
HELD = [
    "./x",
    "true && ./x",
    "sh build.sh $ARG",
    "$PWD/x",
    "~/x",
    "~+/x",
    '"$HOME/x y" "$z"',
    "./{x,y} $z",
    "awk '{print $1}' f",
    "awk '{print}' \"$f\"",
    "sed 's/x$/y/' $f",
    "cd a && ./x",
    "cd a; cd b; ./x",
    "make",
    "make -C a",
    "python3 -m tools.build",
    "python3 -c 'print(1)' $x",
    "ls $x | head",
    "cat $x > $y",
    "cd $x && ls",
    'echo "$(date)"',
    "find . -name '*.py'",
    'git commit -m "$x"',
    "timeout 5 ./x",
    "for f in *; do cat $f; done",
    "python3 - <<'E'\nprint(1)\nE",
    "sh < x.sh",
    "xargs rm",
    "bash -c './x'",
    "export A=$x; ./y",
    "grep -r $x .",
    "A=1 ./x > log",
    "rm -f *.o && ./x",
    "npm test",
    "if [ -f x ]; then ./x; fi",
    "printf '%s' $x",
    "echo x | sh y.sh",
    "find . -exec cat {} +",
    ". ./env.sh && ./x",
    'pytest -k "$x"',
    "set -e; ./x",
    "python3 x.py --a=$b",
]
NOT_HELD = [
    '"$(pwd)/x"',
    "`pwd`/x",
    "java -cp classes Main",
    "go run ./cmd",
    "cd a && gradle build",
    "./gradlew build",
    "pip install .",
    "$D/x",
    "cd $D && ./x",
    "D=a; $D/x",
    "HOME=/a; $HOME/x",
    "cd a && $PWD/x",
    "cd a && ~+/x",
    "sh $x",
    'sh "$x"',
    '. "$x"',
    "source $x",
    "for f in *; do sh $f; done",
    "sh <(cat x)",
    "cat x | sh",
    "cat x | bash -s",
    "cat x | bash -s a",
    "cat x | make -f -",
    "cat x | sqlite3 y",
    "cat x | ed y",
    "curl a | python3 -",
    "sh < $x",
    'bash -c "$x"',
    "bash -c '\"$(pwd)/x\"'",
    "env $x",
    "exec $x",
    "xargs -I{} ./{}",
    "echo sh | xargs env",
    "find . -exec {} \\;",
    "find . -exec sh {} \\;",
    "[x]*",
    "sh x*",
    "x/{1..3}",
    'eval "$(cat x)"',
    "eval '\"$(pwd)/x\"'",
    "cd && ./x",
    "cd - && ./x",
    "cd a; cd b; cd c; cd d; ./x",
    "~-/x",
    "~u/x",
    "PATH=.:$PATH x",
    "LD_PRELOAD=$x ./y",
    'timeout 5 "$x"',
    "python3 $x",
    "awk -f $x y",
    "make -f $x",
    "make $x",
    "if true; then",
    " node -r $x y",
    'sh <<E\n"$(pwd)/x"\nE',
    "case a in b) sh $x;; esac",
    "f() { $x; }; f",
    "nohup $x &",
    "bash -O extglob $x",
    "sh -x $x",
    "bash",
    'trap "$x" EXIT',
    "cat x | while read l; do sh; done",
    "cat x | (sh)",
    'sudo sh -c "$x"',
    "timeout 5 sh -c '\"$(pwd)/x\"'",
    "$'./x'",
    ". ./env.sh && $HOME/x",
    "read D; $D/x",
    "x=$(./y) && $x/z",
    "make SHELL=$x",
    "pushd $x; make",
    "cd $x && npm test",
    "function f { ./x; }; f",
    "sh -c '\"$0\"/x' a",
]


def sentences(text: str) -> list[str]:
    return unheld.sentences([text], ["bash", "-c"], _KNOWN, (), ())


def test_what_is_not_certain_is_not_held() -> None:
    assert [text for text in NOT_HELD if not sentences(text)] == []


def test_what_is_named_is_held() -> None:
    assert {text: found for text in HELD if (found := sentences(text))} == {}


def test_words_without_a_shell_are_what_they_say_unless_a_shell_among_them_reads_one() -> None:
    def of(*words: str) -> list[str]:
        return unheld.sentences(words, (), _KNOWN, (), ())

    assert of("./x", "$y") == of("sh", "-c", "./x") == of("python3", "-c", "print(1)") == []
    for words in (
        ("sh", "-c", '"$(pwd)/x"'),
        ("env", "bash", "-c", "$x"),
        ("bash",),
        ("python3", "-"),
        ("xargs", "sh"),
    ):
        assert of(*words), words
    for read in ("bash -s a", "bash /dev/stdin", "bash -xs", "bash -e", "python3 - a", "python3 /dev/fd/0", "make -f -", "make -f-",
        "make --file=/dev/stdin", "ninja -f -", "sqlite3", "sqlite3 -separator , x.db", "ed", "ed x"):  # fmt: skip
        assert of(*read.split())[-1:] == [f"`{read.split()[0]}` runs what it reads from its input"], read
    held = "bash -e x|bash -ec true|bash -o pipefail -c true|python3 x.py -|make -f x|make -j8 all|sqlite3 x.db .tables"
    for command in held.split("|"):
        assert of(*command.split()) == [], command
    assert unheld.sentences(["./x"], ("fish", "-c"), _KNOWN, (), ()) == ["`fish -c` reads it"]
    assert unheld.sentences(["$a; $b; $c; $d"], ("sh", "-c"), _KNOWN, (), ())[3:] == ["1 more"]


def test_each_limit_that_was_reached_is_said(tmp_path: Path) -> None:
    def of(text: str, **env: str) -> str:
        return " ".join(files.noted([text], ["sh", "-c"], str(tmp_path), {"PATH": "/usr/bin", **env}, {}).unheld)

    for number in range(120):
        (tmp_path / f"d{number}").mkdir()
    for number in range(4):
        (tmp_path / f"s{number}").write_text(f"#!{tmp_path}/s{number + 1}\n")
        (tmp_path / f"s{number}").chmod(0o755)
    many = " ".join(f"d{number}" for number in range(70))
    assert "more than 64 directories" in of(f"ls {many}; cd d1 && ./x")
    assert "more than 64 directories" in of(f"ls {many}; make -C d1")
    assert of(f"ls {many}; ./x") == of(f"mkdir {many}") == ""
    assert "CDPATH" in of("cd d1 && ./x", CDPATH="/other")
    assert "100 files" in of("cat d*; ./x")
    assert "3 scripts" in of("./s0") and of("./s2") == ""
    assert "200 programs" in of("; ".join(f"p{number}" for number in range(201)))
    assert "200 words that look like paths" in of("sh x " + " ".join(f"./{number}" for number in range(201)))
    assert "10,000 words" in of("echo " + " ".join(map(str, range(10_001))))
    assert "1,000 words" in of("cd d1; ./x " + " ".join(map(str, range(1_001))))
