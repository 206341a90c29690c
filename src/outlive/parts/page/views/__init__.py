"""What the page reads of the jobs, besides the answers of verbs."""
