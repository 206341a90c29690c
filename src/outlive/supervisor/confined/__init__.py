"""Jobs in a sandbox, as their supervisor knows them: what it needs of the part that confines them, and that part."""
