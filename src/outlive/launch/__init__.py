"""How a supervisor is started: forked from here by a command line, asked of a warm nursery by a server."""
