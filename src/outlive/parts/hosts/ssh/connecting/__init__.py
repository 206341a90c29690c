"""How this machine and another one speak: one connection by ssh(1), what is carried there, the frames
and messages on it, and how it is made again.
"""
