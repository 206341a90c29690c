"""Our end on another machine: the program that ssh starts there. A mirror drives it
(hosts/ssh/mirror.py), as a person drives the command line.
"""
