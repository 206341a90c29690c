"""What a model reads in a cycle of edit, test and look, with whole answers and with what changed."""
