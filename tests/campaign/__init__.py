"""A campaign of kills: jobs of every kind, at whose processes everything happens that can. See `__main__.py`."""
