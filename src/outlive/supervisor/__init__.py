"""Guardian and supervisor: the two processes that see a command to its end. Standard library only, and no asyncio."""
