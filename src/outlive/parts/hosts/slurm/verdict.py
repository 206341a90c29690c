"""What Slurm's word for the end of a job means where no process of ours wrote an outcome."""

from __future__ import annotations

ENDED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
)
WAITING = frozenset("PENDING CONFIGURING REQUEUED REQUEUE_HOLD REQUEUE_FED RESV_DEL_HOLD SPECIAL_EXIT".split())
FORGOTTEN = "FORGOTTEN"  # ours: Slurm knows the job no more
OVER = ENDED | {FORGOTTEN}

_MEANS = {
    "TIMEOUT": ("killed", "timeout", "Slurm ended it at its time limit"),
    "DEADLINE": ("killed", "timeout", "Slurm ended it at its deadline"),
    "OUT_OF_MEMORY": ("killed", "oom", "Slurm ended it because it used more memory than it had asked for"),
    "CANCELLED": ("killed", "kill", "it was cancelled in Slurm"),
    "PREEMPTED": ("killed", "kill", "Slurm ended it for the sake of a job of higher priority"),
    "REQUEUED": ("killed", "kill", "Slurm put it back into its queue; a command is never run twice"),
    "REVOKED": ("killed", "kill", "Slurm runs it elsewhere"),
    "NODE_FAIL": ("failed", "lost", "its node failed while it ran"),
    "BOOT_FAIL": ("failed", "launch", "its node did not start; it never ran"),
}
_NEVER = "; it never ran"


def of(word: str, *, started: bool, accepted: bool = True) -> tuple[str, str, str]:
    """Return state, reason and a sentence for a job without an outcome of ours. `started`: its
    command may have run. `accepted`: Slurm had taken the job."""
    meaning = _MEANS.get(word)
    if not started:
        return "failed", *_before_start(word, meaning, accepted=accepted)
    if meaning is not None:
        return meaning
    if word == FORGOTTEN:
        why = "Slurm knows nothing of it any more, and no process of outlive wrote its end"
    else:
        why = f"its supervisor and its guardian were killed in the allocation, which Slurm calls {word}"
    return "failed", "lost", why


def _before_start(word: str, meaning: tuple[str, str, str] | None, *, accepted: bool) -> tuple[str, str]:
    """Return the reason and a sentence for a job that never ran: no signal ended it."""
    if word == FORGOTTEN and accepted:
        return "launch", "Slurm had taken it, and has no record of it any more; it never ran"
    if word == FORGOTTEN:
        return "launch", "Slurm does not know it: the process that submitted it was killed before; it never ran"
    if meaning is None:
        return "launch", f"its batch script ended ({word}) before the command started; it never ran"
    _, reason, message = meaning
    if reason == "lost":
        return "launch", "its node failed before the command started; it never ran"
    return reason, message if message.endswith(_NEVER) else f"{message} before it started{_NEVER}"
