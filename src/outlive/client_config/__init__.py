"""The configuration files of MCP clients: where each keeps its file, in which shape, and how one entry is changed."""
