"""Commands that outlive the agent, the client and the server that started them."""

__version__ = "0.1.0"
