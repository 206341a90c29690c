"""Why a job can have ended: each reason is that of a job in a test, which is named here."""

from __future__ import annotations

import ast
from pathlib import Path

from outlive.core.records import REASONS

TESTS = Path(__file__).parent
PROVEN = {
    "exit": "heart/faces/test_run_on_both.py::test_an_exit_code_is_told_as_it_was",
    "signal": "heart/faces/test_run_on_both.py::test_a_command_ended_by_a_signal_is_killed_and_names_the_signal",
    "timeout": "heart/faces/test_run_on_both.py::test_a_time_out_ends_the_job_and_looks_like_one",
    "idle_timeout": "heart/faces/test_run_on_both.py::test_a_quiet_job_is_ended_by_the_idle_time_out",
    "limit": "parts/limits/test_limits.py::test_the_sum_of_processor_times_ends_a_job_also_after_its_supervisors_were_killed",
    "kill": "heart/faces/test_wait_on_both.py::test_kill_ends_a_job_by_term_and_says_who_asked",
    "denied": "parts/approvals/test_approval.py::test_a_job_that_is_denied_never_runs_nor_does_its_notification",
    "launch": "heart/faces/test_run_on_both.py::test_a_program_that_is_not_there_fails_at_its_launch",
    "lost": "heart/durability/test_found_ends.py::test_an_end_found_by_a_reader_is_notified_once",
    "reboot": "heart/durability/test_found_ends.py::test_after_a_reboot_a_job_that_ran_has_failed_for_that_reason",
    "dependency": "parts/after/test_waits.py::test_a_job_that_can_never_start_fails_and_says_why",
    "oom": "heart/durability/test_memory.py::test_a_command_that_takes_too_much_memory_in_a_scope_of_its_own_ended_by_oom",
}


def test_every_reason_is_the_reason_of_a_job_in_a_test() -> None:
    assert PROVEN.keys() == set(REASONS)
    for reason, test in PROVEN.items():
        file, _, name = test.partition("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        (found,) = (one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and one.name == name)
        assert f'"{reason}"' in (ast.get_source_segment(text, found) or ""), test
