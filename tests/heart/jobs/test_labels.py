"""Tags, and the names that lists show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive import limits
from outlive.core import labels
from outlive.errors import OutliveError
from outlive.jobs import programs


class TestTags:
    def test_a_tag_is_segments_joined_by_dots(self) -> None:
        for tag in ["a", "project.build", "A-1.b-2.c", "x" * limits.MAX_TAG_CHARS]:
            assert labels.check_tags([tag]) == [tag]

    def test_anything_else_is_refused(self) -> None:
        for tag in ["", ".", "a.", ".a", "a..b", "a b", "a_b", "a.*", "ä", "a\n", "x" * 129]:
            with pytest.raises(OutliveError) as caught:
                labels.check_tags([tag])
            assert caught.value.code == "invalid_tag"

    def test_a_repeated_tag_is_kept_once_in_its_first_place(self) -> None:
        assert labels.check_tags(["b", "a", "b"]) == ["b", "a"]

    def test_there_may_not_be_too_many(self) -> None:
        most = [f"t{number}" for number in range(limits.MAX_TAGS)]
        assert labels.check_tags([*most, most[0]]) == most
        with pytest.raises(OutliveError) as caught:
            labels.check_tags([*most, "one-more"])
        assert caught.value.code == "invalid_tag"

    def test_a_pattern_is_a_tag_or_everything_below_it(self) -> None:
        rows: list[tuple[str, str, bool]] = [
            ("a", "a", True),
            ("a", "a.b", False),
            ("a.*", "a", True),
            ("a.*", "a.b", True),
            ("a.*", "a.b.c", True),
            ("a.*", "ab", False),
            ("a.b.*", "a.c", False),
        ]
        for pattern, tag, fits in rows:
            assert labels.check_tag_pattern(pattern) == pattern
            assert labels.tag_matches(pattern, ["other", tag]) is fits

    def test_a_star_stands_at_the_end_only(self) -> None:
        for pattern in ["*", ".*", "a*", "a.*.b", "a.*.*", ""]:
            with pytest.raises(OutliveError) as caught:
                labels.check_tag_pattern(pattern)
            assert caught.value.code == "invalid_tag"


class TestNames:
    def test_a_job_is_called_as_a_person_would_call_it(self) -> None:
        rows: list[tuple[list[str], str]] = [
            (["npm", "run", "dev"], "npm run dev"),
            (["cd /tmp && cargo build --release x"], "cargo build"),
            (["set -e; export A=1\nnpm run build -- --watch"], "npm run build"),
            (["git commit -m 'a long message'"], "git commit"),
            (["cd /tmp"], "cd /tmp"),
            (["/usr/bin/python3", "-m", "http.server"], "python3 -m http.server"),
            (["pytest -q tests/unit"], "pytest tests/unit"),
            (["A=1 B='x y' make all"], "make all"), (["cd app && npm test"], "npm test"),
            (["sleep 5; echo done"], "sleep 5"), (["ls"], "ls"), (["ls -la"], "ls"), (["   "], "command"),
            ([""], "command"), (["echo 'two words'"], "echo two words"),
            (["cd app && make -k -j4 2>&1 | tail -40"], "make"),
            (["curl -s http://x/ > /dev/null; true"], "curl http://x/"),
            (["/venv/bin/python -m pytest -q test_a.py"], "python -m pytest test_a.py"),
            (["for i in 1 2; do make -C $i test; done"], "make $i test"),
            (["{ npm test | cat; }"], "npm test"),
            (["if [ -f Makefile ]; then make all; fi"], "make all"),
            (['bash -lc "cd app && npm test | tail"'], "npm test"),
            (["bash", "-c", "npm test | tail"], "npm test"),
            (["cat <<E | grep a\na | b\nE"], "cat"),
            (["! make all"], "make all"),
            (["echo 'not closed"], "echo 'not closed"),
            (["git -c user.name=a -c user.email=b commit -m x"], "git commit"),
            (["git", "-C", "../there", "--no-pager", "log", "--oneline"], "git log"),
            (["python3 -m venv ../pv && ../pv/bin/pip install x && ../pv/bin/pytest -q"], "pytest"),
            (["python3 -m venv ../pv"], "python3 -m venv ../pv"),
            (["python3 -X dev -m pytest tests"], "python3 -m pytest tests"),
            (["python3 -u -c 'print(1)'"], "python3 print(1)"),
            (["sed -i s/hi-1/hi/ calc.py; python3 -m pytest -q"], "python3 -m pytest"),
            (["rm -rf build && make all && rm -rf tmp; echo done"], "make all"),
            (["timeout 60 pytest -q tests"], "pytest tests"), (["sudo", "-u", "me", "systemctl", "restart", "x"], "systemctl restart x"),
            (["env A=1 npm test"], "npm test"), (["env", "A=1"], "env A=1"), (["timeout", "5"], "timeout 5"),
            (["kubectl -n prod get pods"], "kubectl get pods"), (["docker --context x compose up"], "docker compose up"),
            (["npm run dev & sleep 2; curl -s http://x/"], "curl http://x/"),
            (["(cd app && npm test)"], "npm test"),
            (["echo one; echo two"], "echo two"),
            (["cd a && (make; b"], "cd a && (make; b"), (["function f { make; }\nf"], "function f { make; } f"),
            (["curl -sS -o /dev/null -w '%{http_code}' http://x/y"], "curl http://x/y"), (["wget -O out http://x/"], "wget http://x/"),
            (["gcc -O2 -o prog main.c -lm"], "gcc main.c"), (["psql -U me -h box -c 'select 1'"], "psql select 1"),
            (["printf '\\033[2Kdone\\n'"], "printf done"), (["printf '\\x1b[?25l\\r'"], "printf"),
            (["cat >x <<'E'\n" + "line\n" * 1_000 + "E\nmake all"], "make all"),
        ]  # fmt: skip
        for command, name in rows:
            assert programs.name_of(command) == name

    def test_a_long_name_keeps_both_ends(self) -> None:
        name = programs.name_of(["cat", "a" * 100 + ".log"])
        assert len(name) <= limits.NAME_CHARS
        assert name.startswith("cat a") and name.endswith(".log")

    @given(st.lists(st.text(), min_size=1, max_size=4))
    def test_every_command_has_a_short_name_of_one_line(self, command: list[str]) -> None:
        name = programs.name_of(command)
        assert 0 < len(name) <= limits.NAME_CHARS
        assert "\n" not in name
