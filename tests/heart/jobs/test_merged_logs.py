"""The lines of several jobs in one text."""

from __future__ import annotations

from outlive.jobs.interaction.merged_logs import Merged, NamedLog, merged

T = [f"2026-11-29T10:00:0{n}.000Z" for n in range(6)]


def test_lines_stand_in_the_order_of_time_and_those_of_one_time_in_that_of_the_jobs() -> None:
    web = NamedLog("web", "A", "1\n3\n", [T[1], T[3]])
    db = NamedLog("database", "B", "1\n2\n4", [T[1], T[2], T[4]])
    text = merged([web, db], 10, 1000)
    assert text.output == "web      | 1\ndatabase | 1\ndatabase | 2\nweb      | 3\ndatabase | 4\n"
    assert (text.times, text.left_out) == ([T[1], T[1], T[2], T[3], T[4]], 0)


def test_a_line_without_a_time_stays_behind_the_one_before_it() -> None:
    ours = NamedLog("a", "A", "1\n[gap]\n5\n", [T[1], None, T[5]])
    other = NamedLog("b", "B", "x\ny\n", [None, T[2]])
    assert merged([ours, other], 10, 1000).output == "a | 1\na | [gap]\nb | x\nb | y\na | 5\n"


def test_the_end_is_kept() -> None:
    log = NamedLog("a", "A", "1\n2\n3\n", [T[1], T[2], T[3]])
    assert merged([log], 2, 1000) == Merged("a | 2\na | 3\n", [T[2], T[3]], 1)
    assert merged([log], 10, 6) == Merged("a | 3\n", [T[3]], 2)
    assert merged([log], 10, 1).output == "a | 3\n", "one line at least"
    assert merged([], 10, 1) == Merged("", [], 0)


def test_names_tell_the_jobs_apart() -> None:
    long = "x" * 40
    logs = [NamedLog(name, short, "1\n", [T[1]]) for name, short in ((long, "A"), (long, "B"), ("web", "C"))]
    cut = "x" * 29 + "…"
    assert merged(logs, 10, 1000).output == f"{cut} A | 1\n{cut} B | 1\nweb{' ' * 29} | 1\n"


def test_times_that_do_not_fit_the_lines_are_not_taken() -> None:
    assert merged([NamedLog("a", "A", "1\n2\n", [T[1]])], 10, 1000).times == [None, None]
