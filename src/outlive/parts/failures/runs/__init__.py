"""Other runs of the same command, and what differs from them."""
