"""Commands that outlive the agent, the client and the server that started them."""

import os

__version__ = "0.1.0"
# A module that is imported from memory (system/code_archive.py) has no file beside it
DIRECTORY = os.path.dirname(os.path.abspath(__file__))
