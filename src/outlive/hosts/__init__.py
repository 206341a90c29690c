"""Jobs on other hosts: one room for each engine that starts them there."""
