"""Power cuts: what they may leave, and what is read then. README.md of this folder is the introduction."""
