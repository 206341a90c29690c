"""The resources of a job on this machine: limits that are set at its start, and watched while it runs."""
