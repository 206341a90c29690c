"""The boundary of a job: what it may be given, how bubblewrap is asked for it, and the process that
reports from inside."""
