"""The job store: a root directory with one directory a job. See docs/reference/job-directory.md
for the format."""
