"""What a client may do that is about no job."""

from outlive.answers.help import Help
from outlive.core.records import READ
from outlive.verbs.spec import Verb

HELP = Verb(
    "help",
    "List the actions, and the arguments of each.",
    "outlive.verbs.help:help_",
    cli=False,
    right=READ,
    result=Help,
)
