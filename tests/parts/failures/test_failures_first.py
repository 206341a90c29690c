"""What an answer shows of output that is longer than it may be: chosen lines, exact gaps, never more than fits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.answers.output import Shown
from outlive.core.records import AUTO, PLAIN
from outlive.parts.failures.lines import looked, middle, telling
from outlive.parts.failures.lines.chosen_lines import Lines
from outlive.parts.failures.lines.problem_matchers import checked
from outlive.render import ends, window
from outlive.render.sources import View
from outlive.store.output.merged import Output
from support.kept import Job, made

MARK = re.compile(r"^\[\.\.\. .* \.\.\.\]$")
MORE = re.compile(r" \[\.\.\. [\d,]+ more characters\]$| \(× [\d,]+\)$")


class Answer(NamedTuple):
    shown: Shown
    lines: list[str]  # of the output, without the lines that stand for gaps
    marks: list[str]


def answer(job: Job, max_bytes: int, *, since: int = 0, show: str = AUTO, failed: bool = False) -> Answer:
    with Output(job.dir) as output:
        view = View(max_bytes, show=show)
        shown = window.show(job.dir, output, since, output.end, view, more=False, failed=failed)
    lines = shown.output.split("\n")
    return Answer(shown, [one for one in lines if not MARK.match(one)], [one for one in lines if MARK.match(one)])


def of(place: Path, text: str, max_bytes: int = 4_096, show: str = AUTO, *, failed: bool = False) -> Answer:
    place.mkdir(exist_ok=True)
    with made(place, 0) as job:
        job.put(0, text.encode())
        return answer(job, max_bytes, show=show, failed=failed)


def steps(first: int, stop: int, word: str = "compiling unit") -> str:
    return "".join(f"{word} {number:05}\n" for number in range(first, stop))


def test_the_failure_in_the_middle_is_shown_with_what_stands_around_it(tmp_path: Path) -> None:
    error = "src/main.c:12:5: error: unknown type name 'foo'\n   12 |     foo x;\n      |     ^~~\n"
    text = steps(0, 2_000) + error + steps(2_000, 4_000) + "make: *** [all] Error 2\n"
    found = of(tmp_path, text)
    assert error in found.shown.output
    assert found.shown.output.startswith("compiling unit 00000\n")
    assert found.shown.output.endswith("make: *** [all] Error 2\n")
    assert "lines that report a failure" in found.marks[0]
    assert error not in of(tmp_path / "plain", text, show=PLAIN).shown.output


def test_what_fits_is_shown_as_ever(tmp_path: Path) -> None:
    text = steps(0, 100) + "error: x\n"
    for show in (AUTO, PLAIN):
        found = of(tmp_path / show, text, show=show)
        assert (found.shown.output, found.shown.truncated, found.marks) == (text, False, [])


def test_each_kind_of_line_is_shown_twice_with_how_often(tmp_path: Path) -> None:
    text = steps(0, 500) + "".join(f"error: cannot open /tmp/x{number}\n" for number in range(300)) + steps(500, 900)
    errors = [line for line in of(tmp_path, text).lines if line.startswith("error:")]
    assert [line[-8:] for line in errors] == [" (× 300)", " /tmp/x1"]


def test_lines_of_many_kinds_come_before_more_of_one(tmp_path: Path) -> None:
    words = [f"{one}{two}" for one in "ghijklmnop" for two in "ghijklmnop"]
    rare = [f"the unit {word} was looked at, and all is well" for word in words]
    text = "\n".join([*rare, *(f"request {number} done" for number in range(900)), "main.c:3: error: x"])
    found = of(tmp_path, text)
    assert sum(line.startswith("request") for line in found.lines) <= 4  # at the end and around the failure
    assert len(set(rare) & set(found.lines)) > 60
    alike = of(tmp_path / "alike", steps(0, 2_000))
    assert len(alike.lines) > 100, "rows of one kind are all there is to see"


@pytest.mark.parametrize("room", [512, 768])
def test_little_room_still_shows_the_failure(tmp_path: Path, room: int) -> None:
    error = "src/main.c:12:5: error: unknown type name 'foo'\n"
    found = of(tmp_path, steps(0, 500) + error + steps(500, 1_000), room)
    assert error in found.shown.output
    assert len(found.shown.output) <= room


def test_failed_tests_with_numbers_in_their_names_do_not_hide_each_other(tmp_path: Path) -> None:
    names = "".join(
        f"FAILED tests/test_a.py::test_{number} - assert {number} == 0 in 0.{number}s\n" for number in (7, 12, 31)
    )
    found = of(tmp_path, steps(0, 900) + names + steps(900, 2_000))
    assert names in found.shown.output


def test_a_failure_with_a_very_long_number_takes_no_time(tmp_path: Path) -> None:
    number = "1" * 500_000
    rows = [f"a_test.go:{at}: got {number}{at} in 0.{at}s at 12:00:0{at}" for at in (1, 1, 2)]
    lines = Lines("\n".join(rows).encode())
    assert lines.exact_kind(0) == lines.exact_kind(1) != lines.exact_kind(2)
    assert of(tmp_path, steps(0, 2_000) + rows[0] + "\nend\n").shown.output.endswith("end\n")


def test_a_rare_failure_comes_before_common_ones(tmp_path: Path) -> None:
    noise = "".join(
        f"error: part {chr(103 + number % 16)}{chr(103 + number // 16)} of the cache is stale\n"
        for number in range(250)
    )
    found = of(tmp_path, steps(0, 400) + noise + "panic: nil map\n" + noise + steps(400, 900))
    assert "panic: nil map" in found.lines


def test_long_lines_are_shortened_and_say_by_how_much(tmp_path: Path) -> None:
    found = of(tmp_path, steps(0, 900) + "error: " + "x" * 5_000 + "\n" + steps(900, 1_800))
    (line,) = [one for one in found.lines if one.startswith("error:")]
    assert line == "error: " + "x" * 393 + " [... 4,607 more characters]"


def test_output_of_one_endless_line_is_shown_plain(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        job.put(0, b"x" * 3_000_000)
        assert answer(job, 4_096).shown.output == answer(job, 4_096, show=PLAIN).shown.output


def test_escape_sequences_and_overwritten_progress_hide_no_failure(tmp_path: Path) -> None:
    progress = "".join(f"\r{number} %" for number in range(100))
    text = steps(0, 900) + f"{progress}\r\x1b[31merror\x1b[0m: broken\r\n" + steps(900, 1_800)
    assert "error: broken" in of(tmp_path, text).lines


def test_a_matcher_of_the_configuration_counts_like_those_built_in(tmp_path: Path) -> None:
    many = "".join(f"{chr(103 + number % 20)}{chr(103 + number // 20)} is built\n" for number in range(400))
    text = many + "KABOOM in sector 7\n" + many
    assert "KABOOM in sector 7" not in of(tmp_path / "without", text).lines
    added = (checked({"owner": "ours", "pattern": [{"regexp": "^KABOOM"}]}, "m"),)
    with made(tmp_path, 0) as job:
        job.put(0, text.encode())
        with Output(job.dir) as output:
            shown = window.show(job.dir, output, 0, output.end, View(4_096, show=AUTO, matchers=added), more=False)
            assert telling.reported(output, added) == "KABOOM in sector 7"
    assert "KABOOM in sector 7\n" in shown.output


def test_the_line_that_says_why_may_stand_far_before_the_end(tmp_path: Path) -> None:
    """As that of `make -k`, which goes on behind an error."""
    text = "f97.c:3:31: error: no member\n" + steps(0, 5_000) + "make: Target 'all' not remade because of errors.\n"
    assert 65_536 < len(text) < 300_000
    with made(tmp_path, 0) as job:
        job.put(0, text.encode())
        with Output(job.dir) as output:
            assert telling.reported(output, ()) == "f97.c:3:31: error: no member"


def test_of_a_very_long_log_the_ends_are_searched_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looked, "HEAD_BYTES", 16_384)
    monkeypatch.setattr(looked, "TAIL_BYTES", 32_768)
    text = "error: early\n" + steps(0, 5_000) + "error: unseen\n" + steps(0, 5_000) + "error: late\n" + steps(0, 500)
    found = of(tmp_path, text)
    assert "searched: the first 16 KiB and the last" in found.marks[0]
    assert {"error: early", "error: late"} <= set(found.lines)
    assert "error: unseen" not in found.lines
    check(text.encode(), found)


TRACEBACK = (
    'Traceback (most recent call last):\n  File "a.py", line 7, in run\n    load(x)\nValueError: no such epoch: 7\n'
)


def ends_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked, "HEAD_BYTES", 16_384)
    monkeypatch.setattr(looked, "TAIL_BYTES", 32_768)
    monkeypatch.setattr(middle, "_CHUNK_BYTES", 20_000)


@pytest.mark.parametrize("before", [0, 900, 907, 4_000, 7_999])
def test_of_a_command_that_failed_all_of_a_very_long_log_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    ends_only(monkeypatch)
    text = steps(0, 1_500) + steps(0, before) + TRACEBACK + steps(before, 9_000)
    found = of(tmp_path, text, 8_192, failed=True)
    assert TRACEBACK in found.shown.output
    assert "(2 in all)" in found.marks[0]
    assert "log search=…" in found.marks[0]
    assert "searched:" not in found.marks[0]
    assert len(found.lines) < 50, "no more of the end than a little: nothing speaks for it"
    check(text.encode(), found)


def test_lines_that_may_mean_a_failure_are_found_there_if_they_are_rare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends_only(monkeypatch)
    retried = "".join(f"retry {number}: not found yet\n{steps(number, number + 10)}" for number in range(400))
    text = steps(0, 1_500) + retried + "connection refused by peer\n" + retried + steps(0, 3_000)
    found = of(tmp_path, text, 8_192, failed=True)
    assert "connection refused by peer" in found.lines
    assert sum(line.startswith("retry") for line in found.lines) < 20
    check(text.encode(), found)


def test_how_often_a_failure_comes_counts_all_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_only(monkeypatch)
    text = (
        steps(0, 1_500) + "".join(f"error: cannot open /tmp/x{n}\n{steps(0, 30)}" for n in range(300)) + steps(0, 3_000)
    )
    found = of(tmp_path, text, 8_192, failed=True)
    assert "error: cannot open /tmp/x0 (× 300)" in found.lines
    assert "(300 in all)" in found.marks[0]
    check(text.encode(), found)


def test_a_search_whose_time_is_up_says_how_far_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_only(monkeypatch)
    monkeypatch.setattr(middle, "MOST_S", 0)
    found = of(tmp_path, steps(0, 5_000) + TRACEBACK + steps(0, 5_000), 8_192, failed=True)
    assert "searched: the first 35.52 KiB and the last 32 KiB" in found.marks[0]
    assert "ValueError: no such epoch: 7" not in found.lines


def test_lines_longer_than_a_piece_hide_no_failure_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_only(monkeypatch)
    text = steps(0, 1_500) + "x" * 90_000 + "\n" + TRACEBACK + "y" * 50_000 + "\n" + steps(0, 3_000)
    found = of(tmp_path, text, 8_192, failed=True)
    assert TRACEBACK in found.shown.output
    check(text.encode(), found)


def test_of_a_failed_command_few_lines_of_one_kind_are_shown(tmp_path: Path) -> None:
    found = of(tmp_path, steps(0, 2_000), 8_192, failed=True)
    assert found.shown.output.endswith(steps(1_985, 2_000))
    assert len(found.lines) < 25


def check(written: bytes, found: Answer) -> None:
    """Check that what is shown and the gaps together are the whole output, and that each gap is exact."""
    cut = found.shown.truncated
    assert cut is not False
    gaps = cut.gaps or []
    assert (cut.from_seq, cut.to_seq) == (gaps[0].from_seq, gaps[-1].to_seq)
    assert len(found.marks) == len(gaps)
    at, expected, left_out = 0, [], 0
    for gap, mark in zip(gaps, found.marks, strict=True):
        assert at <= gap.from_seq < gap.to_seq <= len(written)
        assert f"since_seq={gap.from_seq} " in mark, "the call that shows it"
        assert gap.lines == written.count(b"\n", gap.from_seq, gap.to_seq)
        assert written[gap.to_seq - 1 : gap.to_seq] == b"\n", "gaps end between lines"
        expected.append(written[at : gap.from_seq])
        left_out += gap.to_seq - gap.from_seq
        at = gap.to_seq
    expected.append(written[at:])
    assert cut.bytes == left_out
    shown = "\n".join(found.lines).encode()
    whole = b"".join(expected)
    for line, real in zip(shown.split(b"\n"), whole.split(b"\n"), strict=True):
        text = line.decode()
        while MORE.search(text):
            text = MORE.sub("", text)
        assert real.decode().startswith(text)
        assert text == real.decode() or len(text) == 400


WORDS = st.sampled_from(
    ["error: a", "error: b 1", "error: b 2", "ok", "x" * 500, "", "  File \"a.py\", line 3", "FAILED t.py::test_1", "warning: odd",
     "compiling 1", "compiling 2", "compiling 3", "done", "make: *** [x] Error 1", "könnte"]
)  # fmt: skip


@given(st.lists(WORDS, min_size=300, max_size=900), st.sampled_from([1_024, 2_000, 4_096]))
def test_what_is_shown_and_the_gaps_are_the_whole_output(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], max_bytes: int
) -> None:
    text = "\n".join(lines) + "\n"
    with made(tmp_path_factory.getbasetemp(), 0) as job:
        job.put(0, text.encode())
        found = answer(job, max_bytes)
        plain = answer(job, max_bytes, show=PLAIN)
    assert len(found.shown.output.encode()) <= max_bytes
    if found.shown.truncated is False or found.shown.truncated.gaps is None:
        assert found.shown.output == plain.shown.output
    else:
        check(text.encode(), found)


def test_behind_a_gap_of_the_quota_the_failure_is_still_found(tmp_path: Path) -> None:
    with made(tmp_path, 65_536) as job:
        job.put(0, (steps(0, 20_000) + "error: late\n" + steps(0, 300)).encode())
        found = answer(job, 2_048)
    assert "error: late" in found.lines
    assert any("are gone" in mark for mark in found.marks)
    assert found.shown.gaps is not None


def test_lines_of_both_streams_keep_the_order_of_arrival(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        for number in range(600):
            job.put(number % 2, f"step {number}\n".encode())
            if number == 300:
                job.put(1, b"error: to stderr\n")
        found = answer(job, 2_048)
    at = found.lines.index("error: to stderr")
    assert (found.lines[at - 1], found.lines[at + 1]) == ("step 300", "step 301")
    numbers = [int(line[5:]) for line in found.lines if line.startswith("step")]
    assert numbers == sorted(numbers)


def test_the_telling_line_is_that_of_a_tool_and_else_the_last(tmp_path: Path) -> None:
    text = steps(0, 50) + "FAILED a.py::test_b - assert 1 == 2\nmake: *** [t] Error 1\nbye\n"
    for name, written, line in (("a", text, "FAILED a.py::test_b - assert 1 == 2"), ("b", "one\ntwo\n\n", "two")):
        (tmp_path / name).mkdir()
        with made(tmp_path / name, 0) as job:
            job.put(0, written.encode())
            with Output(job.dir) as output:
                assert (telling.reported(output, ()) or ends.last_line(output)) == line
