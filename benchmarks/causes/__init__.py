"""Which share of the lines that name the cause of a failure an answer shows."""
