"""Points at which a test can kill a process of ours, to prove that it may die there:
`OUTLIVE_CRASH_AT=<point>[,<point>…]`.

The process that reaches the point sends itself SIGKILL; at `raise:<point>` it raises an exception
instead, and at `stop:<point>` it sends itself SIGSTOP. A guardian that took over obeys only points
that are named for it, `guardian:<point>`; otherwise it would die where its supervisor did. The
variable is read once, at import. Forked processes inherit it, and a fork server, which has no
environment, is given it (`carried`).
"""

from __future__ import annotations

import os
import signal

VARIABLE, REPORT = "OUTLIVE_CRASH_AT", "OUTLIVE_DEBUG_FILE"
SUCCESSOR = "guardian:"
RAISE = "raise:"
STOP = "stop:"

# In the order in which they are reached, each with what is true there. scripts/reference.py writes them into
# docs/explanation/architecture.md.
POINTS = {
    # Launcher: the command line, or the server
    "make_directory": "the directory exists under a temporary name",
    "make_files": "its files exist; both locks are held",
    "make_meta": "the definition is written",
    "make_live": "the job is marked live; no reader sees it",
    "make_visible": "the directory has its final name",
    "start_taken": "the locks of a job from `create` are held",
    "send_request": "the request is ready",
    "send_guardian": "the guardian has it, its supervisor does not",
    "send_done": "it is on its way; the launcher keeps its locks",
    "send_answered": "the start is reported; the caller has no answer",
    # Launcher of a job on another host, after the job is visible
    "host_recorded": "the host's engine is on disk",
    "host_handed": "the mirror runs, or Slurm has the job",
    # The process that gives a job which waited here to its host
    "turn_told": "its supervisors let go of the job",
    "turn_locked": "both locks are held; no engine has the job",
    # Mirror of a job over SSH: the start
    "mirror_told": "the mirror has the request",
    "mirror_asked": "its intent to ask is on disk",
    "mirror_sent": "the start was sent; no answer came",
    # Fork server of a long-lived server
    "fork_server_asked": "the fork server has the request, no pair has",
    "fork_server_given": "a pair has the request",
    # A systemd scope of its own (parts/limits/scope.py): the launcher, then our process in the
    # scope
    "scope_entered": "our process runs in the scope",
    "scope_asked": "the process has the request, no pair has",
    "scope_given": "a pair has the request",
    # The process between a command line and its pair, which may be sent the job before it is forked
    "pair_unforked": "the caller's session is left",
    "pair_forked": "the guardian is forked",
    # Guardian, while all is well
    "guardian_told": "the guardian has the code of this job",
    # Supervisor: the start
    "start_told": "the supervisor has the request",
    "start_ends": "FIFOs, terminal, control socket are in escrow",
    "wait_begun": "a job that waits for its start is `created`, and the launcher knows",
    "after_seen": "what it waits for holds; no file says so",
    "queue_joined": "it is in line; no file says where",
    "queue_taken": "it has a slot; no file says so",
    "wait_over": "it may start; nothing of it is marked",
    "start_unmarked": "the mark `spawning` is not yet written",
    "start_marked": "`spawning` is visible; no command runs",
    "start_spawned": "the command runs; no file says so",
    "start_unrecorded": "its identity is written, not yet renamed",
    "start_recorded": "its identity is visible",
    # Supervisor: output and input
    "output_ordered": "the next bytes' position is recorded",
    "output_relayed": "a terminal's bytes are in the relay pipe",
    "output_moved": "the bytes are in the log",
    "gap_recorded": "the gap is recorded; its bytes still exist",
    "gap_half": "one of two logs is punched",
    "gap_made": "both are punched; the history lacks it",
    "input_moved": "input is in the command's stdin",
    # Supervisor: ending it
    "kill_recorded": "the request is on disk; no signal sent",
    "kill_sent": "TERM was sent; KILL follows",
    "kill_over": "the grace is over; KILL was not sent",
    # Supervisor: the end
    "end_seen": "the command ended; pipes hold its last output",
    "end_moved": "the logs have all; its status is unread",
    "end_unwritten": "the outcome is written, not yet renamed",
    "end_written": "the outcome is visible; the history lacks it",
    "end_history": "the history has it; the command is unreaped",
    "end_reaped": "the command is reaped; nothing is synced",
    "end_synced": "all is synced; no sink has the event",
    "end_owing": "the event is on disk; no sink has it",
    "end_told": "a sink has it; that is nowhere on disk",
    "end_done": "that all sinks have it is on disk",
    "end_unlinked": "FIFOs are removed; locks are held",
    # A pair that waits for another job
    "free_cleared": "the supervisor has released the job's files",
    "free_said": "the server knows that the pair is free",
    # Guardian that takes over, after a supervisor was killed
    "takeover_seen": "the guardian has seen its supervisor's death",
    "takeover_locked": "it holds the supervisor's lock",
    "takeover_taken": "it has what lay in escrow",
    "takeover_recorded": "the new supervisor is on disk",
    # Adoption, after both were killed: the reader that finds the job, then the supervisor it starts
    "adopt_locked": "a reader holds both locks",
    "adopt_sent": "it has started a new pair",
    "adopt_told": "the new supervisor has the request",
    "adopt_opened": "FIFOs and control socket are open again",
    "adopt_recorded": "the new supervisor is on disk",
    # A job that waits for approval
    "approve_written": "a person's answer is on disk",
    "approve_locked": "both locks are held",
    # A reader that finds an end which no supervisor saw
    "lost_locked": "a reader holds both locks of a dead job",
    "lost_told": "the history has the end; no outcome is written",
    "lost_written": "`lost` is visible; no sink has the event",
    # gc and remove
    "delete_renamed": "the directory has its new name",
    "delete_emptied": "the directory is empty",
}

_wanted = frozenset(filter(None, os.environ.get(VARIABLE, "").split(",")))
_prefix = ""


def at(point: str) -> None:
    """Die here if a test asked for it; otherwise costs next to nothing."""
    if _wanted and RAISE + _prefix + point in _wanted:
        _report(RAISE + point)
        raise RuntimeError(f"the fault point {point}")
    if _wanted and STOP + _prefix + point in _wanted:
        _send("SIGSTOP", STOP + point)
    if _wanted and _prefix + point in _wanted:
        _send("SIGKILL", point)


def _send(name: str, point: str) -> None:
    _report(point)
    os.kill(os.getpid(), getattr(signal, name))


def succeed() -> None:
    """Obey only the points of a successor from now on: this process takes the place of a killed one."""
    global _prefix
    _prefix = SUCCESSOR


def carried() -> dict[str, str]:
    """Return the variables of this module, for a process that gets no other environment."""
    return {name: os.environ[name] for name in (VARIABLE, REPORT) if name in os.environ} if _wanted else {}


def _report(point: str) -> None:
    """Add a line to OUTLIVE_DEBUG_FILE: a point that no process reached proves nothing."""
    path = os.environ.get(REPORT)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{_prefix}{point}\n")
