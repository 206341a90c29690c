"""Which lines of output report a failure, and which are shown of a long one."""
