"""How a supervisor is started: a command line forks it, a server asks its fork server for one."""
