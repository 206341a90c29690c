"""What happened to the jobs of a client or of a session since it was last told."""
