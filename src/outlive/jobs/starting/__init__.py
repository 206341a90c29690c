"""From a plan to a job that runs, and to the answer of its caller."""
