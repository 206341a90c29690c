"""How a supervisor comes to its command: it starts it, now or when it may, or goes on with the command of a killed supervisor."""
