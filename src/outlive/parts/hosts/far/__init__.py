"""Our end on another machine: the program that ssh starts there, which a mirror drives
(hosts/ssh/mirror.py) as a person drives the command line, and the process that srun starts on a node.
"""
