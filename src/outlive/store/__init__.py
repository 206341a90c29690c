"""The job store: a root directory with one directory a job. See docs/job-directory.md for the format."""
