"""How much of a report is read and shown."""

PATTERN_CHARS = 1_000  # of the path or glob that a call gives
BYTES = 16 * 1024**2  # of all reports of a job together
FILES = 1_000  # that match one glob
LOOKED = 20_000  # entries of directories that are compared with a glob
ENTRIES = 250_000  # elements or lines of one report
FAILURES = 10  # failed tests that an answer lists
NAME_CHARS = 120  # of the name of a test, and of a place
MESSAGE_CHARS = 240
