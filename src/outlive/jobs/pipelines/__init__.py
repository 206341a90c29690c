"""Pipelines of shell strings: which commands they have, and the exit code of each."""
