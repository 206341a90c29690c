"""Jobs on one other machine, reached by ssh(1).

The job runs there under its own guardian and supervisor (`outlive/parts/hosts/far/` is our end there). Here a
detached process, the mirror, copies everything into a job directory like any other.
"""
