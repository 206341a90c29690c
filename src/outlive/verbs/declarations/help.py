"""List the actions of the tool `process`."""

from __future__ import annotations

from outlive.answers.administration import Help
from outlive.core.records import READ
from outlive.verbs.spec import Verb

VERB = Verb(
    "help",
    "List the actions, and the arguments of each.",
    "outlive.verbs.help:help_",
    cli=False,
    right=READ,
    result=Help,
)
