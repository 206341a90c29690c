"""Reading what a job put out: by position, by line, by search, its end; bounded, exact, and never drained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.commands import PUT, python
from support.tiers import only
from support.wait import until


def _job(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", *words)["job_id"]
    return job


def _put(cli: Cli, data: bytes) -> str:
    """A finished job whose stdout is exactly this."""
    return _job(cli, *python(f"import os; os.write(1, {data!r})"))


def _lines(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


# --- poll ----------------------------------------------------------------------------------------------------------


def test_poll_starts_at_the_beginning_goes_on_from_a_cursor_and_drains_nothing(cli: Cli) -> None:
    job = _put(cli, b"one\ntwo\n")
    for _ in range(2):
        found = cli.ok("poll", job)
        assert (found["output"], found["since_seq"], found["next_seq"]) == ("one\ntwo\n", 0, 8)
    found = cli.ok("poll", job, "--since-seq", "4")
    assert (found["output"], found["since_seq"], found["next_seq"]) == ("two\n", 4, 8)
    found = cli.ok("poll", job, "--since-seq", "8")
    assert (found["output"], found["next_seq"], found["snippet"]) == ("", 8, "one\ntwo\n")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 0, "exit")
    assert found["retry_after_ms"] is None


@pytest.mark.parametrize("size", only(lambda size: size == 4, [4, 9]))
def test_reading_on_from_cursor_to_cursor_gives_the_exact_text(cli: Cli, size: int) -> None:
    data = "äöü €uro 😀\nplain\n".encode()
    job = _put(cli, data)
    at, read = 0, ""
    while at < len(data):
        found = cli.ok("log", job, "--since-seq", str(at), "--max-bytes", str(size), "--raw")
        assert found["since_seq"] == at
        assert at < found["next_seq"] <= at + size
        read, at = read + found["output"], found["next_seq"]
    assert read == data.decode()


@pytest.mark.fault("F72")
def test_reading_while_it_writes_gives_every_byte_once(cli: Cli) -> None:
    code = PUT + "for i in range(40):\n    put(1 + i % 2, b'line %d \\xe2\\x82' % i); put(1 + i % 2, b'\\xac\\n')"
    job = cli.ok("run", "--snapshot-after", "0", *python(code))["job_id"]
    read, at = "", 0
    while True:
        found = cli.ok("poll", job, "--since-seq", str(at), "--timeout-ms", "50s", "--raw")
        assert found["since_seq"] == at
        read, at = read + found["output"], found["next_seq"]
        if found["state"] != "running":
            break
    assert read == "".join(f"line {i} €\n" for i in range(40))
    assert cli.ok("poll", job)["output"] == read


def test_poll_waits_for_output_when_asked(cli: Cli, jobs: Jobs, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "until [ -e go ]; do sleep 0.1; done; echo went; sleep 60")["job_id"]
    found = cli.ok("poll", job, "--timeout-ms", "50")
    assert (found["output"], found["state"]) == ("", "running")
    assert found["retry_after_ms"] >= 1000
    with cli.spawn("poll", job, "--timeout-ms", "50s") as call:
        (work / "go").touch()
        stdout, _ = call.communicate(timeout=60)
    assert b'"output":"went\\n"' in stdout
    jobs.end()


def test_poll_of_a_quiet_job_waits_for_its_end_at_most(cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep 0.2; exit 3")["job_id"]
    found = cli.ok("poll", job, "--timeout-ms", "50s")
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 3, "")


def test_a_character_that_never_comes_to_its_end_is_shown_as_one_replacement(cli: Cli) -> None:
    found = cli.ok("poll", _put(cli, b"ab\xe2\x82"))
    assert (found["output"], found["next_seq"]) == ("ab\ufffd", 4)


def test_a_created_job_has_no_output(cli: Cli) -> None:
    job = cli.ok("create", "true")["job_id"]
    assert cli.ok("poll", job)["output"] == ""
    assert cli.ok("log", job)["total_lines"] == 0
    assert cli.ok("tail", job)["stdout_tail"] == ""


# --- bytes ---------------------------------------------------------------------------------------------------------


@pytest.mark.fault("F68")
def test_bytes_are_kept_as_they_came_and_shown_as_text(cli: Cli) -> None:
    data = bytes(range(256)) * 4
    found = cli.ok("run", *python(f"import os; os.write(1, {data!r})"))
    assert Path(found["stdout_log_path"]).read_bytes() == data
    tail = cli.ok("tail", found["job_id"], "--tail-lines", "1000")
    assert tail["stdout_tail"] == data.decode("utf-8", "replace")
    assert (tail["stdout_observed_bytes"], tail["stdout_included_bytes"], tail["truncated"]) == (1024, 1024, False)
    assert cli.ok("poll", found["job_id"], "--raw")["output"] == data.decode("utf-8", "replace")


def test_a_megabyte_comes_through_whole(cli: Cli) -> None:
    found = cli.ok("run", "seq 200000; seq 1000 >&2")
    assert Path(found["stdout_log_path"]).read_text() == _lines(1, 200000)
    assert Path(found["stderr_log_path"]).read_text() == _lines(1, 1000)
    assert found["next_seq"] == len(_lines(1, 200000)) + len(_lines(1, 1000))


# --- rendering -----------------------------------------------------------------------------------------------------

RENDERED = [
    (b"\x1b[31mred\x1b[0m plain\n", "red plain\n"),
    (b"10%\r20%\r100%\ndone\n", "100%\ndone\n"),
    (b"abc\b\bX\n", "aXc\n"),
    (b"one\r\ntwo\r\n", "one\ntwo\n"),
    (b"\x1b]0;title\x07text\n", "text\n"),
    (b"working\r\x1b[Kdone\n", "done\n"),
    (b"tab\there\n", "tab\there\n"),
]


def test_output_is_rendered_for_reading_unless_raw(cli: Cli) -> None:
    data = b"".join(given for given, _ in RENDERED)
    shown = "".join(expected for _, expected in RENDERED)
    answer = cli.ok("run", *python(f"import os; os.write(1, {data!r})"))
    job = answer["job_id"]
    for found in (answer, cli.ok("poll", job), cli.ok("log", job), cli.ok("wait", job)):
        assert found["output"] == shown
        assert found["next_seq"] == len(data)
    for verb in ("poll", "log", "wait"):
        assert cli.ok(verb, job, "--raw")["output"] == data.decode()
    assert cli.ok("run", "--raw", "printf 'a\\rb\\n'")["output"] == "a\rb\n"
    assert cli.ok("tail", job)["stdout_tail"] == data.decode()
    assert answer["snapshot"]["stdout_tail"] == data.decode()
    assert cli.ok("list")["jobs"][-1]["last_line"] == "tab\there"


# --- tail ----------------------------------------------------------------------------------------------------------


def test_a_tail_is_exact_text_with_its_final_newline_or_without_one(cli: Cli) -> None:
    ended, open_end = _put(cli, b"1\n2\n\n3\n"), _put(cli, b"1\n2\n\n3")
    for job, end in ((ended, "3\n"), (open_end, "3")):
        assert cli.ok("tail", job)["stdout_tail"] == f"1\n2\n\n{end}"
        assert cli.ok("tail", job, "--tail-lines", "1")["stdout_tail"] == end
        assert cli.ok("tail", job, "--tail-lines", "2")["stdout_tail"] == f"\n{end}"
        found = cli.ok("tail", job, "--tail-lines", "3")
        assert (found["stdout_tail"], found["truncated"]) == (f"2\n\n{end}", True)
        found = cli.ok("tail", job, "--tail-lines", "4")
        assert (found["stdout_tail"], found["truncated"]) == (f"1\n2\n\n{end}", False)
    found = cli.ok("tail", ended, "--tail-lines", "0")
    assert (found["stdout_tail"], found["stdout_included_bytes"], found["truncated"]) == ("", 0, True)


def test_a_tail_has_both_streams_or_the_one_that_is_asked_for_and_counts_their_bytes(cli: Cli) -> None:
    job = _job(cli, "seq 100; seq 5 >&2")
    found = cli.ok("tail", job, "--tail-lines", "3")
    assert (found["stdout_tail"], found["stderr_tail"]) == ("98\n99\n100\n", "3\n4\n5\n")
    assert (found["stdout_observed_bytes"], found["stdout_included_bytes"]) == (292, 10)
    assert (found["stderr_observed_bytes"], found["stderr_included_bytes"]) == (10, 6)
    assert found["encoding"] == "utf-8"
    found = cli.ok("tail", job, "--stream", "stderr")
    assert (found["stdout_tail"], found["stderr_tail"], found["truncated"]) == ("", _lines(1, 5), False)
    assert (found["stdout_observed_bytes"], found["stdout_included_bytes"]) == (292, 0)


def test_a_tail_shows_fifty_lines_and_sixty_four_kibibytes_by_default(cli: Cli) -> None:
    assert cli.ok("tail", _job(cli, "seq 100"))["stdout_tail"] == _lines(51, 100)
    found = cli.ok("tail", _job(cli, *python("print('x' * 100_000)")))
    assert found["stdout_tail"] == "x" * 65_535 + "\n"
    assert found["stdout_included_bytes"] == 65_536


def test_a_tail_never_cuts_a_character_and_counts_what_it_includes(cli: Cli) -> None:
    job = _put(cli, "€€€".encode())
    for limit in (1, 4, 6):
        found = cli.ok("tail", job, "--max-bytes", str(limit))
        assert found["stdout_tail"] == "€" * (limit // 3)
        assert found["stdout_included_bytes"] == limit // 3 * 3
        assert found["truncated"] is True


# --- log by line ---------------------------------------------------------------------------------------------------


@pytest.fixture
def hundreds(cli: Cli) -> str:
    """A finished job with the lines 1 to 300."""
    return _job(cli, "seq 300")


def test_without_a_word_log_shows_the_last_two_hundred_lines_and_how_to_see_others(cli: Cli, hundreds: str) -> None:
    found = cli.ok("log", hundreds)
    assert found["output"] == _lines(101, 300)
    assert (found["first_line"], found["last_line"], found["total_lines"]) == (101, 300, 300)
    assert found["hint"]
    assert found["truncated"] is False


def test_limit_alone_shows_the_last_lines_and_offset_alone_goes_to_the_end(cli: Cli, hundreds: str) -> None:
    found = cli.ok("log", hundreds, "--limit", "2")
    assert (found["output"], found["first_line"], found["last_line"]) == ("299\n300\n", 299, 300)
    assert cli.ok("log", hundreds, "--limit", "1000")["output"] == _lines(1, 300)
    assert cli.ok("log", hundreds, "--limit", "0")["output"] == ""
    found = cli.ok("log", hundreds, "--offset", "10")
    assert (found["output"], found["first_line"], found["last_line"]) == (_lines(11, 300), 11, 300)
    assert "hint" not in found


def test_offset_and_limit_show_that_many_lines_from_there(cli: Cli, hundreds: str) -> None:
    for offset, limit, first, last in ((0, 3, 1, 3), (10, 1, 11, 11), (298, 50, 299, 300)):
        found = cli.ok("log", hundreds, "--offset", str(offset), "--limit", str(limit))
        assert found["output"] == _lines(first, last)
        assert (found["first_line"], found["last_line"], found["total_lines"]) == (first, last, 300)
        following = cli.ok("log", hundreds, "--since-seq", str(found["next_seq"]), "--limit", "1")
        assert following["output"] == ("" if last == 300 else f"{last + 1}\n")
    found = cli.ok("log", hundreds, "--offset", "300")
    assert (found["output"], found["first_line"], found["last_line"]) == ("", None, None)
    assert found["hint"]


def test_a_cursor_and_a_limit_show_that_many_lines_from_the_position(cli: Cli, hundreds: str) -> None:
    found = cli.ok("log", hundreds, "--since-seq", "4", "--limit", "2")
    assert (found["output"], found["first_line"], found["last_line"]) == ("3\n4\n", 3, 4)
    assert (found["since_seq"], found["next_seq"]) == (4, 8)
    middle = cli.ok("log", hundreds, "--since-seq", str(len(_lines(1, 99)) + 1), "--limit", "1")
    assert (middle["output"], middle["first_line"], middle["last_line"]) == ("00\n", 100, 100)
    cli.error("log", hundreds, "--since-seq", "0", "--offset", "0", code="invalid_argument")


def test_a_negative_offset_counts_lines_from_the_end(cli: Cli, hundreds: str) -> None:
    found = cli.ok("log", hundreds, "--offset", "-2")
    assert (found["output"], found["first_line"], found["last_line"]) == ("299\n300\n", 299, 300)
    assert cli.ok("log", hundreds, "--offset=-5", "--limit", "2")["output"] == "296\n297\n"
    assert cli.ok("log", hundreds, "--offset=-999", "--limit", "1")["output"] == "1\n"
    assert cli.ok("log", hundreds, "--offset=-3", "--search", "29")["output"] == "298:298\n299:299\n300-300\n"
    assert cli.text("log", hundreds, "-f", "--offset=-2").stdout == "299\n300\n"


def test_an_unterminated_last_line_counts(cli: Cli) -> None:
    found = cli.ok("log", _put(cli, b"one\ntwo"))
    assert (found["output"], found["total_lines"], found["last_line"]) == ("one\ntwo", 2, 2)


def test_line_numbers_stay_the_same_while_the_job_writes_on(cli: Cli, jobs: Jobs, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "seq 5; until [ -e go ]; do sleep 0.1; done; seq 6 10; sleep 60")[
        "job_id"
    ]
    until(lambda: cli.ok("log", job)["total_lines"] == 5)
    before = cli.ok("log", job, "--offset", "2", "--limit", "2")
    (work / "go").touch()
    until(lambda: cli.ok("log", job)["total_lines"] == 10)
    after = cli.ok("log", job, "--offset", "2", "--limit", "2")
    assert before["output"] == after["output"] == "3\n4\n"
    assert (after["first_line"], after["since_seq"], after["next_seq"]) == (3, 4, 8)
    assert before["since_seq"] == 4
    jobs.end()


def test_log_pages_through_a_budget_and_says_how_to_go_on(cli: Cli) -> None:
    job = _job(cli, "seq 3000")
    read, offset, calls = "", 0, 0
    while True:
        found = cli.ok("log", job, "--offset", str(offset), "--max-bytes", "4000")
        assert len(found["output"]) <= 4000
        assert found["output"].endswith("\n")
        assert found["first_line"] == offset + 1
        read, offset, calls = read + found["output"], found["last_line"], calls + 1
        if "hint" not in found:
            break
        assert f"offset={offset}" in found["hint"]
    assert read == _lines(1, 3000)
    assert calls == 4


def test_one_line_longer_than_the_budget_can_be_read_on(cli: Cli) -> None:
    text = "".join(f"{number:05d}" for number in range(200))
    job = _put(cli, text.encode())
    found = cli.ok("log", job, "--offset", "0", "--max-bytes", "600")
    assert found["output"] == text[:600]
    assert f"since_seq={found['next_seq']}" in found["hint"]
    assert cli.ok("log", job, "--since-seq", "600", "--max-bytes", "600")["output"] == text[600:]


# --- log of one stream ---------------------------------------------------------------------------------------------


def test_each_stream_can_be_read_alone_with_its_own_lines(cli: Cli) -> None:
    job = _job(cli, *python(PUT + "for i in range(1, 7): put(1 + i % 2, b'%d\\n' % i)"))
    found = cli.ok("log", job, "--stream", "stdout")
    assert (found["output"], found["total_lines"], found["next_seq"]) == ("2\n4\n6\n", 3, 6)
    found = cli.ok("log", job, "--stream", "stderr", "--offset", "1", "--limit", "1")
    assert (found["output"], found["first_line"], found["last_line"]) == ("3\n", 2, 2)
    assert cli.ok("log", job, "--stream", "both")["output"] == _lines(1, 6)
    assert cli.ok("log", job, "--stream", "stderr", "--search", "5")["output"].endswith("3:5\n")
    error = cli.error("log", job, "--stream", "stdin", code="invalid_argument", status=2)
    assert error["details"]["field"] == "--stream"


# --- search --------------------------------------------------------------------------------------------------------


def test_search_shows_matches_with_their_numbers_and_context(cli: Cli) -> None:
    job = _job(cli, "seq 20")
    found = cli.ok("log", job, "--search", "^1?5$", "--context", "1")
    assert found["output"] == "4-4\n5:5\n6-6\n--\n14-14\n15:15\n16-16\n"
    assert (found["matches"], found["first_line"], found["last_line"], found["total_lines"]) == (2, 4, 16, 20)
    assert cli.ok("log", job, "--search", "^1?5$", "--context", "0")["output"] == "5:5\n15:15\n"
    assert cli.ok("log", job, "--search", "^10$")["output"] == "8-8\n9-9\n10:10\n11-11\n12-12\n"
    assert cli.ok("log", job, "--search", "^(5|6)$", "--context", "1")["output"] == "4-4\n5:5\n6:6\n7-7\n"


def test_search_begins_at_an_offset_or_a_position_and_keeps_the_numbers(cli: Cli) -> None:
    job = _job(cli, "seq 20")
    words = ["log", job, "--search", "5", "--context", "0"]
    assert cli.ok(*words, "--offset", "5")["output"] == "15:15\n"
    assert cli.ok(*words, "--since-seq", str(len(_lines(1, 5))))["output"] == "15:15\n"


def test_search_stops_at_its_limit_and_goes_on_from_there(cli: Cli) -> None:
    job = _job(cli, "seq 50")
    words = ["log", job, "--search", "5$", "--context", "0", "--limit", "2"]
    found = cli.ok(*words)
    assert (found["output"], found["matches"]) == ("5:5\n15:15\n", 2)
    assert f"since_seq={found['next_seq']}" in found["hint"]
    found = cli.ok(*words, "--since-seq", str(found["next_seq"]))
    assert found["output"] == "25:25\n35:35\n"


def test_a_search_under_a_budget_loses_no_match(cli: Cli) -> None:
    job = _job(cli, "seq 2000")
    read, at = "", 0
    for _ in range(20):
        found = cli.ok("log", job, "--search", "7$", "--context", "0", "--max-bytes", "600", "--since-seq", str(at))
        assert len(found["output"].encode()) <= 600
        read, at = read + found["output"], found["next_seq"]
        if "hint" not in found:
            break
    assert read == "".join(f"{number}:{number}\n" for number in range(7, 2001, 10))


def test_what_matches_nothing_says_so_and_what_is_no_pattern_is_refused(cli: Cli) -> None:
    job = _put(cli, b"abc\n")
    found = cli.ok("log", job, "--search", "xyz")
    assert (found["output"], found["matches"]) == ("", 0)
    assert found["hint"]
    assert cli.error("log", job, "--search=(", code="invalid_argument")["details"]["field"] == "--search"
    assert cli.ok("log", job, "--search=(a|aa)+$|(x+x+)+y|(?i)ABC")["matches"] == 1


# --- budgets -------------------------------------------------------------------------------------------------------


def _check_gap(found: dict[str, Any], data: bytes, budget: int, start: int = 0) -> None:
    """Head and tail are shown, cut on line boundaries, and the numbers of the gap are exact."""
    gap = found["truncated"]
    head, tail = data[start : gap["from_seq"]], data[gap["to_seq"] :]
    assert start <= gap["from_seq"] < gap["to_seq"] <= len(data)
    assert gap["bytes"] == gap["to_seq"] - gap["from_seq"]
    assert gap["lines"] == data[gap["from_seq"] : gap["to_seq"]].count(b"\n")
    assert len(head) + len(tail) <= budget
    shown_head, note, shown_tail = re.split(r"^(\[\.\.\. .*\])\n", found["output"], maxsplit=1, flags=re.MULTILINE)
    assert (shown_head.rstrip("\n"), shown_tail) == (head.decode().rstrip("\n"), tail.decode())
    assert f"since_seq={gap['from_seq']}" in note
    assert (found["since_seq"], found["next_seq"]) == (start, len(data))


@pytest.mark.parametrize("verb", only(lambda verb: verb != "wait", ["poll", "wait", "run"]))
def test_head_and_tail_are_shown_and_the_gap_is_told_exactly(cli: Cli, verb: str) -> None:
    data = _lines(1, 2000).encode()
    job = cli.ok("run", "--max-bytes", "1000", "seq 2000")
    found = job if verb == "run" else cli.ok(verb, job["job_id"], "--max-bytes", "1000")
    _check_gap(found, data, 1000)
    gap = found["truncated"]
    assert data[gap["from_seq"] - 1 : gap["from_seq"]] == data[gap["to_seq"] - 1 : gap["to_seq"]] == b"\n"
    assert len(data) - gap["bytes"] > 900
    rest = cli.ok("log", job["job_id"], "--since-seq", str(gap["from_seq"]), "--max-bytes", "100000")
    assert rest["output"].encode().startswith(data[gap["from_seq"] : gap["to_seq"]])
    if verb == "poll":
        _check_gap(cli.ok("poll", job["job_id"], "--max-bytes", "777", "--since-seq", "2"), data, 777, start=2)


def test_the_default_budget_is_thirty_two_kibibytes(cli: Cli) -> None:
    whole = cli.ok("run", "head -c 32768 /dev/zero | tr '\\0' x")
    assert whole["truncated"] is False
    over = cli.ok("run", "head -c 32769 /dev/zero | tr '\\0' x")
    assert over["truncated"]["bytes"] >= 1
    _check_gap(over, b"x" * 32769, 32768)


def test_a_tiny_budget_splits_no_character(cli: Cli) -> None:
    data = "€uro — ünïcode\n".encode() * 3
    job = _put(cli, data)
    for budget in (1, 2, 3, 5, 10):
        found = cli.ok("poll", job, "--max-bytes", str(budget))
        assert "\ufffd" not in found["output"]
        _check_gap(found, data, budget)


def test_the_configuration_sets_the_budget_of_run_and_a_flag_goes_before_it(cli: Cli) -> None:
    small = {"OUTLIVE_EXEC_MAX_OUTPUT_BYTES": "100"}
    assert cli.ok("run", "seq 100", env=small)["truncated"]
    assert cli.ok("run", "--max-bytes", "1000", "seq 100", env=small)["truncated"] is False


# --- long jobs -----------------------------------------------------------------------------------------------------


def test_lines_of_several_megabytes_are_numbered_right(cli: Cli) -> None:
    job = _job(cli, "--max-bytes", "100", "seq 400000")
    for _ in range(2):  # the second look finds the index of the first
        found = cli.ok("log", job, "--offset", "333332", "--limit", "2")
        assert (found["output"], found["first_line"], found["total_lines"]) == ("333333\n333334\n", 333333, 400000)
    found = cli.ok("log", job, "--search", "^399999$", "--context", "0")
    assert found["output"] == "399999:399999\n"
    data = _lines(1, 400000).encode()
    _check_gap(cli.ok("poll", job), data, 32768)
