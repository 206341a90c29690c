"""Define a job without starting it."""

from __future__ import annotations

from outlive.answers.starting import Created
from outlive.verbs import shared_args
from outlive.verbs.spec import Verb

VERB = Verb(
    "create",
    "Define a job without starting it.",
    "outlive.verbs.create:create",
    args=shared_args.DEFINITION,
    result=Created,
)
