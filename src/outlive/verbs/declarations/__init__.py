"""What a server offers: a verb a module, without its function.

A server lists its tools before it runs one, and keeps what it has loaded for as long as it waits. So these modules
load no function: the first call of a verb does, from the module of the same name in `verbs`.
"""
