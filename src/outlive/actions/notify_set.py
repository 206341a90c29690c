"""Change where the end of a job is reported."""

from __future__ import annotations

from outlive.actions import access, define
from outlive.actions.spec import JOB, PATH, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.spec import Context


def notify_set(ctx: Context, *, job: str, command: str | None = None, file: str | None = None) -> dict[str, Any]:
    """What is not given stays. Nothing is executed now, also if the job has ended."""
    changes = define.notification(ctx, command, file)
    with access.open_job(ctx, job) as found_job:
        with access.writing_meta(found_job):
            definition = found_job.change_meta(
                lambda old: old.replace(notification={**old.notification, **changes}) if changes else old
            )
        state = access.look(ctx, found_job).state
        answer = {"job_id": found_job.job_id, "state": state.state, "notification": definition.notification}
        if state.finished:
            answer["hint"] = "The job has ended: this takes effect only for a restart."
        return answer


VERB = Verb(
    "notify set",
    "Change where the end of a job is reported.",
    notify_set,
    args=(
        JOB,
        Arg("command", STR, "Shell command that gets the job.finished event on its stdin.", mcp="notify_command",
            aliases=("command",), metavar="COMMAND"),
        Arg("file", PATH, "File that gets the event as one line.", mcp="notify_file", aliases=("file",),
            metavar="FILE"),
    ),
    result="job_id state notification hint?",
    slow=True,
)  # fmt: skip
