"""What is known of MCP clients: where each keeps its configuration, in which shape, and how to change it and nothing else."""
