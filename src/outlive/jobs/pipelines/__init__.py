"""Shell strings: which commands they have, what a job of one is called, and the exit code of each stage of a pipeline."""
