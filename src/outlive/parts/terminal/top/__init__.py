"""`outlive top`: all jobs on one screen, with keys."""
