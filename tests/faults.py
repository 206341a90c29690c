"""Everything that can go wrong, as data: what outlive does then, who was hit by it, and the tests that prove it.

An id never changes. `proof` names tests as pytest does; what has none either `waits` for something that is not built, or
is `not_applicable`, with the reason. tests/test_faults.py holds this and the tests together.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    behaviour: str
    source: str
    proof: tuple[str, ...] = ()
    waits: str = ""
    not_applicable: str = ""


CRASH, KILLS, ODD, AROUND, SOAK, VOLUME, FULL, SCOPES, MEMORY, INHERITED, GONE, LOADS, CUT, FORMATS, FOUND = (
    f"tests/durability/test_{name}.py::test_"
    for name in (
        "crash_points",
        "kills",
        "odd_ends",
        "surroundings",
        "soak",
        "volume",
        "full_disk",
        "scopes",
        "memory",
        "inherited",
        "kill_means_gone",
        "load",
        "cut_logs",
        "formats",
        "found_ends",
    )
)
RUN, SURROUNDINGS, ERRORS, STATUS, OUTPUT, NOTIFY, EVENTS, TERMINAL, WATCH, KILL, CREATE, GC = (
    f"tests/cli/test_{name}.py::test_"
    for name in (
        *(
            "run",
            "run_surroundings",
            "errors_cli",
            "status_list_tags",
            "output",
            "notify",
            "events",
            "terminal",
            "watch",
        ),
        *("wait_kill_write", "create_start_restart", "clear_remove_gc"),
    )
)
TOOLS, RESOURCES, TASKS, NOTICES = (
    f"tests/over_mcp/test_{name}.py::test_" for name in ("tools", "resources", "tasks", "notices")
)
SERVE, DOOR = (f"tests/over_mcp/test_{name}.py::test_" for name in ("serve", "door"))
DOCTOR, FACTS = "tests/cli/test_doctor.py::test_", "tests/unit/test_surrounding_facts.py::test_"
QUOTA = "tests/cli/test_quota.py::test_"
RENDER, DECODE, HUMAN, PATTERNS, SERVER = (
    f"tests/unit/test_{name}.py::test_"
    for name in ("view_render", "view_decode", "cli_human", "patterns", "mcp_server")
)
EXAMPLES = "tests/test_notify_examples.py::test_"

ANY_POINT = CRASH + "a_death_at_any_point_of_a_job_leaves_all_of_it_or_nothing"
ADOPTION = CRASH + "an_adoption_may_be_killed_at_any_point"
BOTH_FACES = tuple(
    f"{INHERITED}a_{caller}_passes_on_umask_limits_and_directory_and_nothing_else"
    for caller in ("command_line", "server")
)
LOAD = LOADS + "much_of_one_thing_leaves_nothing_wrong"


def proven(behaviour: str, source: str, *proof: str) -> Fault:
    return Fault(behaviour, source, proof)


def waiting(behaviour: str, source: str, reason: str) -> Fault:
    return Fault(behaviour, source, waits=reason)


def foreign(behaviour: str, source: str, reason: str) -> Fault:
    return Fault(behaviour, source, not_applicable=reason)


# fmt: off
FAULTS = {
    # --- a part crashes ---
    "F01": proven("A supervisor killed before it started the command is replaced by its guardian; the command runs once.",
        "Jenkins durable-task: -2, 'apparently never started'; podman #15492", ANY_POINT, CRASH + "a_start_of_a_created_job_that_dies_can_be_done_again"),
    "F02": proven("A command whose identity was never written down is found again, as a child or by its cookie, and not run twice.",
        "conmon start pipe", ANY_POINT, ADOPTION, KILLS + "a_supervisor_killed_while_it_starts_never_runs_a_command_twice_and_never_invents"),
    "F03": proven("A supervisor killed while the command runs costs no byte and no exit code; with its guardian killed too, a reader adopts the job.",
        "podman #439, #12699; Nomad GH-25453", KILLS + "a_killed_supervisor_costs_no_line_and_no_code",
        KILLS + "both_killed_at_once_cost_no_line_once_a_reader_looked", SOAK + "random_kills_cost_no_line_no_code_and_no_second_run"),
    "F04": proven("An end that nobody could write down is `lost`, with the output intact; a code is never made up.",
        "podman #1221; conmon ctr_exit.c:67", CRASH + "an_end_that_both_saw_and_neither_wrote_is_lost_and_told_so",
        KILLS + "both_killed_before_anybody_looks_leave_the_output_until_then_and_no_invented_code"),
    "F05": proven("A supervisor killed between the outcome's file and its rename costs nothing: the command is not reaped yet, and its status is read again.",
        "JENKINS-25519", ANY_POINT),
    "F06": proven("A server may be killed at any time: its jobs do not notice, the next server lists them, cursors stay valid.",
        "containerd TestDaemonRestartWithRunningShim", KILLS + "jobs_do_not_notice_the_end_of_their_server",
        TOOLS + "poll_goes_on_from_where_this_client_was_also_with_a_new_server"),
    "F07": proven("A launcher killed while it makes a job leaves a whole job or a leftover that gc deletes; a second try with the same key gets the same job.",
        "s6, containerd", ANY_POINT, GC + "gc_deletes_half_deleted_jobs_and_old_half_made_ones",
        RUN + "a_running_job_with_the_same_key_is_answered_instead_of_started_twice"),
    "F08": proven("A command that the kernel killed for want of memory is told apart from one that somebody killed, where that is certain.",
        "conmon 05-oom-detection", MEMORY + "a_command_alone_in_its_group_in_which_the_kernel_ended_something_was_ended_for_memory",
        MEMORY + "in_a_group_of_many_the_kernels_log_decides_and_else_it_is_only_said",
        MEMORY + "a_command_that_takes_too_much_memory_in_a_scope_of_its_own_ended_by_oom",
        MEMORY + "of_many_in_one_group_nobody_is_said_to_have_been_ended_for_memory_who_was_not",
        MEMORY + "the_command_of_many_in_one_group_that_the_kernel_ended_is_named_by_its_log_or_not_at_all"),
    "F09": proven("A command that crashes is `killed` by the signal's name, and whether it dumped core is recorded.",
        "wait(2)", AROUND + "a_crash_names_its_signal_and_says_whether_there_is_a_core"),
    "F10": proven("After a reboot what ran has failed for that reason, and no signal ever goes to a pid of before.",
        "sloth #61; pueue #302", FOUND + "after_a_reboot_a_job_that_ran_has_failed_for_that_reason",
        AROUND + "a_pid_that_is_somebody_elses_now_is_never_signalled"),
    "F11": proven("Of two that start or adopt one job at once, one does; the other one's caller is answered.",
        "s6-supervise; surge #167", CREATE + "of_two_that_start_a_job_at_once_one_does", FOUND + "the_end_of_a_job_that_lost_both_is_notified_once"),
    "F12": proven("A supervisor that hangs is said not to answer, within seconds; output is still read, and nothing is killed for it.",
        "JENKINS-48300", AROUND + "a_stopped_supervisor_is_said_not_to_answer_and_nothing_is_killed_for_it",
        AROUND + "a_model_is_told_of_a_stopped_supervisor_and_what_to_do",
        AROUND + "a_kill_that_a_stopped_supervisor_does_not_answer_is_an_error_that_may_be_tried_again",
        DOCTOR + "a_supervisor_that_does_not_answer_is_told_and_a_sound_one_is_not"),
    "F13": proven("What older versions wrote loads for ever; unknown fields are no damage; a newer format is refused with the way out, and never changed.",
        "pueue state_backward_compatibility", FORMATS + "what_an_older_version_wrote_is_told_as_it_told_it",
        FORMATS + "what_a_newer_version_wrote_is_refused_with_the_way_out_and_left_as_it_is", STATUS + "a_newer_format_is_an_error_that_says_so_and_is_never_changed",
        STATUS + "unknown_fields_of_a_newer_writer_are_no_damage"),
    "F14": proven("Our own code may be deleted under a running job: it ends, is taken over and is told as ever.",
        "upgrades in place", AROUND + "a_job_ends_and_is_told_though_our_own_code_was_deleted",
        AROUND + "a_guardian_takes_over_though_our_own_code_was_deleted"),
    # --- disk and store ---
    "F15": proven("A disk that fills up neither holds nor ends the job; the bytes that found no room are counted.",
        "supervisord OSError 28; svlogd; claude-code #51760", ERRORS + "a_disk_that_fills_up_does_not_hold_or_end_the_job_and_the_loss_is_told"),
    "F16": proven("An outcome has its room on the disk from the start; one that finds none all the same stays with its supervisor until there is some.",
        "conmon exit file", FULL + "the_outcome_is_on_disk_though_the_disk_is_full", FULL + "a_job_that_fills_its_disk_ends_with_its_outcome_there",
        FULL + "a_guardian_that_takes_over_on_a_full_disk_writes_the_outcome", ERRORS + "the_outcome_of_a_job_on_a_full_disk_is_written_when_there_is_room_again"),
    "F17": proven("A full disk at creation is an error with its errno; nothing runs and nothing is left.",
        "general", ERRORS + "a_full_disk_at_creation_is_an_error_and_leaves_nothing"),
    "F18": proven("No inodes and a read-only store are errors that name their errno; what is there can be read.",
        "general", ERRORS + "no_inodes_at_creation_is_an_error_and_leaves_nothing", ERRORS + "a_read_only_root_can_be_read_and_nothing_is_started"),
    "F19": proven("A state that is empty, zeros, cut off or senseless is said to be so and never taken for an empty one; the output stays readable.",
        "pueue daemon/mod.rs:69; orca #10631; opencode-goal #23; mosquitto #189",
        STATUS + "a_damaged_state_is_said_and_the_job_is_still_listed_and_readable",
        STATUS + "a_running_job_whose_state_is_damaged_goes_on_and_ends_readable", STATUS + "json_that_makes_no_sense_is_damage_and_no_crash"),
    "F20": proven("Writers of one file at once leave one whole file: temporary names are never shared.",
        "pueue state.json.partial", AROUND + "writers_of_one_file_at_once_leave_one_whole_file_and_nothing_else"),
    "F21": proven("A job whose directory was deleted is not found; its supervisor ends with the command and does not crash or spin.",
        "claude-code #89625", ODD + "a_supervisor_whose_directory_was_deleted_ends_with_its_command"),
    "F22": proven("A log that somebody deleted or rotated is made again within a second, and readers are told what is missing; the job and its outcome are as ever.",
        "supervisor #240, PR #402; dd-agent #173", CUT + "a_log_that_somebody_took_or_cut_costs_what_was_taken_and_nothing_else",
        CUT + "a_reader_of_a_cut_log_is_answered_at_any_time", CUT + "over_mcp_it_is_said_in_words_and_in_numbers",
        CUT + "a_line_that_is_waited_and_watched_for_is_found_behind_a_deletion", CUT + "a_guardian_takes_over_though_a_log_is_gone",
        CUT + "what_stands_in_the_place_of_a_log_and_is_no_file_is_not_written_to"),
    "F23": proven("A log that somebody truncated is told as missing bytes, not as zeros; positions stay, and those behind it are read.",
        "JENKINS-37575", CUT + "a_log_that_somebody_took_or_cut_costs_what_was_taken_and_nothing_else",
        CUT + "a_reader_of_a_cut_log_is_answered_at_any_time", CUT + "a_log_that_is_cut_after_the_end_is_known_to_have_been_longer"),
    "F24": proven("gc leaves alone whatever somebody still holds, and deletions at once are all answered.",
        "general", GC + "a_finished_job_whose_descendants_live_is_skipped", GC + "removes_at_once_of_one_job_all_get_an_answer"),
    "F25": proven("A deletion that was killed is invisible to readers and finished by the next gc.",
        "general", CRASH + "a_deletion_that_dies_is_finished_by_the_next_gc"),
    "F26": proven("A list costs one page of jobs, not all of them: ten thousand finished ones open few files.",
        "general", VOLUME + "list_answers_from_the_newest_of_10_000_jobs_and_opens_few_files", LOAD),
    "F27": proven("A root on a network file system is detected, and said to be unsupported.",
        "JENKINS-48300", FACTS + "a_root_on_a_network_file_system_is_said_to_be_unsupported"),
    "F28": proven("Where the kernel watches no more files, waits go by the clock.",
        "inotify(7)", AROUND + "a_wait_for_a_file_goes_by_the_clock_where_the_kernel_watches_no_more"),
    "F29": proven("A root through a link, or of any name and length, is resolved once and works.",
        "PATH_MAX", ERRORS + "a_root_through_a_link_is_the_directory_it_points_to", SURROUNDINGS + "a_root_may_have_any_name"),
    "F30": proven("A root whose path is longer than a socket's name may be is served all the same.",
        "containerd TestShimSockLength", SURROUNDINGS + "a_root_may_have_any_name"),
    # --- processes, signals, terminals ---
    "F31": proven("A background child that holds the output open does not hold up the end; it is counted, and its output still arrives.",
        "cpython #119710; opencode #20902; gptme #3756; tinyexec #138", RUN + "a_background_child_does_not_hold_up_the_end_and_kill_ends_it",
        RUN + "a_background_childs_later_output_still_arrives", TERMINAL + "a_grandchild_that_holds_the_terminal_does_not_keep_the_job_running"),
    "F32": proven("Neither does one that never stops writing.",
        "opencode #22012", AROUND + "a_descendant_that_never_stops_writing_does_not_hold_up_the_end"),
    "F33": proven("What a job left behind is counted, and kill and remove still reach it, even when both of its processes were killed.",
        "claude-code #93794, #51760", RUN + "a_background_child_does_not_hold_up_the_end_and_kill_ends_it",
        KILLS + "what_a_job_left_behind_can_be_ended_when_both_were_killed"),
    "F34": proven("Whoever left the session or lost its parent is ended too, TERM-ignorers and cookie droppers included.",
        "actions/runner #4601; claude-code #93794", KILL + "kill_reaches_what_left_the_session_and_lost_its_parent",
        KILL + "kill_ends_escapees_that_ignore_term", ODD + "an_adopted_command_without_its_cookie_can_be_ended"),
    "F35": proven("A pid that somebody else has now is never signalled: boot, namespace and start time are checked through an open handle.",
        "pitchfork #878; habitat #4578", AROUND + "a_pid_that_is_somebody_elses_now_is_never_signalled",
        AROUND + "a_signal_goes_through_a_handle_to_the_very_process_or_to_nobody"),
    "F36": proven("A kill that races with the end, or comes twice, is answered with the final state; never a pid below 2.",
        "conmon :501; supervisor #1387", KILL + "kills_at_once_all_get_an_answer", KILL + "kill_of_a_finished_job_changes_nothing",
        AROUND + "a_signal_goes_through_a_handle_to_the_very_process_or_to_nobody",
        GONE + "a_kill_at_the_instant_of_the_end_gives_one_end_and_the_same_for_ever",
        GONE + "a_kill_after_a_kill_that_did_not_wait_is_answered_with_the_same_end"),
    "F37": proven("A kill of a job that is being started ends it.",
        "general", AROUND + "a_kill_of_a_job_that_is_being_started_ends_it"),
    "F38": proven("TERM, then a grace, then KILL; a second kill shortens the grace, a stopped job is continued, a killed supervisor's grace goes on.",
        "s6-supervise", KILL + "what_ignores_term_is_killed_after_the_grace", KILL + "a_second_kill_can_shorten_the_grace",
        KILL + "a_stopped_job_can_be_ended", GONE + "a_stopped_tree_of_term_ignorers_in_sessions_of_their_own_is_gone", CRASH + "an_end_that_was_asked_for_comes_though_whoever_was_at_it_dies"),
    "F39": proven("What cannot be killed is given up after a while and named as a survivor.",
        "D state", AROUND + "a_member_that_cannot_be_killed_is_given_up_and_not_waited_for_for_ever",
        KILL + "kill_that_does_not_wait_names_the_survivors_and_the_end_still_comes",
        GONE + "what_takes_no_signal_is_named_as_a_survivor_and_ends_when_it_can"),
    "F40": proven("A time-out at the instant of the end gives one consistent outcome, and the same for ever.",
        "conmon :495-499", AROUND + "a_time_out_at_the_instant_of_the_end_is_one_or_the_other"),
    "F41": proven("An ignored SIGPIPE is not passed on: the writer of a pipe without reader ends.",
        "ansible #44813; redo #13; asciinema #369", RUN + "the_writer_of_a_pipe_without_reader_ends_by_sigpipe"),
    "F42": proven("Neither blocked nor ignored signals of the caller are passed on.",
        "posix_spawn(3)", SURROUNDINGS + "a_caller_that_blocks_and_ignores_signals_does_not_pass_that_on", *BOTH_FACES),
    "F43": proven("A command has its three streams and the keepers, and no other open file of ours or of the caller.",
        "conmon.c:519; JENKINS-43639", SURROUNDINGS + "the_command_has_its_three_streams_the_keepers_and_no_other_file", *BOTH_FACES),
    "F44": proven("A job never reads what its server is told.",
        "python-sdk #671, #3117; beads #400", AROUND + "a_job_does_not_read_what_its_server_is_told", SURROUNDINGS + "stdin_is_closed_by_default"),
    "F45": proven("What a library prints in the server goes to its log, not into the protocol.",
        "python-sdk #3117; jumpstarter #383", AROUND + "stray_output_of_a_server_does_not_reach_its_client"),
    "F46": proven("A job that closes its stdin, or reads nothing, neither breaks nor holds the writer; how much was taken is told.",
        "EPIPE", KILL + "a_program_that_closed_its_stdin_takes_no_data", KILL + "a_program_that_reads_nothing_does_not_hold_the_writer"),
    "F47": proven("The last output of a terminal is kept though the command is gone, and a grandchild that holds it keeps no job running.",
        "conmon ctr_stdio.c:136", TERMINAL + "the_last_output_before_the_end_is_never_lost",
        TERMINAL + "a_grandchild_that_holds_the_terminal_does_not_keep_the_job_running"),
    "F48": proven("A terminal survives its supervisor: the guardian holds it, and bytes under way are not lost.",
        "dumb-init #136; JENKINS-25503", TERMINAL + "what_a_terminal_prints_survives_its_supervisor_whole",
        CRASH + "bytes_of_a_terminal_between_two_pipes_are_not_lost"),
    "F49": proven("A program is told the size of its terminal; a password typed without echo is nowhere on disk.",
        "general", TERMINAL + "resizing_tells_the_program", TERMINAL + "a_password_is_told_from_a_question_and_is_nowhere_on_disk"),
    "F50": proven("A job has a session of its own: an interrupt of the client does not reach it.",
        "s6; supervisor setpgrp", SURROUNDINGS + "the_command_leads_a_session_of_its_own_without_a_terminal",
        RUN + "interrupting_the_client_leaves_the_job_running", *BOTH_FACES),
    "F51": proven("A logout that kills all processes of the user is foreseen, with the way out, and explained afterwards.",
        "tmux #428; systemd #3005, #3382, #8486", FACTS + "a_logout_that_ends_jobs_is_foreseen_with_the_way_out",
        SCOPES + "what_ends_a_whole_group_takes_jobs_along_and_says_so_unless_they_have_scopes"),
    "F52": proven("A restart of the service that a server runs in takes no job along that has a scope of its own; without one it is foreseen.",
        "loom #5119", FACTS + "a_service_whose_restart_takes_the_jobs_along_is_named_with_the_way_out",
        SCOPES + "what_ends_a_whole_group_takes_jobs_along_and_says_so_unless_they_have_scopes"),
    "F53": proven("PID 1 of a container is left no zombie by jobs and what they start.",
        "hermes #15012; linkedin-mcp #477; paperclip #12137", AROUND + "pid_1_of_a_container_is_left_no_zombie",
        INHERITED + "a_server_that_is_process_1_leaves_no_zombie_of_what_others_orphan",
        INHERITED + "a_server_that_is_process_1_ends_with_its_client_and_by_term"),
    "F54": proven("A command has its caller's umask; our own files are private whatever it is.",
        "general", SURROUNDINGS + "the_callers_umask_is_the_commands_while_our_files_stay_private", *BOTH_FACES),
    "F55": proven("A directory that is missing or none is refused before anything runs.",
        "general", SURROUNDINGS + "a_directory_that_is_none_is_refused_and_nothing_runs",
        CREATE + "a_directory_that_went_away_stops_the_start_and_the_job_stays_created"),
    "F56": proven("What cannot be executed has `failed` to launch, with the errno; it has no exit code.",
        "ptyprocess #119; conmon", SURROUNDINGS + "a_program_that_is_not_there_is_a_job_that_failed",
        SURROUNDINGS + "a_file_that_may_not_be_executed_is_a_job_that_failed", SURROUNDINGS + "a_script_whose_interpreter_is_missing_says_so"),
    "F57": foreign("A script is never executed while it may still be open for writing.",
        "JENKINS-70874", "no script is written: a shell string is an argument of its shell"),
    "F58": proven("No process or too few open files to be had is an error that may be tried again; nothing is half started.",
        "supervisord process.py", AROUND + "a_process_that_cannot_be_made_is_an_error_and_nothing_is_half_started",
        AROUND + "too_few_open_files_are_an_error_or_enough_and_nothing_is_half_started"),
    "F59": proven("A server that ran many commands holds no more files and children than before.",
        "supervisor 4.3.0; circus #998", VOLUME + "a_server_that_ran_100_commands_holds_no_more_than_before", LOAD),
    "F60": proven("Arguments longer than the kernel takes are an error or a job that failed to launch.",
        "execve(2)", SURROUNDINGS + "arguments_longer_than_the_kernel_takes_leave_an_error_or_a_failed_job"),
    "F61": proven("Supervisors are spared by the kernel that ends processes for want of memory as far as that is permitted; jobs do not inherit that.",
        "conmon; Nomad; containerd", MEMORY + "supervisors_are_spared_as_far_as_permitted_and_the_command_is_as_its_caller",
        MEMORY + "a_guardian_that_takes_over_is_spared_too_and_starts_nothing_that_is"),
    "F62": proven("A command has its caller's limits on open files.",
        "ptyprocess max_fd", SURROUNDINGS + "the_callers_limits_are_the_commands", *BOTH_FACES),
    "F63": proven("A command that ends at once has its start and its end in the history, in this order, and its whole output.",
        "containerd event order", EVENTS + "a_job_that_ran_has_a_start_and_an_end", RUN + "jobs_started_at_once_all_end_with_their_own_output"),
    "F64": proven("A stopped command is neither ended nor lost: it can be continued, and ended.",
        "dumb-init", KILL + "a_stopped_job_can_be_continued", KILL + "a_stopped_job_can_be_ended"),
    "F65": proven("A clock that jumps changes no duration, and none is negative.",
        "pueue 4.0.5; Jenkins clock skew", AROUND + "a_clock_that_jumps_changes_no_duration"),
    # --- output ---
    "F66": proven("A line of many megabytes without a newline is kept, and shown within the budget.",
        "asyncio LimitOverrunError: disco-daemon #28, dagster-meltano #25", VOLUME + "a_line_of_20_mb_without_a_newline_is_kept_and_shown_within_the_budget", LOAD),
    "F67": proven("A character cut by a read or a page is left whole for the next.",
        "openclaw #112325; hermes #72324; DesktopCommander #649", OUTPUT + "an_unfinished_character_is_left_to_the_next_answer",
        DECODE + "any_reads_of_one_stream_give_the_text_of_the_whole"),
    "F68": proven("Bytes that are no text are stored as they came and shown as replacement characters.",
        "general", OUTPUT + "bytes_are_kept_as_they_came_and_shown_as_text", LOAD),
    "F69": proven("Escape sequences and overwritten lines are removed from what is shown, in linear time, and stay on disk.",
        "NexAU #8; zeph #433; hive #296", RENDER + "a_line_stands_as_its_last_overwriting_left_it", RENDER + "a_sequence_leaves_no_trace",
        RENDER + "hostile_output_is_read_to_the_end_and_does_not_grow_without_bound"),
    "F70": proven("No control character of a job reaches a person's terminal.",
        "general", HUMAN + "no_control_character_reaches_the_terminal"),
    "F71": proven("A job that writes without end is bounded on disk, with head and tail kept and the loss exact.",
        "claude-code #51760", QUOTA + "head_and_tail_stay_whole_the_gap_is_exact_and_the_disk_is_spared",
        QUOTA + "supervisors_killed_while_they_punch_cost_no_line_of_what_is_kept", LOAD),
    "F72": proven("Whoever sees the end sees all output up to it.",
        "Jenkins Watcher", ANY_POINT, OUTPUT + "reading_while_it_writes_gives_every_byte_once"),
    "F73": proven("A cursor before a gap is told where it went on; nothing is silently shifted.",
        "log rotation", QUOTA + "every_answer_that_crosses_the_gap_says_so",
        QUOTA + "a_reader_that_goes_on_page_by_page_sees_all_that_is_there_once"),
    "F74": proven("Both streams are shown in the order of their arrival, and each exactly in its own.",
        "2>&1", RUN + "both_streams_are_kept_in_the_order_of_their_arrival", VOLUME + "the_merged_stream_holds_both_streams_exactly_and_in_order"),
    "F75": proven("A client that is slow or vanishes costs the job nothing, and a flood of output becomes a trickle of updates.",
        "general", RESOURCES + "a_flood_of_output_is_a_trickle_of_updates", RESOURCES + "a_client_that_goes_away_leaves_no_connection_to_a_job", LOAD),
    # --- security ---
    "S01": proven("Every file of ours is 0600 and every directory 0700, whatever the umask.",
        "pueue 4.0.5; conmon", ERRORS + "every_file_of_ours_is_0600_and_every_directory_0700"),
    "S02": proven("A root that others own or may write is refused, and a link in the place of a job is no job.",
        "conmon secure_validate_log_path", ERRORS + "a_root_that_others_may_write_is_refused", ERRORS + "a_root_of_somebody_else_is_refused",
        STATUS + "a_link_in_the_place_of_a_job_is_no_job"),
    "S03": proven("What is no id never reaches the file system: no name leads out of the root.",
        "path traversal", STATUS + "what_names_no_job_is_not_found"),
    "S04": proven("Deleting follows no link out of the job.",
        "CVE-2022-21658; cpython #157579; linux-pam #994", GC + "deleting_follows_no_link_out_of_the_job"),
    "S05": proven("A recorded pid is signalled only if boot, namespace and start time fit; a record that makes no sense is damage.",
        "same-user jobs", AROUND + "a_pid_that_is_somebody_elses_now_is_never_signalled", STATUS + "json_that_makes_no_sense_is_damage_and_no_crash"),
    "S06": proven("Masked values, values of env files and the caller's environment are nowhere on disk.",
        "atkins #37; buildkite #982", ERRORS + "a_masked_value_is_nowhere_on_disk_and_in_no_command_line",
        ERRORS + "a_value_from_an_env_file_is_not_copied_into_the_root", ERRORS + "the_callers_environment_is_not_copied_into_the_root"),
    "S07": proven("Secrets of the server itself are not inherited by jobs.",
        "atkins #37", SERVE + "a_job_sees_no_token"),
    "S08": proven("No command line of ours shows a secret, and a supervisor shows its job's id only.",
        "agi-cli #2107", FOUND + "no_pattern_ends_them_all_and_no_secret_shows"),
    "S09": proven("A web page cannot reach a server on this machine: Host and Origin are checked.",
        "GHSA-w48q-cv73-mx4w; mcp-go #921; oss-fuzz #14111",
        DOOR + "a_foreign_host_is_misdirected_with_and_without_a_token", DOOR + "a_foreign_page_is_turned_away_also_with_a_token"),
    "S10": proven("HTTP needs a token, also on this machine; other addresses need TLS too, or a word that they do not.", "MCP authorization",
        DOOR + "nothing_is_answered_without_a_token", SERVE + "other_machines_are_not_let_near_plain_text_unasked"),
    "S11": proven("A token in a URL is refused though it is valid, and never logged.", "MCP authorization",
        DOOR + "a_token_in_a_url_is_refused_also_beside_a_good_header"),
    "S12": proven("A session's name is not guessable, and of no use to another token.", "MCP transports",
        DOOR + "a_session_is_of_no_use_to_another_token", DOOR + "a_stream_is_of_no_use_to_another_token"),
    "S13": proven("A stream is resumed by whom it belongs to only; nothing is kept for it but the job.", "MCP transports",
        DOOR + "an_event_id_of_somebody_else_brings_nothing_back"),
    "S14": proven("Large, deep, slow and many requests are bounded.", "python-sdk #1385; GHSA-353c-v8x9-v7c3",
        DOOR + "a_body_that_is_too_large_is_refused_however_it_comes",
        DOOR + "json_that_is_too_deep_or_none_is_the_client_s_mistake",
        DOOR + "a_thousand_connections_that_say_nothing_keep_nobody_out", DOOR + "a_client_that_reads_nothing_is_let_go",
        DOOR + "who_was_refused_cannot_hold_connections_with_the_rest_of_a_request"),
    "S15": proven("No pattern takes more than linear time.",
        "MIESC #133; aletheore #190; otterwiki #434", PATTERNS + "no_pattern_takes_more_than_linear_time", WATCH + "a_costly_pattern_does_no_harm"),
    "S16": proven("A notification command gets what happened as data on its stdin; nothing that a value holds is run.",
        "pueue callbacks.rs:49", NOTIFY + "the_command_gets_the_event_on_its_stdin_and_in_a_file", EXAMPLES + "nothing_that_a_value_holds_is_run"),
    "S17": foreign("A webhook leads only where it may.", "SSRF", "there is no webhook sink: a command of the user's own sends it"),
    "S18": proven("Output reaches a model without control characters, and in a field of its own.",
        "prompt injection", RENDER + "no_control_character_but_tab_and_newline_is_left", TOOLS + "exec_answers_with_the_output_in_prose_and_the_same_in_fields"),
    "S19": waiting("Processes, memory and processor time of a job can be limited; what is not enforced is said.",
        "fork bombs", "there are no limits of that kind yet"),
    "S20": foreign("A job cannot touch its supervisor or the store.", "same uid",
        "a process of the same user can: without a sandbox that is a documented boundary, not a promise"),
    "S21": proven("Only jobs can be killed, never pids.", "general", AROUND + "kill_takes_jobs_and_no_pids"),
    "S22": proven("A client lists and deletes its own jobs unless it asks for others.",
        "confused deputy", TOOLS + "list_and_gc_are_about_this_clients_own_jobs", NOTICES + "others_are_not_told"),
    "S23": proven("A failed authentication is logged without what was given.", "pueue 4.0.5",
        DOOR + "a_wrong_token_opens_nothing"),
    "S24": proven("Garbage in the protocol is an error of that message; the server lives.",
        "pueue #619", TOOLS + "garbage_on_stdin_does_not_end_the_server", SERVER + "a_mistake_of_ours_is_an_answer_and_the_server_lives"),
    "S25": proven("A command has no terminal of ours that it could type into.",
        "TIOCSTI; bwrap --new-session", SURROUNDINGS + "the_command_leads_a_session_of_its_own_without_a_terminal",
        INHERITED + "a_job_of_somebody_at_a_terminal_has_none_and_does_not_hear_it_close"),
}
# fmt: on
