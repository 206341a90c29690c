"""The boundary of a job: what it may be given, how bubblewrap is asked for it, what reports from inside."""
