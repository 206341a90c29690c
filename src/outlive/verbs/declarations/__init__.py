"""What a server offers: the verbs without their functions, each in the module of the name that its answer has in `answers`.

A server lists its tools before it runs one, and keeps what it has loaded for as long as it waits. So these modules
load no function: the first call of a verb does.
"""
