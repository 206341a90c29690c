"""Golden files: what every verb answers, kept to the byte but for what differs from run to run."""
