"""What is known of programs: which may run another one, and which of their words run nothing."""
