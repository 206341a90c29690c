"""What Slurm's word for the end of a job means where no process of ours wrote an outcome."""

from __future__ import annotations

ENDED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
)
WAITING = frozenset("PENDING CONFIGURING REQUEUED REQUEUE_HOLD REQUEUE_FED RESV_DEL_HOLD SPECIAL_EXIT".split())
FORGOTTEN = "FORGOTTEN"  # ours: Slurm knows the job no more

_MEANS = {
    "TIMEOUT": ("killed", "timeout", "Slurm ended it at its time limit"),
    "DEADLINE": ("killed", "timeout", "Slurm ended it at its deadline"),
    "OUT_OF_MEMORY": ("killed", "oom", "Slurm ended it because it used more memory than it had asked for"),
    "CANCELLED": ("killed", "kill", "it was cancelled in Slurm"),
    "PREEMPTED": ("killed", "kill", "Slurm ended it for the sake of a job of higher priority"),
    "REVOKED": ("killed", "kill", "Slurm runs it elsewhere"),
    "NODE_FAIL": ("failed", "lost", "its node failed while it ran"),
    "BOOT_FAIL": ("failed", "launch", "its node did not start; it never ran"),
}


def of(word: str, *, started: bool) -> tuple[str, str, str]:
    """Return state, reason and a sentence for a job without an outcome of ours. `started`: its
    command may have run."""
    found = _MEANS.get(word)
    if found is not None:
        state, reason, message = found
        if not started and reason == "lost":
            return state, "launch", "its node failed before the command started; it never ran"
        return state, reason, message
    if word == FORGOTTEN and not started:
        return (
            "failed",
            "launch",
            "Slurm does not know it: the process that submitted it was killed before; it never ran",
        )
    if word == FORGOTTEN:
        why = "Slurm knows nothing of it any more, and no process of outlive wrote its end"
    elif not started:
        return "failed", "launch", f"its batch script ended ({word}) before the command started; it never ran"
    else:
        why = f"its supervisor and its guardian were killed in the allocation, which Slurm calls {word}"
    return "failed", "lost", why
