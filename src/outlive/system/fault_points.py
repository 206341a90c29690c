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

VARIABLE, REPORT = "OUTLIVE_CRASH_AT", "OUTLIVE_DEBUG_FILE"
SUCCESSOR = "guardian:"
RAISE = "raise:"
STOP = "stop:"

# In the order in which they are reached, each after the step that it describes
POINTS = {
    # Launcher: the command line, or the server
    "make_directory": "the directory exists, empty and under a temporary name",
    "make_files": "its files exist and both locks are held",
    "make_meta": "the definition is written",
    "make_live": "the job is marked live and owed to its client; its directory cannot be seen yet",
    "make_visible": "the directory is in its place; no supervisor knows of it",
    "start_taken": "the locks of a job that was created before are held",
    "send_request": "the request is ready to be sent",
    "send_guardian": "the job is there for the guardian, for its supervisor not yet",
    "send_done": "the job was handed over; the launcher still holds its copies of the locks",
    "send_answered": "the supervisor has said that the job runs; the caller has no answer yet",
    # Fork server of a long-lived server
    "fork_server_asked": "the fork server took a request from its server and gave it to no pair",
    "fork_server_given": "the fork server gave the request to a pair",
    # A systemd scope of its own (launch/systemd_scope.py): the launcher, then our process in the
    # scope
    "scope_entered": "our process runs in the scope of the job; nothing was sent to it",
    "scope_asked": "our process in the scope took the request and gave it to no pair",
    "scope_given": "our process in the scope gave the request to a pair",
    # The process between a command line and its pair, which may be sent the job before it is forked
    "pair_unforked": "it has left the session of the command line, and forked nothing",
    "pair_forked": "the guardian is forked; it has not ended",
    # Guardian, while all is well
    "guardian_told": "the guardian has imported what this job needs; its supervisor lives",
    # Supervisor: the start
    "start_told": "the supervisor has the request",
    "start_ends": "FIFOs or terminal and the control socket are open, and in escrow",
    "start_unmarked": "the mark `spawning` is about to be written",
    "start_marked": "the mark `spawning` is visible; the command does not run",
    "start_spawned": "the command runs; its identity is nowhere on disk",
    "start_unrecorded": "its identity is written, but not yet renamed into place",
    "start_recorded": "its identity is visible",
    # Supervisor: output and input
    "output_ordered": "where the next bytes belong is recorded; they are still in the pipe",
    "output_relayed": "bytes of a terminal are in the relay pipe; none of them is in the log",
    "output_moved": "bytes are in the log",
    "gap_recorded": "that more of the output is gone is recorded; it is still there",
    "gap_half": "one log has lost what is recorded, the other one not yet",
    "gap_made": "the recorded part is given back; the history does not have it",
    "input_moved": "data for the job is in its stdin",
    # Supervisor: ending it
    "kill_recorded": "the request for the end is on disk; no signal was sent",
    "kill_sent": "the first signal was sent; the grace runs",
    "kill_over": "the grace is over; KILL was not sent",
    # Supervisor: the end
    "end_seen": "the command has ended; what it wrote last is in the pipes",
    "end_moved": "all that it wrote is in the logs; its status was not read",
    "end_unwritten": "the outcome is written, but not yet renamed into place",
    "end_written": "the outcome is visible; the history does not have it",
    "end_history": "the history has the end; the command is not reaped",
    "end_reaped": "the command is reaped; nothing is synced",
    "end_synced": "all is synced; no sink was told",
    "end_owing": "the event is on disk; no sink was told",
    "end_told": "a sink was told; that it was is nowhere on disk",
    "end_done": "that all sinks were told is on disk",
    "end_unlinked": "FIFOs and control socket are removed; the locks are still held",
    # A pair that waits for another job
    "free_cleared": "the supervisor has released all that was the job's; it has not said that it waits for another one",
    "free_said": "the supervisor has told the server that the pair waits",
    # Guardian that takes over, after a supervisor was killed
    "takeover_seen": "the death of the supervisor was seen",
    "takeover_locked": "the guardian holds the lock of the supervisor",
    "takeover_taken": "what lay in escrow is out of it",
    "takeover_recorded": "the new supervisor is on disk",
    # Adoption, after both were killed: the reader that finds the job, then the supervisor it starts
    "adopt_locked": "the reader holds both locks",
    "adopt_sent": "the reader has started a new pair",
    "adopt_told": "the new supervisor has the request",
    "adopt_opened": "the FIFOs and the control socket are open again",
    "adopt_recorded": "the new supervisor is on disk",
    # A job that waits for approval
    "approve_written": "a person's answer is on disk",
    "approve_locked": "both locks of the approved job are held; no supervisor has it",
    # A reader that finds an end which no supervisor saw
    "lost_locked": "the reader holds both locks of a job that is dead",
    "lost_told": "the history has the end; the outcome is not written",
    "lost_written": "`lost` is visible; no sink was told",
    # gc and remove
    "delete_renamed": "the directory has its new name; all of it still exists",
    "delete_emptied": "the directory is empty, and still exists",
}

_wanted = frozenset(filter(None, os.environ.get(VARIABLE, "").split(",")))
_prefix = ""


def at(point: str) -> None:
    """Die here if a test asked for it; otherwise costs next to nothing."""
    if _wanted and RAISE + _prefix + point in _wanted:
        _report(RAISE + point)
        raise RuntimeError(f"the fault point {point}")
    if _wanted and STOP + _prefix + point in _wanted:
        import signal

        _report(STOP + point)
        os.kill(os.getpid(), signal.SIGSTOP)
    if _wanted and _prefix + point in _wanted:
        # Every command line loads this module, and signal costs it more than all the rest of it
        import signal

        _report(point)
        os.kill(os.getpid(), signal.SIGKILL)


def succeed() -> None:
    """From now on obey only the points of a successor: this process goes on with the work of one
    that was killed."""
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
