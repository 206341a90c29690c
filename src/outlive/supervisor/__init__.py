"""Guardian and supervisor: the two processes that see a command to its end. No asyncio, and nothing
beyond the standard library but RE2 and pyte (large_code.py)."""
