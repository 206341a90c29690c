"""What each session was told of a job.

Two files hold it, because a session hears of the ends of its own jobs, and may read every job. `.owed/<session>/<ULID>`
(store/inbox.py) is there until the end was told: how far in the history, whether the end, how the call stands that
started the job. `.seen/<session>` in the job's directory (known_to_session.py): how far in the output, and which
conditions `wait` has reported. Both change when an answer has been sent, and not before (notices.py, `Receipt`).
"""
