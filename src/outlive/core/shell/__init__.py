"""The one reader of shell strings. Names of jobs, exit codes and the rules of the policy each ask it."""
